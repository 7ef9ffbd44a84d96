import type { Context } from 'hono';
import { CaptureError } from '../../contract/capture-error.js';
import type { AppEnv } from '../app-services.js';
import { isLoopback } from '../client-address.js';
import { type DocsAsset, readDocsAsset } from '../docs/assets.js';
import type { DocsPlace } from '../docs/pages.js';
import type { Route } from '../route.js';

/** Only resources of this server, nothing inline. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const ASSET_MAX_AGE_SECONDS = 3_600;
const QUERY_MAX_CHARS = 200;
const TYPES: Record<string, string> = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' };

/** Loaded at the first request, so that a server whose documentation is never read pays nothing. */
const load = () => import('../docs/pages.js');

/** A page with links to the documentation, and to the console for those who may open it. */
const readHome: Route = pageAt('/', (pages, place) => pages.homePage(place));

/** The reference, with a section for each error code (decisions.md: `docs_url` points there). */
const readReference: Route = pageAt('/docs', (pages, place) => pages.referencePage(place));

/** A page of docs/. */
const readDocs: Route = pageAt('/docs/:name', (pages, place, c) => {
  const page = pages.docsPage(place, c.req.param('name') ?? '');
  if (page === null) throw new CaptureError({ code: 'invalid_request', status: 404, message: 'No such path' });
  return page;
});

/** `?q=…`: the sections that contain all words of a query. */
const searchDocs: Route = pageAt('/docs/search', (pages, place, c) =>
  pages.searchPage(place, (c.req.query('q') ?? '').slice(0, QUERY_MAX_CHARS)),
);

/** The small files of the pages. */
const PAGE_FILE_NAMES = ['page.css', 'icon.svg', 'theme.js', 'start.js'] as const;

function readPageFile(name: (typeof PAGE_FILE_NAMES)[number]): Route {
  const handle = async (c: Context<AppEnv>) => answerAsset(c, name, (await import('../docs/page-files.js')).PAGE_FILES[name]);
  return { method: 'GET', path: `/docs/${name}`, access: null, handle: () => handle };
}

/** All responses share the bytes. */
function readDocsFile(name: DocsAsset): Route {
  let content: Uint8Array<ArrayBuffer> | null = null;
  return {
    method: 'GET',
    path: `/docs/${name}`,
    access: null,
    handle: () => async (c) => {
      content ??= await readDocsAsset(name);
      if (content === null) throw new CaptureError({ code: 'invalid_request', status: 404, message: 'This build has no reference page.' });
      return answerAsset(c, name, content);
    },
  };
}

/** Pages for people, and their files. `/docs/:name` comes last: it matches the paths of the others. */
export const DOCS: readonly Route[] = [
  readHome,
  readReference,
  searchDocs,
  ...PAGE_FILE_NAMES.map(readPageFile),
  ...(['swagger-ui.css', 'swagger-ui-bundle.js'] as const).map(readDocsFile),
  readDocs,
];

type Pages = Awaited<ReturnType<typeof load>>;

function pageAt(path: string, make: (pages: Pages, place: DocsPlace, c: Context<AppEnv>) => string): Route {
  return {
    method: 'GET',
    path,
    access: null,
    handle: (services) => async (c) => {
      const hasConsole = services.console !== undefined && (!services.console.loopbackOnly || isLoopback(c.env.incoming));
      const place = { version: services.config.version, baseUrl: services.places.baseUrl, hasConsole };
      return answerPage(c, make(await load(), place, c));
    },
  };
}

function answerPage(c: Context<AppEnv>, page: string): Response {
  const { headers } = c.var.exchange;
  headers['content-type'] = 'text/html; charset=utf-8';
  headers['content-security-policy'] = PAGE_POLICY;
  headers['referrer-policy'] = 'no-referrer';
  return new Response(page, { headers });
}

function answerAsset(c: Context<AppEnv>, name: string, content: string | Uint8Array<ArrayBuffer>): Response {
  const { headers } = c.var.exchange;
  headers['content-type'] = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
  headers['cache-control'] = `public, max-age=${ASSET_MAX_AGE_SECONDS}`;
  return new Response(content, { headers });
}
