import { checkedOptions, checkedRequest, checkedText } from './call-options.js';
import type { CaptureUrlRequest } from './capture-request.js';
import { sign } from './hmac.js';
import { invalidArgument } from './stillframe-error.js';
import { NO_LINK_FIELDS } from './wire.js';

export type LinkRequest = Omit<CaptureUrlRequest, (typeof NO_LINK_FIELDS)[number]>;

export interface LinkSigning {
  /** The id of the API key that the captures are charged to, `key_…`; not the key itself. */
  keyId: string;
  /** The secret that `stillframe keys signing-secret <key id>` prints. */
  signingSecret: string;
  /** Validity in seconds from now. */
  expiresIn: number;
}

/**
 * Makes an address that shows the picture without an API key, for `<img src>` and Open Graph tags. Makes no request.
 * @throws StillframeError `invalid_request` for an argument that makes no link, or a field that a link must not have
 */
export async function signedLink(request: LinkRequest, signing: LinkSigning & { baseUrl: string }): Promise<string> {
  const { baseUrl, keyId, signingSecret, expiresIn } = checkedOptions(signing, 'signing');
  checkedText(baseUrl, 'baseUrl', 'https://shots.example.com');
  checkedText(keyId, 'keyId', 'key_01K9Z8Y7X6W5V4T3S2R1Q0P9N8');
  checkedText(signingSecret, 'signingSecret', 'the one that `stillframe keys signing-secret` prints');
  const refused = NO_LINK_FIELDS.filter((name) => (checkedRequest(request) as Record<string, unknown>)[name] !== undefined);
  checkedText(request.url, 'url', 'https://example.com');
  if (refused.length > 0) throw invalidArgument(`A link must not have ${refused.map((name) => `\`${name}\``).join(', ')}.`);
  if (!(Number.isFinite(expiresIn) && expiresIn > 0)) throw invalidArgument('`expiresIn` must be a number of seconds, more than 0.');
  const expires = Math.floor(Date.now() / 1000 + expiresIn);
  const query = canonicalQuery([...pairsOf(request, ''), ['key', keyId], ['expires', String(expires)]]);
  return `${baseUrl.replace(/\/+$/, '')}/v1/render?${query}&signature=${await sign(signingSecret, query)}`;
}

type Pair = [name: string, value: string];

/** Flattens fields to pairs, such as `viewport.width=800`, with repeated names for lists. */
function pairsOf(fields: object, prefix: string): Pair[] {
  return Object.entries(fields).flatMap(([name, value]: [string, unknown]): Pair[] => {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value.map((item): Pair => [prefix + name, String(item)]);
    if (typeof value === 'object') return pairsOf(value, `${prefix}${name}.`);
    return [[prefix + name, String(value)]];
  });
}

/**
 * Returns the signed text: sorted by name (repeated names keep their order), in the encoding of RFC 3986. docs/render-links.json has test
 * vectors.
 */
export function canonicalQuery(pairs: readonly Pair[]): string {
  return pairs
    .map(([name, value]): Pair => [encode(name), encode(value)])
    .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}
