import { checkedOptions, checkedText } from './call-options.js';
import { utf8, verify } from './hmac.js';
import { invalidArgument, StillframeError } from './stillframe-error.js';
import type { CaptureCompletedEvent, CaptureFailedEvent } from './wire.js';

const SIGNATURE_HEADER = 'x-service-signature';
/** Tolerance of signature timestamps in seconds (interface.md, Limits). */
const TOLERANCE_SECONDS = 300;

export type WebhookEvent = CaptureCompletedEvent | CaptureFailedEvent;

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
 * Verifies the signature of a webhook request in constant time. Requests can be repeated within the tolerance: recognise them by
 * `delivery_id` and `delivery_generation`.
 * @returns the event
 * @throws StillframeError `invalid_signature`; `invalid_request` for an argument that does not allow verification
 */
export async function verifyWebhook(request: WebhookRequest): Promise<WebhookEvent> {
  checkedOptions(request, 'request');
  const body = bytesOf(request.body);
  const secrets = [request.secret].flat().map((secret) => checkedText(secret, 'secret', 'the one of the submission'));
  if (secrets.length === 0) throw invalidArgument('`secret` must be at least one secret.');
  if (typeof request.headers !== 'object' || request.headers === null) throw invalidArgument('`headers` must be those of the request.');
  const [, timestamp, hex] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(signatureOf(request.headers)) ?? [];
  if (timestamp === undefined || hex === undefined) throw invalid(`The header ${SIGNATURE_HEADER} is missing or malformed.`);
  const content = joined(utf8(`${timestamp}.`), body);
  const matches = await Promise.all(secrets.map((secret) => verify(secret, { content, hex })));
  if (!matches.includes(true)) throw invalid('The signature does not match the body.');
  const skewSeconds = Math.abs((request.now ?? Date.now()) / 1000 - Number(timestamp));
  // The condition is negated, so that a tolerance of NaN refuses.
  if (!(skewSeconds <= (request.toleranceSeconds ?? TOLERANCE_SECONDS))) throw invalid('The timestamp is too far from the present.');
  return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent;
}

function bytesOf(body: WebhookRequest['body']): Uint8Array {
  if (typeof body === 'string') return utf8(body);
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError('`body` must be the raw body of the request, as text or bytes: a parsed one cannot be verified.');
}

function signatureOf(headers: WebhookRequest['headers']): string {
  if (isHeaders(headers)) return headers.get(SIGNATURE_HEADER) ?? '';
  const [, value] = Object.entries(headers).find(([name]) => name.toLowerCase() === SIGNATURE_HEADER) ?? [];
  return (typeof value === 'string' ? value : value?.[0]) ?? '';
}

function isHeaders(headers: WebhookRequest['headers']): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function';
}

function joined(head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(head.byteLength + tail.byteLength);
  all.set(head);
  all.set(tail, head.byteLength);
  return all;
}

function invalid(message: string): StillframeError {
  return new StillframeError({ code: 'invalid_signature', message, retriable: false });
}
