import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { access, constants, readFile, realpath, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { fileNameOf, pageTypeOf, requestPath, withEncoding } from '../contract/page-files.js';
import { portOf, readHost } from '../egress/host-name.js';
import { OperatorError } from './operator-error.js';

/** A page without a web address: a file, or the bytes of an HTML document. */
export type LocalPage = { path: string } | { html: Buffer };

/**
 * Serves one local page at its own origin. The host name cannot be guessed and every request must carry it, so that neither other users of
 * this machine nor other pages can read from it. The page of a file can read page files in its directory and below, but no
 * dotfiles and no symbolic links that lead elsewhere; a page of bytes can read no files.
 * A file may be hostile, and the files beside it private. So the page's scripts can send to no other host, images come from a second
 * origin, so that scripts cannot read their pixels, and `onRead` reports when the page reads any file that it does not only show or run.
 */
export interface PageServer extends AsyncDisposable {
  /** The page's address. */
  readonly url: string;
  /** `host:port` of the page. */
  readonly host: string;
  /** Hosts of the page and its images, for the allow-list of the egress policy. */
  readonly hosts: readonly string[];
  /** The other hosts that its scripts tried to send to, and those that the egress policy refused. */
  readonly refused: RefusedHosts;
  /** Registers a callback for each answer that the page's scripts can read; it is called before the answer. */
  onRead(listener: () => void): void;
  /** The first 100 paths that the page requested and that were not served. */
  readonly missing: ReadonlySet<string>;
  /** Replaces this origin's addresses in a text by those that the user knows: a file's URL, or `about:html`. */
  publicText(text: string): string;
}

/** A file in memory or on disk. */
type Served = { type: string; body: Buffer } | { type: string; path: string; bytes: number };
type Find = (path: string) => Promise<Served | null>;

const REFUSED_MAX = 100;
const REFUSED_SHOWN = 5;
const MISSING_MAX = 100;
const REPORT_MAX_BYTES = 64_000;
/** Path of the reports. Files are never served at paths with a leading dot. */
const REPORT_PATH = '/.refused';
/** Values of Sec-Fetch-Dest for files that a page shows or runs, and whose content its scripts cannot read. */
const SHOWN = /^(document|image|audio|video|font|style|script|(shared)?worker|(audio|paint)worklet|manifest)$/;
const PIXELS = /^(image|audio|video)$/;
/** Matches hosts that a Content-Security-Policy can express. */
const CSP_HOST = /^(\*\.)?[a-z0-9._-]+(:\d+)?$/i;
/** Larger text files are served without a charset. */
const TEXT_MAX_BYTES = 32_000_000;
/** Makes a zone of names that only this process knows, so that all of its page servers can be allowed at once: `*.<zone>`. */
export function newPageZone(): string {
  return `${randomBytes(16).toString('hex')}.localhost`;
}

/**
 * Starts the server.
 * @param options.zone from newPageZone, if others are to allow it
 * @param options.trusted hosts that scripts may send to, as in STILLFRAME_ALLOW_DESTINATIONS
 * @throws OperatorError for a file that cannot be read, or that no browser can show
 */
export async function servePage(
  page: LocalPage,
  { zone = 'localhost', trusted = [] }: { zone?: string; trusted?: readonly string[] } = {},
): Promise<PageServer> {
  const find = 'html' in page ? onlyHtml(page.html) : await fileAndBelow(page.path);
  const missing = new Set<string>();
  const refused = new RefusedHosts();
  const listeners: (() => void)[] = [];
  const newName = () => `${randomBytes(16).toString('hex')}.${zone}`;
  const notifyRead = () => {
    for (const listener of listeners) listener();
  };
  const at = { host: newName(), pixelHost: newName(), find, missing, refused, notifyRead, policy: policyFor(trusted) };
  const server = createServer((request, response) => {
    answer(request, response, at).catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  at.host += `:${port}`;
  at.pixelHost += `:${port}`;
  const origin = `http://${at.host}`;
  const shownAs = 'html' in page ? 'about:html' : pathToFileURL(dirname(resolve(page.path))).href;
  return {
    url: 'html' in page ? origin : `${origin}/${encodeURIComponent(basename(page.path))}`,
    host: at.host,
    hosts: [at.host, at.pixelHost],
    missing,
    refused,
    onRead: (listener) => void listeners.push(listener),
    publicText: (text) => text.replaceAll(origin, shownAs).replaceAll(`http://${at.pixelHost}`, shownAs),
    [Symbol.asyncDispose]: () => closeServer(server),
  };
}

function onlyHtml(html: Buffer): Find {
  const document = { type: textType('text/html', html), body: html };
  return async (path) => (path === '/' ? document : null);
}

async function fileAndBelow(file: string): Promise<Find> {
  const document = await readDocument(file);
  const root = await realpath(dirname(resolve(file)));
  return async (path) => {
    // The file that the user named is served whatever its name, and even if it is a symbolic link.
    if (path === `/${basename(file)}`) return document;
    const found = await findBelow(root, fileNameOf(path));
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
  return { ...document, type: textType('text/html', document.body) };
}

/**
 * Finds a page file.
 * @returns its real path if it is in the directory or below; null for everything else
 */
async function findBelow(root: string, name: string): Promise<string | null> {
  const segments = name.split('/');
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
  return { type: textType(type, body), body };
}

function textType(type: string, body: Buffer): string {
  return withEncoding(type, { start: body, isUtf8: isUtf8(body) });
}

/**
 * Builds the policy: images, style sheets, scripts, fonts and media may come from anywhere; all else only from the page itself or trusted
 * hosts.
 */
function policyFor(trusted: readonly string[]): string {
  const hosts = trusted
    .map((each) => (each !== '*' && CSP_HOST.test(each) ? each : '*'))
    .map((each) => (each.includes(':') ? each : `${each}:*`));
  const sources = [
    "'self'",
    'data:',
    'blob:',
    ...hosts.flatMap((host) => ['http', 'https', 'ws', 'wss'].map((scheme) => `${scheme}://${host}`)),
  ];
  const directives = ['connect-src', 'frame-src', 'object-src', 'worker-src', 'form-action'].map((name) =>
    [name, ...sources].join(' '),
  );
  return [...directives, `report-uri ${REPORT_PATH}`].join('; ');
}

interface Origin {
  host: string;
  /** Host of images and media: another origin, so that a canvas with them cannot be read. */
  pixelHost: string;
  find: Find;
  missing: Set<string>;
  refused: RefusedHosts;
  notifyRead(): void;
  policy: string;
}

async function answer(request: IncomingMessage, response: ServerResponse, at: Origin): Promise<void> {
  const { host, pixelHost, find, missing } = at;
  const { 'sec-fetch-dest': dest = '', 'sec-fetch-mode': mode = '' } = request.headers;
  const isOpaque = PIXELS.test(String(dest)) && mode === 'no-cors';
  if (request.headers.host !== host && !(request.headers.host === pixelHost && isOpaque))
    return void response.writeHead(421).end();
  if (request.method === 'POST' && request.url === REPORT_PATH) return await noteReport(request, response, at.refused);
  // A service worker can read files that the page only shows.
  if (dest === 'serviceworker') return void response.writeHead(403).end();
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return void response.writeHead(405, { allow: 'GET, HEAD' }).end();
  const path = requestPath(request.url ?? '');
  const served = path === null ? null : await find(path);
  if (served === null) {
    if (path !== null && path !== '/favicon.ico' && missing.size < MISSING_MAX) missing.add(path);
    return void response.writeHead(404, { 'content-type': 'text/plain' }).end('not found');
  }
  if (isOpaque && request.headers.host === host)
    return void response.writeHead(307, { location: `http://${pixelHost}${request.url}` }).end();
  if (!SHOWN.test(String(dest)) || (PIXELS.test(String(dest)) && !isOpaque)) at.notifyRead();
  response.writeHead(200, {
    'content-type': served.type,
    'content-length': 'body' in served ? served.body.length : served.bytes,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': at.policy,
    'cross-origin-resource-policy': isOpaque ? 'same-site' : 'same-origin',
    'referrer-policy': 'same-origin',
  });
  if (request.method === 'HEAD') return void response.end();
  if ('body' in served) return void response.end(served.body);
  await pipeline(createReadStream(served.path, { end: Math.max(0, served.bytes - 1) }), response);
}

/** Notes the browser's report about a request that the policy has stopped. */
async function noteReport(request: IncomingMessage, response: ServerResponse, refused: RefusedHosts): Promise<void> {
  if (!(Number(request.headers['content-length']) <= REPORT_MAX_BYTES)) return void response.destroy();
  const report = (await json(request)) as { 'csp-report'?: { 'blocked-uri'?: unknown } } | null;
  response.writeHead(204).end();
  const blocked = String(report?.['csp-report']?.['blocked-uri']);
  if (!URL.canParse(blocked)) return;
  const url = new URL(blocked.replace(/^ws/, 'http'));
  refused.add(url.hostname, portOf(url), 'not an image, style sheet, script, font or media');
}

/** Ends a server and its connections. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** The hosts that a local page requested and was refused, with the reasons. */
export class RefusedHosts {
  readonly #reasons = new Map<string, string>();

  add(host: string, port: number, reason: string): void {
    // The page chooses the name, and the user may paste it into a shell.
    if (readHost(host).kind === 'nonsense' || this.#reasons.size >= REFUSED_MAX) return;
    const name = port === 80 || port === 443 ? host : `${host}:${port}`;
    if (!this.#reasons.has(name)) this.#reasons.set(name, reason);
  }

  /** Describes them in one line, with the flags that allow them; null if there are none. */
  describe(): string | null {
    const listed = [...this.#reasons].slice(0, REFUSED_SHOWN);
    if (listed.length === 0) return null;
    const more = this.#reasons.size > REFUSED_SHOWN ? ` and ${this.#reasons.size - REFUSED_SHOWN} more` : '';
    const flags = listed.map(([name]) => `--allow-network ${name}`).join(' ');
    return `The local page was refused: ${listed.map(([name, reason]) => `${name} (${reason})`).join(', ')}${more}. To allow: ${flags}`;
  }
}
