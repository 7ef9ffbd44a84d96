import { createHmac, timingSafeEqual } from 'node:crypto';
import { refusedField } from './capture-error.js';
import { FIELD_LIST, findField } from './field-list.js';
import { isObject } from './field-rules.js';

/**
 * Signed links to pictures (extensions.md, GET /v1/render): the canonical query, its signature, and the flat fields of a capture request.
 * docs/render-links.json has vectors for other languages.
 */

export const RENDER_LINK_PATH = '/v1/render';

/** Parameters of the link itself. */
const LINK_PARAMETERS = new Set(['key', 'expires', 'signature']);
/** Fields of a capture request that a link must not have. */
export const NO_LINK_FIELDS: readonly string[] = FIELD_LIST.filter(({ links }) => links === false).map(
  ({ name }) => name,
);

/** Whether a link may have this field of a capture request, or this member of one: a dotted name. */
export function isLinkField(name: string): boolean {
  const path = name.split('.').slice(0, DEPTH_MAX);
  return path.every((_, nth) => findField(path.slice(0, nth + 1))?.links !== false);
}

export type QueryPair = [name: string, value: string];

/**
 * Reads a query as forms write it: `+` and `%20` are spaces.
 *
 * @param query without the question mark
 * @returns null when it is not valid percent-encoded UTF-8
 */
export function readQuery(query: string): QueryPair[] | null {
  try {
    return query
      .split('&')
      .filter((part) => part !== '')
      .map((part) => {
        const at = part.indexOf('=');
        return at < 0 ? [decode(part), ''] : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
      });
  } catch {
    return null;
  }
}

/** The text that is signed: all pairs except the signature, sorted by name (repeated names keep their order), in RFC 3986 encoding. */
export function canonicalQuery(pairs: readonly QueryPair[]): string {
  return pairs
    .filter(([name]) => name !== 'signature')
    .map(([name, value]): QueryPair => [encode(name), encode(value)])
    .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

/** A query with a signature. */
export interface SignedQuery {
  /** Empty if the query cannot be read. */
  pairs: readonly QueryPair[];
  canonical: string;
}

export function readSignedQuery(query: string): SignedQuery {
  const pairs = readQuery(query) ?? [];
  return { pairs, canonical: canonicalQuery(pairs) };
}

/** Hex HMAC-SHA256 of the canonical query. */
export function signQuery(pairs: readonly QueryPair[], secret: string): string {
  return createHmac('sha256', secret).update(canonicalQuery(pairs)).digest('hex');
}

/** Whether one of the secrets made the signature; constant-time comparison. */
export function isSignedBy({ pairs, canonical }: SignedQuery, secrets: readonly string[]): boolean {
  const signature = Buffer.from(singleValue(pairs, 'signature') ?? '');
  return secrets
    .map((secret) => Buffer.from(createHmac('sha256', secret).update(canonical).digest('hex')))
    .map((expected) => expected.length === signature.length && timingSafeEqual(expected, signature))
    .includes(true);
}

/** The value of a parameter that is given exactly once; else null. */
export function singleValue(pairs: readonly QueryPair[], name: string): string | null {
  const values = pairs.filter(([given]) => given === name);
  return values.length === 1 ? (values[0]?.[1] ?? null) : null;
}

/**
 * The request body that the flat fields of a link stand for: `viewport.width=800`, repeated names for lists. Values get the type of their
 * field; a value that does not fit stays a string, which the schema rejects. With `template`, `title=…` stands for `data.title=…` unless a
 * field has that name.
 *
 * @returns also the names that a link may not have
 */
export function bodyOf(pairs: readonly QueryPair[]): { body: Record<string, unknown>; refused: string[] } {
  const body: Record<string, unknown> = {};
  const refused = new Set<string>();
  const hasTemplate = pairs.some(([name]) => name === 'template');
  for (const [given, value] of pairs) {
    if (LINK_PARAMETERS.has(given)) continue;
    const isParameter = hasTemplate && !given.includes('.') && findField([given]) === null;
    const name = isParameter ? `data.${given}` : given;
    if (isLinkField(name)) place(body, name.split('.'), value);
    else refused.add(isLinkField(name.split('.', 1)[0] ?? '') ? name : (name.split('.', 1)[0] ?? ''));
  }
  return { body, refused: [...refused] };
}

/** The flat form of a request body. @throws CaptureError `invalid_request` for a list of objects */
export function pairsOf(body: Record<string, unknown>, prefix = ''): QueryPair[] {
  return Object.entries(body).flatMap(([name, value]): QueryPair[] => {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) {
      if (value.some((item) => typeof item === 'object'))
        throw refusedField(prefix + name, 'is a list of objects, which a link cannot have');
      return value.map((item): QueryPair => [prefix + name, String(item)]);
    }
    if (typeof value === 'object') return pairsOf(value as Record<string, unknown>, `${prefix}${name}.`);
    return [[prefix + name, String(value)]];
  });
}

const DEPTH_MAX = 4;

function place(body: Record<string, unknown>, path: readonly string[], value: string): void {
  let target = body;
  const parents = path.slice(0, -1);
  if (path.length > DEPTH_MAX) parents.length = 0;
  for (const name of parents) {
    const inner = Object.hasOwn(target, name) ? target[name] : undefined;
    // Given as a value, too: the schema rejects it.
    if (inner !== undefined && !isObject(inner)) return;
    const next = inner ?? {};
    define(target, name, next);
    target = next;
  }
  const name = path.length > DEPTH_MAX ? path.join('.') : (path.at(-1) ?? '');
  const { type, item } = findField(path) ?? {};
  const before = Object.hasOwn(target, name) ? target[name] : undefined;
  const typed = toType(value, type);
  const isEntry = type === 'array' || (type === 'union' && item !== null && typed === value);
  if (isEntry) define(target, name, [...(Array.isArray(before) ? before : []), value]);
  // Given twice: the schema rejects the list.
  else define(target, name, before === undefined ? typed : [before, typed].flat());
}

/** Defines `__proto__` like any other name. */
function define(target: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

function toType(value: string, type: string | undefined): unknown {
  if ((type === 'boolean' || type === 'union') && (value === 'true' || value === 'false')) return value === 'true';
  if ((type === 'number' || type === 'union') && /^-?\d{1,15}(\.\d{1,15})?$/.test(value)) return Number(value);
  return value;
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}

/** encodeURIComponent, plus the five characters that RFC 3986 reserves and it does not encode. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
