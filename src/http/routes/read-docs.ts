import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Context } from 'hono';
import { notFound } from '../../contract/capture-error.js';
import type { AppEnv } from '../app-services.js';
import { isLoopback } from '../client-address.js';
import type { DocsPlace } from '../docs/pages.js';
import type { Route } from '../route.js';

/** Only resources of this server, nothing inline. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const ASSET_MAX_AGE_SECONDS = 3_600;
const QUERY_MAX_CHARS = 200;
const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Loaded at the first request, so that a server whose documentation is never read pays nothing. */
const load = () => import('../docs/pages.js');

/** The small files of the pages. */
const PAGE_FILE_NAMES = ['page.css', 'icon.svg', 'theme.js', 'start.js', 'docs.js'] as const;

/** Pages for people, and their files. `/docs/:name` comes last: it matches the paths of the others. */
export const DOCS: readonly Route[] = [
  pageAt('/', (pages, place) => pages.homePage(place)),
  pageAt('/docs', (pages, place) => existing(pages.docsPage(place, ''))),
  pageAt('/docs/reference', (pages, place) => pages.referencePage(place)),
  pageAt('/docs/errors', (pages, place) => pages.errorsPage(place)),
  pageAt('/docs/search', (pages, place, c) =>
    pages.searchPage(place, (c.req.query('q') ?? '').slice(0, QUERY_MAX_CHARS)),
  ),
  ...PAGE_FILE_NAMES.map((name) => fileAt(name, async () => (await import('../docs/page-files.js')).PAGE_FILES[name])),
  ...['swagger-ui.css', 'swagger-ui-bundle.js'].map((name) => fileAt(name, () => readSwagger(name))),
  pageAt('/docs/:name', (pages, place, c) => existing(pages.docsPage(place, c.req.param('name') ?? ''))),
];

function existing(page: string | null): string {
  if (page === null) throw notFound('No such path');
  return page;
}

/** The OpenAPI document, which the build makes (scripts/write-openapi.ts). All responses share the bytes. */
export const readOpenapi: Route = {
  method: 'GET',
  path: '/openapi.json',
  access: null,
  handle: ({ config, places }) => {
    let document: Uint8Array<ArrayBuffer> | null = null;
    return async (c) => {
      if (document === null) {
        const built = JSON.parse(await readFile(config.openapiFile, 'utf8')) as Record<string, unknown>;
        document = new TextEncoder().encode(JSON.stringify({ ...built, servers: [{ url: places.baseUrl }] }));
      }
      const { headers } = c.var.exchange;
      headers['content-type'] = 'application/json';
      return new Response(document, { headers });
    };
  },
};

function pageAt(
  path: string,
  make: (pages: Awaited<ReturnType<typeof load>>, place: DocsPlace, c: Context<AppEnv>) => string,
): Route {
  return {
    method: 'GET',
    path,
    access: null,
    handle: (services) => async (c) => {
      const hasConsole =
        services.console !== undefined && (!services.console.loopbackOnly || isLoopback(c.env.incoming));
      const place = { version: services.config.version, baseUrl: services.places.baseUrl, hasConsole };
      const page = make(await load(), place, c);
      const { headers } = c.var.exchange;
      headers['content-type'] = 'text/html; charset=utf-8';
      headers['content-security-policy'] = PAGE_POLICY;
      headers['referrer-policy'] = 'no-referrer';
      return new Response(page, { headers });
    },
  };
}

/** All responses share the content. */
function fileAt(name: string, read: () => Promise<string | Uint8Array<ArrayBuffer>>): Route {
  let content: string | Uint8Array<ArrayBuffer> | null = null;
  return {
    method: 'GET',
    path: `/docs/${name}`,
    access: null,
    handle: () => async (c) => {
      content ??= await read();
      const { headers } = c.var.exchange;
      headers['content-type'] = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
      headers['cache-control'] = `public, max-age=${ASSET_MAX_AGE_SECONDS}`;
      return new Response(content, { headers });
    },
  };
}

/** A file of the build, or else of the npm package, which an installed copy does not have. */
async function readSwagger(name: string): Promise<Uint8Array<ArrayBuffer>> {
  const built = new URL(`./docs/${name}`, import.meta.url);
  return new Uint8Array(
    await readFile(built).catch(() => readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`))),
  );
}
