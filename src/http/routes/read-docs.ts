import type { Context, Handler } from 'hono';
import { CaptureError } from '../../contract/capture-error.js';
import { isLoopback } from '../client-address.js';
import { type DocsAsset, readDocsAsset } from '../docs/assets.js';
import { docsPage, homePage, PAGE_CSS, START_JS, THEME_JS } from '../docs/page.js';
import type { Edge, EdgeEnv } from '../edge.js';

/** Only resources of this server, nothing inline. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const ASSET_MAX_AGE_SECONDS = 3_600;

/** GET /: a page with links to the reference, and to the console for those who may open it. */
export function readHome(edge: Edge): Handler<EdgeEnv> {
  return (c) => {
    const hasConsole = edge.console !== undefined && (!edge.console.loopbackOnly || isLoopback(c.env.incoming));
    return answerPage(c, String(homePage(edge.config.version, edge.places.baseUrl, { hasConsole })));
  };
}

/** GET /docs: the reference, with a section for each error code (decisions.md: `docs_url` points there). */
export function readDocs(edge: Edge): Handler<EdgeEnv> {
  return (c) => answerPage(c, String(docsPage(edge.config.version, edge.places.baseUrl)));
}

const TEXTS = { 'page.css': PAGE_CSS, 'theme.js': THEME_JS, 'start.js': START_JS };

export function readDocsText(name: keyof typeof TEXTS): Handler<EdgeEnv> {
  return (c) => answerAsset(c, name, TEXTS[name]);
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
  headers['content-type'] = name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
  headers['cache-control'] = `public, max-age=${ASSET_MAX_AGE_SECONDS}`;
  return new Response(content, { headers });
}
