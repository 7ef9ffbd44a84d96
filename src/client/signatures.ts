/** Signed links to pictures, and the signatures of webhooks. */
import { type CaptureTemplateRequest, type CaptureUrlRequest, checkedObject, checkedText } from './call-options.js';
import { invalidArgument, StillframeError } from './stillframe-error.js';
import { type BatchEndedEvent, type CaptureCompletedEvent, type CaptureFailedEvent, NO_LINK_FIELDS } from './wire.js';

type NotInLinks = (typeof NO_LINK_FIELDS)[number];
export type LinkRequest = Omit<CaptureUrlRequest, NotInLinks> | Omit<CaptureTemplateRequest, NotInLinks>;

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
  const { baseUrl, keyId, signingSecret, expiresIn } = checkedObject(signing, 'signing');
  checkedText(baseUrl, 'baseUrl', 'https://shots.example.com');
  checkedText(keyId, 'keyId', 'key_01K9Z8Y7X6W5V4T3S2R1Q0P9N8');
  checkedText(signingSecret, 'signingSecret', 'the one that `stillframe keys signing-secret` prints');
  const refused = NO_LINK_FIELDS.filter(
    (name) => (checkedObject(request, 'request') as Record<string, unknown>)[name] !== undefined,
  );
  if (request.template === undefined) checkedText(request.url, 'url', 'https://example.com');
  if (refused.length > 0)
    throw invalidArgument(`A link must not have ${refused.map((name) => `\`${name}\``).join(', ')}.`);
  if (!(Number.isFinite(expiresIn) && expiresIn > 0))
    throw invalidArgument('`expiresIn` must be a number of seconds, more than 0.');
  const expires = Math.floor(Date.now() / 1000 + expiresIn);
  const query = canonicalQuery([...pairsOf(request, ''), ['key', keyId], ['expires', String(expires)]]);
  return `${baseUrl.replace(/(?<!\/)\/+$/, '')}/v1/render?${query}&signature=${await sign(signingSecret, query)}`;
}

type Pair = [name: string, value: string];

/** Flattens fields to pairs, such as `viewport.width=800`, with repeated names for lists. */
function pairsOf(fields: object, prefix: string): Pair[] {
  return Object.entries(fields).flatMap(([name, value]: [string, unknown]): Pair[] => {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) {
      if (value.some((item) => typeof item === 'object'))
        throw invalidArgument(`\`${prefix}${name}\` is a list of objects, which a link cannot have.`);
      return value.map((item): Pair => [prefix + name, String(item)]);
    }
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
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

const SIGNATURE_HEADER = 'x-service-signature';
/** Tolerance of signature timestamps in seconds (interface.md, Limits). */
const TOLERANCE_SECONDS = 300;

export type WebhookEvent = CaptureCompletedEvent | CaptureFailedEvent | BatchEndedEvent;

export interface WebhookRequest {
  /** The body exactly as received: not parsed, not formatted again. */
  body: string | Uint8Array | ArrayBuffer;
  /** Headers of the request: `Headers`, or an object as Node, Express and serverless platforms have it. */
  headers: { get(name: string): string | null } | Record<string, string | readonly string[] | undefined>;
  /** The `webhook.secret` of the submission; several while you change it. */
  secret: string | readonly string[];
  /** Largest difference between the clocks, in seconds. Older requests, and those from the future, are refused. Default: 300. */
  toleranceSeconds?: number | undefined;
  /** Unix milliseconds. Default: now. */
  now?: number | undefined;
}

/**
 * Verifies the signature of a webhook request in constant time. Requests can be repeated within the tolerance: recognize them by
 * `delivery_id` and `delivery_generation`.
 * @returns the event
 * @throws StillframeError `invalid_signature`; `invalid_request` for an argument that does not allow verification
 */
export async function verifyWebhook(request: WebhookRequest): Promise<WebhookEvent> {
  checkedObject(request, 'request');
  const body = bytesOf(request.body);
  const secrets = [request.secret].flat().map((secret) => checkedText(secret, 'secret', 'the one of the submission'));
  if (secrets.length === 0) throw invalidArgument('`secret` must be at least one secret.');
  checkedObject(request.headers, 'headers');
  const [, timestamp, hex] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(signatureOf(request.headers)) ?? [];
  if (timestamp === undefined || hex === undefined)
    throw invalid(`The header ${SIGNATURE_HEADER} is missing or malformed.`);
  const head = utf8(`${timestamp}.`);
  const content = new Uint8Array(head.length + body.length);
  content.set(head);
  content.set(body, head.length);
  const matches = await Promise.all(secrets.map((secret) => verify(secret, { content, hex })));
  if (!matches.includes(true)) throw invalid('The signature does not match the body.');
  const skewSeconds = Math.abs((request.now ?? Date.now()) / 1000 - Number(timestamp));
  // The condition is negated, so that a tolerance of NaN refuses.
  if (!(skewSeconds <= (request.toleranceSeconds ?? TOLERANCE_SECONDS)))
    throw invalid('The timestamp is too far from the present.');
  return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent;
}

function bytesOf(body: WebhookRequest['body']): Uint8Array {
  if (typeof body === 'string') return utf8(body);
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError('`body` must be the raw body of the request, as text or bytes: a parsed one cannot be verified.');
}

function signatureOf(headers: WebhookRequest['headers']): string {
  if (typeof headers.get === 'function') return headers.get(SIGNATURE_HEADER) ?? '';
  const [, value] = Object.entries(headers).find(([name]) => name.toLowerCase() === SIGNATURE_HEADER) ?? [];
  return (typeof value === 'string' ? value : value?.[0]) ?? '';
}

function invalid(message: string): StillframeError {
  return new StillframeError({ code: 'invalid_signature', message, retriable: false });
}

/** HMAC-SHA256 with the runtime's own cryptography, which Node, Deno, Bun and workers have. */
const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' };

/**
 * Signs a text.
 * @returns the digest in hex
 */
export async function sign(secret: string, text: string): Promise<string> {
  const digest = await crypto.subtle.sign('HMAC', await keyOf(secret, 'sign'), utf8(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Returns whether the digest is that of the content, in the same time wherever they differ.
 * @param hex 64 digits
 */
async function verify(
  secret: string,
  { content, hex }: { content: Uint8Array<ArrayBuffer>; hex: string },
): Promise<boolean> {
  const digest = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return crypto.subtle.verify('HMAC', await keyOf(secret, 'verify'), digest, content);
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;
}

function keyOf(secret: string, use: 'sign' | 'verify'): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', utf8(secret), ALGORITHM, false, [use]);
}
