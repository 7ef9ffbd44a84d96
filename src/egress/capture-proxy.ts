import { once } from 'node:events';
import {
  Agent,
  type ClientRequestArgs,
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { readUrl } from '../contract/read-url.js';
import { codeOf, DialFailure } from './dial.js';
import { type CaptureProxy, EgressRefused, type OwnHost, type ProxyContext, type Refusal } from './egress.js';
import {
  exchangeCode,
  forwardRequest,
  HEADERS_LIMIT_BYTES,
  type PlainRoute,
  type PlainTarget,
} from './forward-request.js';
import { portOf } from './host-name.js';
import { OutboundRoute, type OutboundRules, type ProxyTarget } from './outbound-route.js';
import { ProxyRefusal } from './proxy-handshakes.js';
import { TrafficLedger } from './traffic-ledger.js';
import { CallerProxyFailure } from './upstream-proxy.js';

export interface CaptureProxyRules extends OutboundRules {
  /** The limit for both directions together. */
  maxBytes: number;
  closed(): void;
}

type Destination = Pick<ProxyTarget, 'host' | 'port'>;

/** One capture's proxy on loopback. It refuses every destination whose addresses it cannot check and pin. */
export class LoopbackCaptureProxy implements CaptureProxy {
  readonly #rules: CaptureProxyRules;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #ledger: TrafficLedger;
  readonly #agents: Record<'pooled' | 'fresh' | 'pooledToProxy' | 'freshToProxy', Agent>;
  readonly #closing = new AbortController();
  #way: OutboundRoute | null = null;
  #closed: Promise<void> | null = null;

  /** Opens a proxy that refuses everything until `begin`. */
  static async open(rules: CaptureProxyRules): Promise<LoopbackCaptureProxy> {
    const captureProxy = new LoopbackCaptureProxy(rules);
    captureProxy.#server.listen(0, '127.0.0.1');
    await once(captureProxy.#server, 'listening');
    return captureProxy;
  }

  private constructor(rules: CaptureProxyRules) {
    this.#rules = rules;
    this.#ledger = new TrafficLedger(rules.maxBytes, () => this.#cutAll());
    const toTarget = (to: Destination) => this.connect({ ...to, exempt: false }, this.#closing.signal);
    const toProxy = async () => this.#open().connectToProxy(this.#closing.signal);
    this.#agents = {
      pooled: new DialingAgent(toTarget, true),
      fresh: new DialingAgent(toTarget, false),
      pooledToProxy: new DialingAgent(toProxy, true),
      freshToProxy: new DialingAgent(toProxy, false),
    };
    this.#server = this.#createServer();
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  get refusals(): readonly Refusal[] {
    return this.#ledger.refusals;
  }

  get refusedCount(): number {
    return this.#ledger.refusedCount;
  }

  get failures(): CaptureProxy['failures'] {
    return this.#ledger.failures;
  }

  get bytes(): number {
    return this.#ledger.bytes;
  }

  get proxyFailure(): string | null {
    return this.#way?.proxy?.failure ?? null;
  }

  begin(passage: ProxyContext): void {
    if (this.#way !== null || this.#closing.signal.aborted) throw new Error('a proxy is for one capture only');
    this.#way = new OutboundRoute(this.#rules, passage, {
      ledger: this.#ledger,
      closing: this.#closing.signal,
      hold: (socket) => this.#hold(socket),
    });
  }

  refuses(url: string): boolean | Promise<boolean> {
    const destination = destinationOf(url);
    if (destination === null || this.#way === null) return false;
    const { own } = this.#way.passage;
    if (own !== undefined && isFor(own, url)) return false;
    const note = (refusal: Refusal | null): boolean => {
      if (refusal !== null) this.#ledger.refuse(refusal);
      return refusal !== null;
    };
    const refusal = this.#way.refusalOf(destination);
    return refusal instanceof Promise ? refusal.then(note) : note(refusal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#cutAll();
    await closed;
    this.#rules.closed();
  }

  #cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  #createServer(): Server {
    const server = createServer({ insecureHTTPParser: true, maxHeaderSize: HEADERS_LIMIT_BYTES, noDelay: true });
    // The browser is the only client, and may keep a connection as long as the capture lasts.
    Object.assign(server, { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0, timeout: 0 });
    server.on('connection', (socket) => this.#hold(socket));
    server.on('clientError', (_error, socket) => socket.destroy());
    server.on('request', (request, response) => {
      const { own } = this.#way?.passage ?? {};
      if (own !== undefined && isFor(own, request.url)) void this.#answerItself(own, request, response);
      else void forwardRequest(this.#forwarding, request, response);
    });
    server.on('connect', (request, socket, head) => void this.#tunnel(request, socket, head));
    return server;
  }

  #hold(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** For https, ws and wss: the browser's own TLS runs inside the tunnel. */
  async #tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const abandoned = new AbortController();
    client.once('close', () => abandoned.abort());
    const destination = readAuthority(request.url ?? '');
    try {
      if (destination === null) throw new Error('unreadable CONNECT');
      const signal = AbortSignal.any([abandoned.signal, this.#closing.signal]);
      const upstream = await this.connect({ ...destination, exempt: false }, signal);
      if (client.destroyed) return void upstream.destroy();
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      if (head.length > 0) upstream.write(head);
      joinSockets(client, upstream, (bytes) => this.#ledger.check(destination, bytes));
    } catch (error) {
      if (destination !== null && !abandoned.signal.aborted) this.#note(destination, error, codeOf(error));
      client.end('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n', () => client.destroy());
    }
  }

  async #answerItself(own: OwnHost, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url ?? '');
    const destination = { host: own.host, port: 80 };
    try {
      if (this.#ledger.over) throw new Error('over the limit');
      const { status, headers, body } = await own.answer({
        method: request.method ?? '',
        path: pathname + search,
        range: request.headers.range,
      });
      response.writeHead(status, headers);
      if (body === null) return void response.end();
      body.on('data', (chunk: Buffer) => this.#ledger.add(destination, chunk.length));
      await pipeline(body, response);
    } catch (error) {
      this.#note(destination, error, codeOf(error));
      response.destroy();
    }
  }

  readonly #forwarding = {
    route: (target: PlainTarget) => this.#routeFor(target),
    moved: ({ host, port }: PlainTarget, bytes: number) => this.#ledger.check({ host, port }, bytes),
    answered: (route: PlainRoute, head: IncomingMessage) => this.#judgeAnswer(route, head),
    failed: (target: PlainTarget, error: unknown) => this.#noteExchange(target, error),
  };

  async #routeFor(target: PlainTarget): Promise<PlainRoute> {
    const way = this.#open();
    const proxy = way.proxyFor(target);
    if (!proxy?.absoluteForm) {
      return {
        pooled: this.#agents.pooled,
        fresh: this.#agents.fresh,
        absoluteForm: false,
        authorization: null,
        settled: () => {},
      };
    }
    // The browser uses one connection for several destinations, so each request is checked, not each connection.
    await way.authorize({ ...target, exempt: false });
    const { pooledToProxy: pooled, freshToProxy: fresh } = this.#agents;
    return { pooled, fresh, absoluteForm: true, authorization: proxy.authorization, settled: proxy.awaitAnswer() };
  }

  #judgeAnswer(route: PlainRoute, { statusCode = 0, headers }: IncomingMessage): void {
    if (route.absoluteForm) this.#way?.proxy?.judgeAnswer(statusCode, headers);
  }

  /** See OutboundRoute.connect; used by the server itself as well as for the browser. */
  async connect(target: ProxyTarget, signal: AbortSignal): Promise<Socket> {
    return this.#open().connect(target, signal);
  }

  /** See OutboundRoute.toProxy. */
  toProxy(target: ProxyTarget): ReturnType<OutboundRoute['toProxy']> {
    return this.#open().toProxy(target);
  }

  #open(): OutboundRoute {
    if (this.#way === null || this.#closing.signal.aborted)
      throw new DialFailure('ECONNABORTED', 'the proxy is closed');
    return this.#way;
  }

  #noteExchange(target: PlainTarget, error: unknown): void {
    const { host, port } = target;
    const code = exchangeCode(error);
    const proxy = this.#way?.proxyFor(target);
    const unanswered =
      proxy?.absoluteForm && !(error instanceof EgressRefused) ? proxy.unanswered(`no answer (${code})`) : null;
    this.#note({ host, port }, unanswered ?? error, code);
  }

  #note(destination: Destination, error: unknown, code: string): void {
    if (this.#way === null || this.#closing.signal.aborted) return;
    if (error instanceof EgressRefused) {
      this.#ledger.refuse(error.refusal);
      return;
    }
    if (error instanceof CallerProxyFailure) this.#rules.log.info({ why: error.message }, "the caller's proxy failed");
    this.#ledger.fail({ ...destination, code: codeOfProxied(error) ?? code });
  }
}

function codeOfProxied(error: unknown): string | null {
  if (error instanceof ProxyRefusal) return 'PROXY_REFUSED';
  return error instanceof CallerProxyFailure ? 'TUNNEL_REFUSED' : null;
}

function destinationOf(text: string): Destination | null {
  const url = /^https?:/i.test(text) ? readUrl(text) : null;
  return url === null ? null : { host: url.hostname, port: portOf(url) };
}

function isFor({ host }: OwnHost, url = ''): boolean {
  const read = /^http:/i.test(url) ? readUrl(url) : null;
  return read !== null && read.hostname === host && portOf(read) === 80;
}

function readAuthority(text: string): Destination | null {
  const [, host, digits] = /^(\[[0-9a-f:.]+\]|[^:[\]]+):(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? null : { host, port };
}

/** An HTTP agent that uses connections opened by the given function; it never resolves or connects by itself. */
class DialingAgent extends Agent {
  readonly #dial: (to: Destination) => Promise<Socket>;

  /** @param keepAlive whether a connection may be reused for further requests */
  constructor(dialTo: (to: Destination) => Promise<Socket>, keepAlive: boolean) {
    super({ keepAlive, maxFreeSockets: 64 });
    this.#dial = dialTo;
  }

  override createConnection(
    options: ClientRequestArgs,
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#dial({ host: options.host ?? '', port: Number(options.port) }).then(
      (socket) => callback?.(null, socket),
      // On failure there is no socket to pass; Node's own agents omit it as well.
      (error: Error) => (callback as ((error: Error) => void) | undefined)?.(error),
    );
  }
}

/** Connects two sockets: forwards bytes, half-closes and resets both ways, and reports transferred bytes. */
function joinSockets(client: Duplex, upstream: Socket, moved: (bytes: number) => void): void {
  // Only here: a reusable HTTP connection that its server has closed must be closed, not half open.
  upstream.allowHalfOpen = true;
  const ends = [
    { near: client, far: upstream as Duplex },
    { near: upstream as Duplex, far: client },
  ];
  for (const { near, far } of ends) {
    near.on('data', (chunk: Buffer) => moved(chunk.length));
    near.on('error', (error) => breakOff(far, error));
    near.once('close', () => {
      if (!near.readableEnded) breakOff(far, null);
    });
    near.pipe(far);
  }
}

/** Forwards a reset as a reset, so that the browser reports the target's own error. */
function breakOff(stream: Duplex, error: NodeJS.ErrnoException | Error | null): void {
  const reset = error !== null && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
  if (reset && 'resetAndDestroy' in stream && !stream.destroyed) (stream as Socket).resetAndDestroy();
  else stream.destroy();
}
