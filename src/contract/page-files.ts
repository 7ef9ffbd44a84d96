/** The files that a request brings along: their limits, names and content types. */
import { PAGE_FILES_MAX, PAGE_FILES_NAME_MAX_BYTES } from './limits.js';

/** The document that a request with files captures. */
export const INDEX_FILE = 'index.html';

/** A file of a request, and where it is in the pack of its files. */
export interface PageFile {
  /** Relative path, such as `img/logo.png`. */
  name: string;
  /** Content type, with the charset of a text that declares none. */
  type: string;
  /** Offset in the pack. */
  at: number;
  bytes: number;
  /** SHA-256 in hex. */
  sha256: string;
}

/** The files of a capture. */
export interface PageFilesOption {
  /** Name of the stored pack; null until it is stored. */
  pack: string | null;
  /** Key of the pack, in base64. Secret. */
  key: string;
  list: readonly PageFile[];
  /** The version of a template that the files are of, and the values of its parameters. The document is made when it is captured. */
  template?: { id: string; data: Readonly<Record<string, unknown>> };
}

/** The content types of the files that pages consist of, by extension. */
const PAGE_TYPES: Record<string, string> = {
  html: 'text/html',
  htm: 'text/html',
  xhtml: 'application/xhtml+xml',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  md: 'text/plain',
  css: 'text/css',
  js: 'text/javascript',
  mjs: 'text/javascript',
  map: 'application/json',
  json: 'application/json',
  webmanifest: 'application/manifest+json',
  xml: 'application/xml',
  csv: 'text/csv',
  vtt: 'text/vtt',
  wasm: 'application/wasm',
  png: 'image/png',
  apng: 'image/apng',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
  woff: 'font/woff',
  woff2: 'font/woff2',
  ttf: 'font/ttf',
  otf: 'font/otf',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mp3: 'audio/mpeg',
  ogg: 'audio/ogg',
  wav: 'audio/wav',
};

/** Number of bytes in which browsers look for the encoding that a document declares. */
export const DECLARATION_BYTES = 1_024;

/** Returns the content type of a page file; null for other files. */
export function pageTypeOf(path: string): string | null {
  const extension = /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(PAGE_TYPES, extension) ? (PAGE_TYPES[extension] ?? null) : null;
}

/**
 * Adds a UTF-8 charset to the type of a text that is UTF-8 and declares no encoding, for which browsers would assume a legacy one.
 * @param text.start the first DECLARATION_BYTES
 */
export function withEncoding(type: string, text: { start: Buffer; isUtf8: boolean }): string {
  const declares = /charset/i.test(text.start.toString('latin1', 0, DECLARATION_BYTES));
  return declares || !text.isUtf8 ? type : `${type}; charset=utf-8`;
}

/** The file of a request path that has been decoded: a path that ends with a slash is that of an index. */
export function fileNameOf(path: string): string {
  return `${path.slice(1)}${path.endsWith('/') ? INDEX_FILE : ''}`;
}

/** Returns the decoded path of a request, without its query; null if it is malformed. */
export function requestPath(target: string): string | null {
  const [path = ''] = target.split(/[?#]/, 1);
  if (!path.startsWith('/') || /%2f/i.test(path)) return null;
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

/** Returns why a text is no name of a file; null if it is one. */
export function fileNameProblem(name: string): string | null {
  if (name === '') return 'needs a file name, such as `index.html` or `img/logo.png`';
  if (Buffer.byteLength(name) > PAGE_FILES_NAME_MAX_BYTES)
    return `must have a name of at most ${PAGE_FILES_NAME_MAX_BYTES} bytes`;
  if (/[\p{Cc}\p{Surrogate}\uFFFD\\]/u.test(name))
    return 'must have a name without backslashes, control characters and broken UTF-8';
  const isRelative = name.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
  return isRelative ? null : 'must have a relative path as its name, without `.`, `..` and empty parts';
}

/** Returns what is wrong with the files as a whole; null if nothing is. */
export function pageFilesProblem(names: readonly string[]): string | null {
  if (names.length > PAGE_FILES_MAX) return `There are more than ${PAGE_FILES_MAX} files.`;
  return names.includes(INDEX_FILE) ? null : `There is no file with the name \`${INDEX_FILE}\`.`;
}
