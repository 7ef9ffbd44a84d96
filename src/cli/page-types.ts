import { extname } from 'node:path';

/**
 * The content type of each kind of file that pages are made of. It is an allow-list as well: a page that is captured from disk can read
 * files of these kinds from its directory, and no other.
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

/** @returns null for files that are no part of a page */
export function pageTypeOf(path: string): string | null {
  return PAGE_TYPES[extname(path).slice(1).toLowerCase()] ?? null;
}
