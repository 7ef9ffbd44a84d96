import { extname } from 'node:path';

/**
 * The content types of the files that pages consist of. This is also an allow-list: a page captured from disk can read only files of these
 * types from its directory.
 */
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

/** @returns null for other types of files */
export function pageTypeOf(path: string): string | null {
  return PAGE_TYPES[extname(path).slice(1).toLowerCase()] ?? null;
}
