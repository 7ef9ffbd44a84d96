import {
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  type ServerResponse,
  request as sendHttp,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import { HOP_BY_HOP_HEADERS } from '../contract/field-rules.js';
import { readUrl } from '../contract/read-url.js';
import { codeOf } from './dial.js';

/** Chromium's own limit. */
export const HEADERS_LIMIT_BYTES = 256 * 1024;
/** `HTTP/1.1 103\r\n\r\n`: size of the shortest informational response. */
export const STATUS_LINE_BYTES = 16;

/**
 * Contradictory lengths: Chromium reports ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH, at once and without a retry. A status code would
 * look like a page of the target, and a closed connection would be retried.
 */
const BROKEN_ANSWER = 'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nContent-Length: 1\r\nConnection: close\r\n\r\n';

/** A target must not make the browser ask for a proxy password. */
const HOP_BY_HOP = new Set<string>([...HOP_BY_HOP_HEADERS, 'proxy-authentication-info']);

export interface PlainTarget {
  host: string;
  port: number;
  /** Absolute, without fragment. */
  url: string;
  /** Path and query. */
  path: string;
  /** Value of Host. */
  authority: string;
}

/** The route of a plain-http request: over a tunnel or a direct connection, or in absolute form through the caller's proxy. */
export interface PlainRoute {
  /** Reuses connections. */
  pooled: Agent;
  /** A new connection: for requests that must not be repeated, and for the retry of those that may be. */
  fresh: Agent;
  absoluteForm: boolean;
  /** Proxy-Authorization, in absolute form only. */
  authorization: string | null;
  /** Called when the request has been answered or abandoned. */
  settled(): void;
}

export interface Forwarding {
  /** Throws if the request is refused. */
  route(target: PlainTarget): Promise<PlainRoute>;
  /** Called after bytes have been transferred. */
  moved(target: PlainTarget, bytes: number): void;
  /** Called with the head of a response. Throws if it must not reach the browser. */
  answered(route: PlainRoute, head: IncomingMessage): void;
  failed(target: PlainTarget, error: unknown): void;
}

/**
 * Forwards one plain-http request of the browser. Every failure ends as a broken response, never as a page; `failed` gets the cause.
 */
export async function forwardRequest(
  forwarding: Forwarding,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const target = readTarget(request.url ?? '');
  if (target === null) return breakOff(response);
  try {
    const incoming = await exchange(forwarding, { target, request, response });
    await relay(forwarding, { target, incoming, response });
  } catch (error) {
    if (!response.destroyed && !response.writableFinished) forwarding.failed(target, error);
    breakOff(response);
  }
}

interface Exchange {
  target: PlainTarget;
  request: IncomingMessage;
  response: ServerResponse;
}

/** Accepts only the absolute form, which is what browsers send to a proxy. */
function readTarget(text: string): PlainTarget | null {
  if (!/^http:\/\/[^/]/i.test(text) || readUrl(text) === null || !URL.canParse(text)) return null;
  const url = new URL(text);
  const path = `${url.pathname}${url.search}`;
  const port = url.port === '' ? 80 : Number(url.port);
  return { host: url.hostname, port, url: `http://${url.host}${path}`, path, authority: url.host };
}

async function exchange(forwarding: Forwarding, exchanged: Exchange): Promise<IncomingMessage> {
  const { target, request, response } = exchanged;
  const repeatable = isRepeatable(request);
  let mayReuse = repeatable;
  for (let attempt = 0; ; attempt++) {
    const route = await forwarding.route(target);
    const agent = mayReuse ? route.pooled : route.fresh;
    const outgoing = send(route, agent, exchanged);
    const hangUp = () => outgoing.destroy();
    response.once('close', hangUp);
    outgoing.on('information', (head) => forwarding.moved(target, headBytes(head)));
    try {
      if (repeatable) outgoing.end();
      else request.on('data', (chunk: Buffer) => forwarding.moved(target, chunk.length)).pipe(outgoing);
      const incoming = await headOf(outgoing);
      forwarding.answered(route, incoming);
      return incoming;
    } catch (error) {
      response.off('close', hangUp);
      outgoing.destroy();
      const stale = outgoing.reusedSocket && agent === route.pooled;
      if (response.destroyed || !repeatable || attempt > 1 || !stale) throw error;
      mayReuse = false;
    } finally {
      route.settled();
    }
  }
}

/** RFC 9110, 9.2.2 and 9.3.1: whether a request may be repeated if a reused connection turns out to be closed. */
function isRepeatable(request: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  return (
    /^(GET|HEAD|OPTIONS)$/.test(request.method ?? '') &&
    (length === undefined || length === '0') &&
    encoding === undefined
  );
}

function send(route: PlainRoute, agent: Agent, { target, request }: Exchange): ClientRequest {
  const headers = requestHeaders(request.rawHeaders, target.authority);
  if (route.authorization !== null) headers.push('Proxy-Authorization', route.authorization);
  return sendHttp({
    agent,
    host: target.host,
    port: target.port,
    method: request.method,
    path: route.absoluteForm ? target.url : target.path,
    headers,
    setHost: false,
    insecureHTTPParser: true,
    maxHeaderSize: HEADERS_LIMIT_BYTES,
  });
}

function headOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once('response', resolve);
    // Stays attached for the life of the request: a late error must not end the process.
    outgoing.on('error', reject);
    outgoing.once('close', () => reject(new Error('closed without an answer')));
  });
}

async function relay(
  forwarding: Forwarding,
  { target, incoming, response }: { target: PlainTarget; incoming: IncomingMessage; response: ServerResponse },
): Promise<void> {
  forwarding.moved(target, headBytes(incoming));
  response.sendDate = false;
  response.writeHead(
    incoming.statusCode ?? 502,
    printable(incoming.statusMessage ?? ''),
    responseHeaders(incoming.rawHeaders),
  );
  // Sends the head together with the first bytes of the body if they are already here, else on its own.
  const flush = setImmediate(() => response.flushHeaders());
  await new Promise<void>((resolve, reject) => {
    incoming.on('data', (chunk: Buffer) => forwarding.moved(target, chunk.length));
    incoming.on('error', reject);
    incoming.once('close', () => (incoming.complete ? resolve() : reject(new Error('the answer was truncated'))));
    response.once('close', () => incoming.destroy());
    incoming.pipe(response);
  }).finally(() => clearImmediate(flush));
}

/** The approximate size of a response's head. */
function headBytes({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): number {
  return rawHeaders.reduce((sum, text) => sum + text.length, STATUS_LINE_BYTES);
}

function printable(text: string): string {
  return text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '');
}

function breakOff(response: ServerResponse): void {
  const { socket } = response;
  if (socket === null || socket.destroyed) return;
  if (response.headersSent) socket.destroy();
  else socket.end(BROKEN_ANSWER, () => socket.destroy());
}

/** Node's code for the failure of a plain-http exchange. */
export function exchangeCode(error: unknown): string {
  // "socket hang up": the target closed the connection without a response, rather than resetting it.
  if (error instanceof Error && error.message === 'socket hang up') return 'EMPTY_RESPONSE';
  return codeOf(error);
}

/**
 * The headers to forward with a request, in the browser's order and case.
 *
 * @param rawHeaders alternating names and values
 * @param host value of Host, replacing the browser's
 */
export function requestHeaders(rawHeaders: readonly string[], host: string): string[] {
  const isChunked = fieldsOf(rawHeaders).some(({ lower }) => lower === 'transfer-encoding');
  const kept = endToEnd(rawHeaders, new Set([...HOP_BY_HOP, 'host']));
  return ['Host', host, 'Connection', 'keep-alive', ...(isChunked ? ['Transfer-Encoding', 'chunked'] : []), ...kept];
}

/** The headers to return with a response. Omits invalid ones, which browsers ignore. */
export function responseHeaders(rawHeaders: readonly string[]): string[] {
  return endToEnd(rawHeaders, HOP_BY_HOP);
}

function endToEnd(rawHeaders: readonly string[], hopByHop: ReadonlySet<string>): string[] {
  const fields = fieldsOf(rawHeaders);
  const dropped = new Set(hopByHop);
  for (const { lower, value } of fields) {
    if (lower === 'connection') for (const option of value.split(',')) dropped.add(option.trim().toLowerCase());
    // RFC 9112, 6.3: a content-length in addition is invalid, and would allow response smuggling.
    if (lower === 'transfer-encoding') dropped.add('content-length');
  }
  return fields.flatMap(({ name, lower, value }) =>
    !dropped.has(lower) && isWritable(name, value) ? [name, value] : [],
  );
}

function fieldsOf(rawHeaders: readonly string[]): { name: string; lower: string; value: string }[] {
  return rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [{ name, lower: name.toLowerCase(), value: rawHeaders[index + 1] ?? '' }] : [],
  );
}

function isWritable(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    // The target sent an invalid header: the response is forwarded without it.
    return false;
  }
}
