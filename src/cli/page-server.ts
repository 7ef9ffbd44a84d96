import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, constants, readFile, realpath, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { OperatorError } from './operator-error.js';
import { pageTypeOf } from './page-types.js';

/** A page without a web address: a file, or the bytes of an HTML document. */
export type LocalPage = { path: string } | { html: Buffer };

/**
 * Serves one local page at its own origin. The host name cannot be guessed and every request must carry it, so that neither other users of
 * this machine nor other pages can read from it. The page of a file can read page files (page-types.ts) in its directory and below, but no
 * dotfiles and no symbolic links that lead elsewhere. A page of bytes can read no files.
 */
export interface PageServer extends AsyncDisposable {
  /** The page's address. */
  readonly url: string;
  /** `host:port`, for the egress gate's allow-list. */
  readonly host: string;
  /** The first 100 paths that the page requested and that were not served. */
  readonly missing: ReadonlySet<string>;
  /** Replaces this origin's addresses in a text by those that the user knows: a file's URL, or `about:html`. */
  publicText(text: string): string;
}

/** In memory, or on disk. */
type Served = { type: string; body: Buffer } | { type: string; path: string; bytes: number };
type Find = (path: string) => Promise<Served | null>;

const MISSING_MAX = 100;
/** Larger text files are served without a charset. */
const TEXT_MAX_BYTES = 32_000_000;
/** Where browsers look for the encoding that a document declares. */
const DECLARATION_BYTES = 1_024;

/** A zone of names that only this process knows, so that all of its page servers can be allowed at once: `*.<zone>`. */
export function newPageZone(): string {
  return `${randomBytes(16).toString('hex')}.localhost`;
}

/**
 * @param zone from newPageZone, if others are to be allowed by it
 * @throws OperatorError for a file that cannot be read, or that no browser can show
 */
export async function servePage(page: LocalPage, zone = 'localhost'): Promise<PageServer> {
  const find = 'html' in page ? onlyHtml(page.html) : await fileAndBelow(page.path);
  const missing = new Set<string>();
  const name = `${randomBytes(16).toString('hex')}.${zone}`;
  const at = { host: name, find, missing };
  const server = createServer((request, response) => {
    answer(request, response, at).catch(() => response.destroy());
  });
  await new Promise<void>((done, fail) => server.once('error', fail).listen(0, '127.0.0.1', done));
  at.host = `${name}:${(server.address() as AddressInfo).port}`;
  const origin = `http://${at.host}`;
  return {
    url: 'html' in page ? origin : `${origin}/${encodeURIComponent(basename(page.path))}`,
    host: at.host,
    missing,
    publicText: (text) => text.replaceAll(origin, 'html' in page ? 'about:html' : pathToFileURL(dirname(resolve(page.path))).href),
    [Symbol.asyncDispose]: () => close(server),
  };
}

function onlyHtml(html: Buffer): Find {
  const document = { type: withEncoding('text/html', html), body: html };
  return async (path) => (path === '/' ? document : null);
}

async function fileAndBelow(file: string): Promise<Find> {
  const document = await readDocument(file);
  const root = await realpath(dirname(resolve(file)));
  return async (path) => {
    // The file that the user named is served whatever its name, and even if it is a symbolic link.
    if (path === `/${basename(file)}`) return document;
    const found = await findBelow(root, path.endsWith('/') ? `${path}index.html` : path);
    return found === null ? null : await read(found, pageTypeOf(found) ?? 'application/octet-stream');
  };
}

async function readDocument(file: string): Promise<Served> {
  const type = pageTypeOf(file);
  let document: Served;
  try {
    await access(file, constants.R_OK);
    document = type === null ? { type: 'text/html', body: await readFile(file) } : await read(file, type);
  } catch (error) {
    throw new OperatorError(`${file} cannot be read: ${(error as Error).message}`);
  }
  if (type !== null || !('body' in document)) return document;
  if (!isUtf8(document.body)) throw new OperatorError(`${file} is not a page that a browser can show.`);
  return { ...document, type: withEncoding('text/html', document.body) };
}

/** @returns the real path of a page file in the directory or below, null for everything else */
async function findBelow(root: string, path: string): Promise<string | null> {
  const segments = path.split('/').slice(1);
  if (segments.some((segment) => segment === '' || segment.startsWith('.') || /[\\\0:]/.test(segment))) return null;
  try {
    const real = await realpath(join(root, ...segments));
    // A symbolic link may lead to a dotfile or out of the directory.
    if (
      relative(root, real)
        .split(sep)
        .some((segment) => segment.startsWith('.'))
    )
      return null;
    return pageTypeOf(real) !== null && (await stat(real)).isFile() ? real : null;
  } catch {
    return null;
  }
}

async function read(path: string, type: string): Promise<Served> {
  const { size } = await stat(path);
  if (!type.startsWith('text/') || size > TEXT_MAX_BYTES) return { type, path, bytes: size };
  const body = await readFile(path);
  return { type: withEncoding(type, body), body };
}

/** Adds a UTF-8 charset to text that is UTF-8 and declares no encoding: browsers would assume a legacy one. */
function withEncoding(type: string, body: Buffer): string {
  const declares = /charset/i.test(body.toString('latin1', 0, DECLARATION_BYTES));
  return declares || !isUtf8(body) ? type : `${type}; charset=utf-8`;
}

interface Origin {
  host: string;
  find: Find;
  missing: Set<string>;
}

async function answer(request: IncomingMessage, response: ServerResponse, { host, find, missing }: Origin): Promise<void> {
  if (request.headers.host !== host) return void response.writeHead(421).end();
  if (request.method !== 'GET' && request.method !== 'HEAD') return void response.writeHead(405, { allow: 'GET, HEAD' }).end();
  const path = pathOf(request.url ?? '');
  const served = path === null ? null : await find(path);
  if (served === null) {
    if (path !== null && path !== '/favicon.ico' && missing.size < MISSING_MAX) missing.add(path);
    return void response.writeHead(404, { 'content-type': 'text/plain' }).end('not found');
  }
  response.writeHead(200, {
    'content-type': served.type,
    'content-length': 'body' in served ? served.body.length : served.bytes,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'same-origin',
  });
  if (request.method === 'HEAD') return void response.end();
  if ('body' in served) return void response.end(served.body);
  await pipeline(createReadStream(served.path, { end: Math.max(0, served.bytes - 1) }), response);
}

/** The decoded path; null if it is malformed. */
function pathOf(target: string): string | null {
  const [path = ''] = target.split('?', 1);
  if (!path.startsWith('/') || /%2f/i.test(path)) return null;
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
