import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import pTimeout from 'p-timeout';
import type { Dispatcher } from 'undici';
import { lowerCaseNames } from '../contract/field-rules.js';
import { CONNECT_TIMEOUT_MS } from './dial.js';
import type { PublicFetch, PublicResponse } from './egress.js';
import { STATUS_LINE_BYTES } from './forward-request.js';
import { startTls } from './start-tls.js';

/** Limit of a response's headers; also of all informational responses before it together. */
const HEADERS_LIMIT_BYTES = 16 * 1024;

/** The route through a caller's HTTP proxy, which gets the request in absolute form. */
export interface AbsoluteRoute {
  connect(signal: AbortSignal): Promise<Socket>;
  /** Value of Proxy-Authorization, or null. */
  authorization: string | null;
  /** Throws if the response is the proxy's, not the target's. */
  judge(status: number, headers: IncomingHttpHeaders): void;
}

/** The route of the server's own request. */
export interface FetchRoute {
  /** A connection to a checked and pinned address. Throws EgressRefused, or the transport's error. */
  connect(signal: AbortSignal): Promise<Socket>;
  /** For plain http through a caller's HTTP proxy: instead of `connect`. */
  inAbsoluteForm: AbsoluteRoute | null;
}

/**
 * One request over its own connection: follows no redirects, decompresses nothing, never retries.
 *
 * @param ca PEM certificates to trust instead of the system's
 * @throws EgressRefused, the transport's error, or the DOMException `TimeoutError` / the signal's reason
 */
export async function fetchPublic(
  route: FetchRoute,
  request: PublicFetch,
  ca: string[] | undefined,
): Promise<PublicResponse> {
  const deadline = AbortSignal.timeout(request.timeoutMs);
  const signal = request.signal === null ? deadline : AbortSignal.any([deadline, request.signal]);
  signal.throwIfAborted();
  try {
    return await exchange(route, { request, ca, signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

interface Exchange {
  request: PublicFetch;
  ca: string[] | undefined;
  signal: AbortSignal;
}

async function exchange(route: FetchRoute, { request, ca, signal }: Exchange): Promise<PublicResponse> {
  const url = new URL(request.url);
  url.hash = '';
  const { Client, errors } = await import('undici');
  const client = new Client(url.origin, {
    pipelining: 0,
    maxHeaderSize: HEADERS_LIMIT_BYTES,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (_options, callback) => {
      open(route, { url, ca, signal }).then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      );
    },
  });
  try {
    // Once connected, the client rejects by itself; the signal given here ends the connection phase.
    const response = client.request({
      ...toRequest(route, { url, request, signal }),
      onInfo: createPatience(() => new errors.HeadersOverflowError(TOO_LONG)),
    });
    const answer = await pTimeout(response, { milliseconds: Number.POSITIVE_INFINITY, signal });
    route.inAbsoluteForm?.judge(answer.statusCode, answer.headers);
    const body = request.maxBytes === 0 ? leaveBody(answer.body) : await readBody(answer.body, request.maxBytes);
    return { status: answer.statusCode, headers: toHeaders(answer.headers), ...body };
  } finally {
    await client.destroy();
  }
}

async function open(
  route: FetchRoute,
  { url, ca, signal }: { url: URL; ca: string[] | undefined; signal: AbortSignal },
): Promise<Socket> {
  const socket = await (route.inAbsoluteForm ?? route).connect(signal);
  if (url.protocol !== 'https:') return socket;
  return startTls(socket, { host: url.hostname, ca, timeoutMs: CONNECT_TIMEOUT_MS }, signal);
}

function toRequest(
  route: FetchRoute,
  { url, request, signal }: { url: URL; request: PublicFetch; signal: AbortSignal },
): Dispatcher.RequestOptions {
  const authorization = route.inAbsoluteForm?.authorization;
  const headers = { 'accept-encoding': 'identity', ...lowerCaseNames(request.headers) };
  return {
    method: request.method,
    path: route.inAbsoluteForm !== null ? url.href : `${url.pathname}${url.search}`,
    headers: authorization == null ? headers : { ...headers, 'proxy-authorization': authorization },
    body: request.body,
    signal,
  };
}

const TOO_LONG = 'Informational answers without end';

/** Aborts a response with endless informational responses. */
function createPatience(tooLong: () => Error): NonNullable<Dispatcher.RequestOptions['onInfo']> {
  let bytes = 0;
  return ({ headers }) => {
    bytes +=
      STATUS_LINE_BYTES +
      Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + String(value).length, 0);
    if (bytes > HEADERS_LIMIT_BYTES) throw tooLong();
  };
}

async function readBody(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ body: Uint8Array; truncated: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) break;
  }
  return { body: Buffer.concat(chunks).subarray(0, maxBytes), truncated: length > maxBytes };
}

function leaveBody(stream: Readable): { body: Uint8Array; truncated: boolean } {
  stream.on('error', () => undefined).destroy();
  return { body: Buffer.alloc(0), truncated: true };
}

function toHeaders(raw: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(raw)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      try {
        if (one !== undefined) headers.append(name, one);
      } catch {
        // Invalid headers are dropped; the response is judged by its status.
      }
    }
  }
  return headers;
}
