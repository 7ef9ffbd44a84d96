import type { Context, Handler } from 'hono';
import { CaptureError } from '../../contract/capture-error.js';
import { isLoopback } from '../client-address.js';
import { type DocsAsset, readDocsAsset } from '../docs/assets.js';
import type { DocsPlace } from '../docs/pages.js';
import type { Edge, EdgeEnv } from '../edge.js';

/** Only resources of this server, nothing inline. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const ASSET_MAX_AGE_SECONDS = 3_600;
const QUERY_MAX_CHARS = 200;
const TYPES: Record<string, string> = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' };

/** Loaded at the first request, so that a server whose documentation is never read pays nothing. */
const load = () => import('../docs/pages.js');

/** GET /: a page with links to the documentation, and to the console for those who may open it. */
export function readHome(edge: Edge): Handler<EdgeEnv> {
  return async (c) => answerPage(c, (await load()).homePage(placeOf(edge, c)));
}

/** GET /docs: the reference, with a section for each error code (decisions.md: `docs_url` points there). */
export function readReference(edge: Edge): Handler<EdgeEnv> {
  return async (c) => answerPage(c, (await load()).referencePage(placeOf(edge, c)));
}

/** GET /docs/{name}: a page of docs/. */
export function readDocs(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const page = (await load()).docsPage(placeOf(edge, c), c.req.param('name') ?? '');
    if (page === null) throw new CaptureError({ code: 'invalid_request', status: 404, message: 'No such path' });
    return answerPage(c, page);
  };
}

/** GET /docs/search?q=…: the sections that contain all words of a query. */
export function searchDocs(edge: Edge): Handler<EdgeEnv> {
  return async (c) => answerPage(c, (await load()).searchPage(placeOf(edge, c), (c.req.query('q') ?? '').slice(0, QUERY_MAX_CHARS)));
}

function placeOf(edge: Edge, c: Context<EdgeEnv>): DocsPlace {
  const hasConsole = edge.console !== undefined && (!edge.console.loopbackOnly || isLoopback(c.env.incoming));
  return { version: edge.config.version, baseUrl: edge.places.baseUrl, hasConsole };
}

export type PageFile = 'page.css' | 'icon.svg' | 'theme.js' | 'start.js';

/** The small files of the pages. */
export function readPageFile(name: PageFile): Handler<EdgeEnv> {
  return async (c) => answerAsset(c, name, (await import('../docs/page-files.js')).PAGE_FILES[name]);
}

/** All responses share the bytes. */
export function readDocsFile(name: DocsAsset): Handler<EdgeEnv> {
  let content: Uint8Array<ArrayBuffer> | null = null;
  return async (c) => {
    content ??= await readDocsAsset(name);
    if (content === null) throw new CaptureError({ code: 'invalid_request', status: 404, message: 'This build has no reference page.' });
    return answerAsset(c, name, content);
  };
}

function answerPage(c: Context<EdgeEnv>, page: string): Response {
  const { headers } = c.var.exchange;
  headers['content-type'] = 'text/html; charset=utf-8';
  headers['content-security-policy'] = PAGE_POLICY;
  headers['referrer-policy'] = 'no-referrer';
  return new Response(page, { headers });
}

function answerAsset(c: Context<EdgeEnv>, name: string, content: string | Uint8Array<ArrayBuffer>): Response {
  const { headers } = c.var.exchange;
  headers['content-type'] = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
  headers['cache-control'] = `public, max-age=${ASSET_MAX_AGE_SECONDS}`;
  return new Response(content, { headers });
}
