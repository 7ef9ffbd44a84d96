import type { Context } from 'hono';
import type { AppEnv } from '../app-services.js';
import { source as islands } from './in-browser/islands.js?bundled';
import { STYLE } from './style.js';

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0a58ca"/><g fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round"><path d="M8 12V8h4M20 8h4v4M24 20v4h-4M12 24H8v-4"/><circle cx="16" cy="16" r="4"/></g></svg>`;

const FILES = {
  'console.css': { type: 'text/css; charset=utf-8', content: STYLE },
  'console.js': { type: 'text/javascript; charset=utf-8', content: islands },
  'icon.svg': { type: 'image/svg+xml', content: ICON },
};

export type ConsoleFile = keyof typeof FILES;

/** Pages name the version, so an upgrade is seen at once. */
const MAX_AGE_SECONDS = 3_600;

/** The files that the pages load. They are the same for everybody, so no session is needed. */
export function answerFile(c: Context<AppEnv>, name: ConsoleFile): Response {
  const { headers } = c.var.exchange;
  headers['content-type'] = FILES[name].type;
  headers['content-security-policy'] = "default-src 'none'";
  headers['cross-origin-resource-policy'] = 'same-origin';
  headers['cache-control'] = `public, max-age=${MAX_AGE_SECONDS}`;
  return new Response(FILES[name].content, { headers });
}
