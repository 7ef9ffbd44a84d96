import { reportedError, StillframeError } from './stillframe-error.js';
import type { ErrorEnvelope } from './wire.js';

/** A longer header value is assumed to be a mistake. */
const LIMIT_SECONDS = 86_400;

/** Maximum size of an answer in bytes. A page of 100 jobs with inspections has at most about 30 MB. */
const ANSWER_LIMIT_BYTES = 64 * 1024 * 1024;
const ERROR_LIMIT_BYTES = 64 * 1024;
const EXCERPT_CHARS = 200;
/** Statuses of proxies and load balancers that another attempt may not get. */
const PASSING_STATUSES = new Set([408, 425, 429, 500, 502, 503, 504]);

/** The `data` of an envelope, and the headers that came with it. */
export interface Answer<T> {
  status: number;
  headers: Headers;
  requestId: string;
  data: T;
}

/**
 * Reads a JSON envelope.
 *
 * @throws StillframeError `unexpected_response`
 */
export async function readAnswer<T>(response: Response): Promise<Answer<T>> {
  const { status, headers } = response;
  const text = await readText(response, ANSWER_LIMIT_BYTES);
  const body = text === null ? null : (parse(text) as { request_id?: unknown; data?: unknown } | null);
  if (typeof body?.data !== 'object' || body.data === null) throw unexpected(response, text);
  const requestId = typeof body.request_id === 'string' ? body.request_id : (headers.get('x-request-id') ?? '');
  return { status, headers, requestId, data: body.data as T };
}

/** Reads the error from an answer other than 2xx. Reads at most 64 KiB of it. */
export async function readFailure(response: Response): Promise<StillframeError> {
  if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400))
    return redirected(response);
  const text = await readText(response, ERROR_LIMIT_BYTES);
  const body = text === null ? null : (parse(text) as Partial<ErrorEnvelope> | null);
  const error = body?.error;
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') return unexpected(response, text);
  return reportedError(error, { status: response.status, retryAfter: retryAfterOf(response.headers) });
}

/** Reads the seconds of `Retry-After`. */
export function retryAfterOf(headers: Headers): number | undefined {
  return readRetryAfter(headers.get('retry-after'), Date.now());
}

function redirected({ status, headers }: Response): StillframeError {
  const to = headers.get('location');
  return new StillframeError({
    code: 'unexpected_response',
    message: `The server redirects${to === null ? '' : ` to ${to.slice(0, EXCERPT_CHARS)}`}. Set \`baseUrl\` to its own address: the API key is sent nowhere else.`,
    retriable: false,
    ...(status === 0 ? {} : { status }),
  });
}

function unexpected(response: Response, text: string | null): StillframeError {
  const { status, headers } = response;
  const excerpt = text === null ? 'a body that is too long' : text.replace(/\s+/g, ' ').trim().slice(0, EXCERPT_CHARS);
  return new StillframeError({
    code: 'unexpected_response',
    message: `The answer with status ${status} is not one of stillframe: ${excerpt === '' ? 'it is empty' : excerpt}`,
    retriable: PASSING_STATUSES.has(status),
    status,
    retryAfter: retryAfterOf(headers),
    requestId: headers.get('x-request-id') ?? undefined,
  });
}

/** Reads a text; null if the body is longer than the limit, in which case the rest is not read. */
async function readText(response: Response, limitBytes: number): Promise<string | null> {
  if (response.body === null) return '';
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > limitBytes) {
      await reader.cancel();
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Parses a `Retry-After` header: whole seconds, or a date.
 * @param now Unix ms
 * @returns seconds; undefined if the header is missing or malformed
 */
export function readRetryAfter(header: string | null, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Math.min(Number(text), LIMIT_SECONDS);
  const at = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, Math.ceil((at - now) / 1000)), LIMIT_SECONDS);
}
