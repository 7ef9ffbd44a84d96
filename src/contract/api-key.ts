import { createHash, randomInt } from 'node:crypto';

/** `sf_live_` + 32 base62 characters + 6 characters of checksum over the rest (decisions.md, Keys). */
export const API_KEY_PREFIX = 'sf_live_';
const SECRET_CHARS = 32;
const CHECKSUM_CHARS = 6;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SHAPE = /^sf_live_[0-9A-Za-z]{38}$/;

/** The scopes of a key, which say what its requests may do. */
export const SCOPES = [
  'screenshot:write',
  'jobs:read',
  'watches:read',
  'watches:write',
  'templates:read',
  'templates:write',
] as const;
/** The only scope of a key that signs links and may do nothing else. */
export const LINKS_SCOPE = 'links';
export type Scope = (typeof SCOPES)[number] | typeof LINKS_SCOPE;

/** A new secret; it is shown once and never stored. */
export function newApiKey(): string {
  let body = API_KEY_PREFIX;
  for (let i = 0; i < SECRET_CHARS; i++) body += BASE62.charAt(randomInt(62));
  return body + checksum(body);
}

/** Whether the text can be a key at all; refuses typos without a database read. */
export function isApiKey(text: string): boolean {
  return SHAPE.test(text) && checksum(text.slice(0, -CHECKSUM_CHARS)) === text.slice(-CHECKSUM_CHARS);
}

/** The hash that is stored in place of a key: 64 hex characters of SHA-256. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function checksum(body: string): string {
  let rest = createHash('sha256').update(`stillframe key checksum:${body}`).digest().readUIntBE(0, 6);
  let text = '';
  for (let i = 0; i < CHECKSUM_CHARS; i++) {
    text += BASE62.charAt(rest % 62);
    rest = Math.floor(rest / 62);
  }
  return text;
}
