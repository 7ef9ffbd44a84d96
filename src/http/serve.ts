import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { type AddressInfo, type Socket, Server as TcpServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { CaptureError } from '../contract/capture-error.js';
import type { AppEnv, AppServices } from './app-services.js';
import { localUrl } from './client-address.js';
import { Connections } from './connections.js';
import { answerError, errorEnvelope, newExchange } from './exchange.js';

export interface Listening {
  host: string;
  /** 0 picks a free one. */
  port: number;
  /** Time limit for receiving a request's headers; ms. */
  headersTimeoutMs?: number;
  /** Time limit for receiving a request, body included; ms. Does not limit the response. */
  requestTimeoutMs?: number;
  /** The time for which the rest of an unread body is received, in ms. */
  discardMs?: number;
  /** At more connections, the server closes one of those that wait for their client. */
  maxConnections?: number;
  /** At more responses that are streamed from the storage, the server closes the connection of one. */
  maxStreams?: number;
}

/** The reason why the server cannot start, in one line for the operator. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

export interface HttpServer {
  /** At which this machine reaches it. */
  url: string;
  port: number;
  /** Accepts no more connections, lets running requests finish within the grace period, then closes the rest. May be called twice. */
  stop(graceMs: number): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the 60 s of common load balancers, so that they close idle connections first. */
const KEEP_ALIVE_MS = 65_000;
/** The idle timeout of a socket; longer than any synchronous wait. */
const IDLE_TIMEOUT_MS = 180_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_CONNECTIONS = 4_096;
/** Each holds an open file and buffers, or one of the bucket's connections for readers, of which there are more. */
const MAX_STREAMS = 240;
/** An invalid host: a request without a Host header, which HTTP/1.1 forbids, is rejected like any other bad Host. */
const MISSING_HOST = ' ';
/**
 * The amount of an unread body that is still received and discarded, and for how long: many clients send everything before they read, and lose the
 * response if the connection is closed meanwhile.
 */
const DISCARD_BYTES = 1024 * 1024;
const DISCARD_MS = 5_000;
/** While a server stops. Before the first time, what clients have sent already arrives. */
const CLOSE_IDLE_EVERY_MS = 50;
/** A stopping server waits this long for a turn of the event loop in which it answers nobody. */
const QUIET_TURN_MS = 1;
const ACCEPT_MS = 1_000;
/** The time for which it goes on while it finds connections. */
const ACCEPT_MAX_MS = 5_000;

/**
 * Serves an app over HTTP.
 *
 * @throws ListenError if it cannot listen on the address
 */
export async function startHttp(app: Hono<AppEnv>, services: AppServices, listening: Listening): Promise<HttpServer> {
  const answer = getRequestListener(app.fetch, {
    hostname: 'localhost',
    autoCleanupIncoming: false,
    // Requests that the adaptor rejects before the app sees them (a bad Host or path), and thrown values that are not Errors.
    errorHandler: (thrown) => answerOutside(services, thrown),
  });
  const connections = new Connections({
    connections: Math.min(MAX_CONNECTIONS, listening.maxConnections ?? MAX_CONNECTIONS),
    streams: listening.maxStreams ?? MAX_STREAMS,
  });
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    connections.inTurn(incoming, outgoing, () => {
      discardRestOf(incoming, outgoing, listening.discardMs ?? DISCARD_MS);
      if (incoming.httpVersion !== '1.0') incoming.headers.host ??= MISSING_HOST;
      void answer(incoming, outgoing);
    });
  };
  const headersTimeout = listening.headersTimeoutMs ?? HEADERS_TIMEOUT_MS;
  const server = createServer(
    {
      headersTimeout,
      requestTimeout: listening.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: Math.min(1_000, headersTimeout),
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      noDelay: true,
      // Rejected in the envelope instead (MISSING_HOST).
      requireHostHeader: false,
    },
    serve,
  );
  // An unknown expectation may be ignored (RFC 9110, 10.1.1); Node would reject it with a bare status line.
  server.on('checkExpectation', serve);
  server.timeout = IDLE_TIMEOUT_MS;
  server.on('connection', (socket: Socket) => connections.add(socket));
  server.on('clientError', (error, socket) => answerBroken(services, error, socket as Socket));
  const port = await listen(server, listening);
  let stopped: Promise<void> | null = null;
  return {
    url: localUrl({ host: listening.host, port }),
    port,
    stop(graceMs) {
      stopped ??= stop(server, graceMs);
      return stopped;
    },
  };
}

function answerOutside(services: AppServices, thrown: unknown): Response {
  const isRequest = thrown instanceof Error && thrown.name === 'RequestError';
  const message = 'The request line or the Host header is not valid.';
  return answerError(
    services,
    newExchange(services, undefined),
    isRequest ? new CaptureError({ code: 'invalid_request', message }) : thrown,
  );
}

/** Answers requests that are invalid, too slow, or have too large headers in the envelope, then closes the connection. */
function answerBroken(services: AppServices, error: NodeJS.ErrnoException, socket: Socket): void {
  // Where a response is already being sent, anything further would be read as part of it.
  const { _httpMessage: sent } = socket as Socket & { _httpMessage?: ServerResponse | null };
  if (error.code === 'ECONNRESET' || !socket.writable || sent?.headersSent === true) return void socket.destroy();
  const exchange = newExchange(services, undefined);
  const { status, retriable, message } = BROKEN[error.code ?? ''] ?? {
    status: 400,
    message: 'The request is not valid HTTP.',
  };
  const body = JSON.stringify(
    errorEnvelope(services, exchange, { code: 'invalid_request', status, retriable: retriable === true, message }),
  );
  const headers = {
    ...exchange.headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
}

/** By the codes of Node. */
const BROKEN: Record<string, { status: number; retriable?: boolean; message: string }> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, retriable: true, message: 'The request was not received in time.' },
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The headers of the request are too large.' },
};

/** A response may be sent before the whole body has been received: the rest is discarded, up to a limit. */
function discardRestOf(incoming: IncomingMessage, outgoing: ServerResponse, discardMs: number): void {
  if (incoming.method === 'GET' || incoming.method === 'HEAD') return;
  outgoing.once('finish', () => {
    if (incoming.complete || incoming.destroyed) return;
    // Node itself discards a body of which nothing was read, without events (`_dump` in _http_incoming.js): only the time limits it.
    let left = DISCARD_BYTES;
    const cut = () => {
      incoming.off('data', onData).pause();
      incoming.socket.destroySoon();
    };
    const onData = (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) cut();
    };
    const timer = setTimeout(cut, discardMs);
    incoming
      .on('data', onData)
      .once('close', () => clearTimeout(timer))
      .resume();
  });
}

async function listen(server: Server, { host, port }: Listening): Promise<number> {
  try {
    await once(server.listen({ host, port }), 'listening');
  } catch (error) {
    throw cannotListen(error as NodeJS.ErrnoException, host, port);
  }
  return (server.address() as AddressInfo).port;
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): ListenError {
  const place = `${host}:${port}`;
  const notHere = `${host} is not an address of this machine. Choose one with --host or STILLFRAME_HOST (0.0.0.0 for all).`;
  const messages: Record<string, string> = {
    EADDRINUSE: `${place} is already in use. Choose another port with --port or STILLFRAME_PORT (0 picks a free one).`,
    EACCES: `This user may not listen on ${place}. Choose port 1024 or above with --port or STILLFRAME_PORT.`,
    EADDRNOTAVAIL: notHere,
    ENOTFOUND: notHere,
  };
  return new ListenError(messages[error.code ?? ''] ?? `Cannot listen on ${place}: ${error.message}`);
}

async function stop(server: Server, graceMs: number): Promise<void> {
  await allAccepted(server);
  // Without HTTP's own close, which resets connections whose first request is still on its way.
  const closed = new Promise<void>((resolve) => TcpServer.prototype.close.call(server, () => resolve()));
  // A connection can be closed only once its last response has been sent; and right after the event loop has read what clients have sent,
  // or a request that has arrived is lost.
  const idle = setInterval(() => void setImmediate().then(() => server.closeIdleConnections()), CLOSE_IDLE_EVERY_MS);
  const grace = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(grace);
}

/**
 * Until the event loop, which accepts one connection each time it polls, has just polled and found none waiting: closing the socket resets
 * the connections that have come since.
 */
async function allAccepted(server: Server): Promise<void> {
  let accepted = 0;
  const count = () => {
    accepted++;
  };
  server.on('connection', count);
  const turnOfLoop = async () => {
    await setImmediate();
    return { accepted, at: performance.now() };
  };
  let before = await turnOfLoop();
  const startedAt = before.at;
  for (let isOver = false; !isOver; ) {
    const turn = await turnOfLoop();
    const foundNone = turn.accepted === before.accepted;
    const isLate = turn.at - startedAt > (foundNone ? ACCEPT_MS : ACCEPT_MAX_MS);
    isOver = isLate || (foundNone && turn.at - before.at < QUIET_TURN_MS);
    before = turn;
  }
  server.off('connection', count);
}
