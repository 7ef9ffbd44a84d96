import { once } from 'node:events';
import { type Agent, createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Log } from '../log.js';
import { codeOf, DialFailure, dial } from './dial.js';
import { DialingAgent } from './dialing-agent.js';
import { type CallerProxy, type Door, EgressRefused, type Refusal } from './egress.js';
import { exchangeCode, forwardRequest, HEADERS_LIMIT_BYTES, type PlainRoute, type PlainTarget } from './forward-request.js';
import { TunnelUnsupported } from './http-connect.js';
import { joinSockets } from './join-sockets.js';
import type { Judgement } from './judge-host.js';
import { logRefusal } from './log-refusal.js';
import { TrafficLedger } from './traffic-ledger.js';
import { CallerProxyFailure, UpstreamProxy } from './upstream-proxy.js';

export interface DoorRules {
  /** @param exempt the operator's own endpoint, asked for by the server itself: it need not be public */
  judge(host: string, port: number, exempt: boolean): Promise<Judgement>;
  maxBytes: number;
  /** PEM to trust instead of the system's own, for a caller's https proxy. */
  ca: string[] | undefined;
  log: Log;
  closed(): void;
}

export interface DoorTarget {
  host: string;
  port: number;
  /** Plain http, as opposed to something inside TLS or a socket of the page's. */
  plain: boolean;
  /** See DoorRules.judge. */
  exempt: boolean;
}

/** Refused destinations of one capture that the log is told of. */
const TOLD_DESTINATIONS = 100;

type Destination = Pick<DoorTarget, 'host' | 'port'>;

/** One capture's proxy on loopback. Whatever it cannot judge and pin, it refuses; it knows no other way out. */
export class GateDoor implements Door {
  readonly #rules: DoorRules;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #ledger: TrafficLedger;
  readonly #told = new Set<string>();
  readonly #agents: Record<'pooled' | 'fresh' | 'pooledToProxy' | 'freshToProxy', Agent>;
  readonly #closing = new AbortController();
  #passage: { proxy: UpstreamProxy | null } | null = null;
  #closed: Promise<void> | null = null;

  /** Opens a door that refuses everything until `begin`. */
  static async open(rules: DoorRules): Promise<GateDoor> {
    const door = new GateDoor(rules);
    door.#server.listen(0, '127.0.0.1');
    await once(door.#server, 'listening');
    return door;
  }

  private constructor(rules: DoorRules) {
    this.#rules = rules;
    this.#ledger = new TrafficLedger(rules.maxBytes, () => this.#cutAll());
    const toTarget = (to: Destination) => this.connect({ ...to, plain: true, exempt: false }, this.#closing.signal);
    const toProxy = () => this.#connectToProxy(this.#closing.signal);
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

  get failures(): Door['failures'] {
    return this.#ledger.failures;
  }

  get bytes(): number {
    return this.#ledger.bytes;
  }

  get proxyFailure(): string | null {
    return this.#passage?.proxy?.failure ?? null;
  }

  begin({ proxy }: { proxy: CallerProxy | null }): void {
    if (this.#passage !== null) throw new Error('a door is for one capture only');
    this.#passage = {
      proxy:
        proxy === null ? null : new UpstreamProxy(proxy, { ...this.#rules, judge: (host, port) => this.#rules.judge(host, port, false) }),
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#passage = null;
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
    // The one client is the browser: it may keep a connection as long as the capture lasts.
    Object.assign(server, { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0, timeout: 0 });
    server.on('connection', (socket) => this.#hold(socket));
    server.on('clientError', (_error, socket) => socket.destroy());
    server.on('request', (request, response) => void forwardRequest(this.#forwarding, request, response));
    server.on('connect', (request, socket, head) => void this.#tunnel(request, socket, head));
    return server;
  }

  #hold(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** https, ws and wss come this way: the browser's own TLS runs inside. */
  async #tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const abandoned = new AbortController();
    client.once('close', () => abandoned.abort());
    const destination = readAuthority(request.url ?? '');
    try {
      if (destination === null) throw new Error('unreadable CONNECT');
      const signal = AbortSignal.any([abandoned.signal, this.#closing.signal]);
      const upstream = await this.connect({ ...destination, plain: false, exempt: false }, signal);
      if (client.destroyed) return void upstream.destroy();
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      if (head.length > 0) upstream.write(head);
      joinSockets(client, upstream, () => this.#ledger.check(destination));
    } catch (error) {
      if (destination !== null && !abandoned.signal.aborted) this.#note(destination, error, codeOf(error));
      client.end('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n', () => client.destroy());
    }
  }

  readonly #forwarding = {
    route: (target: PlainTarget) => this.#routeFor(target),
    moved: (target: PlainTarget) => this.#ledger.check({ host: target.host, port: target.port }),
    answered: (route: PlainRoute, status: number) => this.#judgeAnswer(route, status),
    failed: (target: PlainTarget, error: unknown) => this.#noteExchange(target, error),
  };

  async #routeFor(target: PlainTarget): Promise<PlainRoute> {
    const proxy = this.#proxyFor(target);
    if (proxy === null || !proxy.absoluteForm) {
      return { pooled: this.#agents.pooled, fresh: this.#agents.fresh, absoluteForm: false, authorization: null };
    }
    // Connections to the proxy are shared by destinations: here each request is judged, not each connection.
    await this.#admit({ ...target, exempt: false });
    const { pooledToProxy: pooled, freshToProxy: fresh } = this.#agents;
    return { pooled, fresh, absoluteForm: true, authorization: proxy.authorization };
  }

  #judgeAnswer(route: PlainRoute, status: number): void {
    const proxy = this.#passage?.proxy;
    if (!route.absoluteForm || proxy == null) return;
    if (status === 407) throw proxy.fail('it asks for other credentials (407)');
    proxy.answer();
  }

  /**
   * A judged connection to a destination, direct or through the caller's proxy, counted for this capture.
   *
   * @throws EgressRefused, DialFailure, CallerProxyFailure, TunnelUnsupported
   */
  async connect(target: DoorTarget, signal: AbortSignal): Promise<Socket> {
    const proxy = this.#proxyFor(target);
    const addresses = await this.#admit(target);
    const socket = proxy === null ? await dial(addresses, target.port, signal) : await proxy.openTunnel(target, signal);
    return this.#meter(socket);
  }

  /** For plain http through a caller's proxy that makes no tunnel for it; null when the target does not go through one. */
  toProxy(target: DoorTarget): { connect(signal: AbortSignal): Promise<Socket>; authorization: string | null } | null {
    const proxy = this.#proxyFor(target);
    if (proxy === null) return null;
    const connect = async (signal: AbortSignal) => {
      await this.#admit(target);
      return this.#connectToProxy(signal);
    };
    return { connect, authorization: proxy.authorization };
  }

  async #connectToProxy(signal: AbortSignal): Promise<Socket> {
    const proxy = this.#passage?.proxy;
    if (proxy == null) throw new DialFailure('ECONNABORTED', 'the door is closed');
    return this.#meter(await proxy.connect(signal));
  }

  /** A connection that came too late is closed again: none outlives the door or its limit. */
  #meter(socket: Socket): Socket {
    if (this.#passage === null || this.#ledger.over) {
      socket.destroy();
      throw new DialFailure('ECONNABORTED', 'the door is closed');
    }
    this.#hold(socket);
    this.#ledger.meter(socket);
    return socket;
  }

  #proxyFor({ host, port }: Destination): UpstreamProxy | null {
    const proxy = this.#passage?.proxy ?? null;
    return proxy === null || proxy.bypasses(host, port) ? null : proxy;
  }

  /** @returns the judged addresses */
  async #admit({ host, port, exempt }: Destination & { exempt: boolean }): Promise<string[]> {
    if (this.#passage === null) throw new DialFailure('ECONNABORTED', 'the door is closed');
    if (this.#ledger.over) throw new EgressRefused({ host, port, reason: 'over_limit' });
    const verdict = await this.#rules.judge(host, port, exempt);
    if (verdict.ok) return verdict.addresses;
    const refusal: Refusal = { host, port, reason: verdict.reason, ...(verdict.temporary ? { temporary: true } : {}) };
    this.#tell(refusal, verdict.why);
    throw new EgressRefused(refusal);
  }

  /** Once for each destination: a page may try one that it is refused a thousand times. */
  #tell(refusal: Refusal, why: string | undefined): void {
    const key = `${refusal.host}:${refusal.port}`;
    if (this.#told.has(key) || this.#told.size >= TOLD_DESTINATIONS) return;
    this.#told.add(key);
    logRefusal(this.#rules.log, refusal, why);
  }

  #noteExchange(target: PlainTarget, error: unknown): void {
    const { host, port } = target;
    const code = exchangeCode(error);
    const proxy = this.#proxyFor(target);
    const unanswered = proxy?.absoluteForm && !(error instanceof EgressRefused) ? proxy.unanswered(`no answer (${code})`) : null;
    this.#note({ host, port }, unanswered ?? error, code);
  }

  #note(destination: Destination, error: unknown, code: string): void {
    if (this.#passage === null) return;
    if (error instanceof EgressRefused) {
      this.#ledger.refuse(error.refusal);
      return;
    }
    if (error instanceof CallerProxyFailure) this.#rules.log.info({ why: error.message }, "the caller's proxy failed");
    const proxied = error instanceof CallerProxyFailure || error instanceof TunnelUnsupported;
    this.#ledger.fail({ ...destination, code: proxied ? 'TUNNEL_REFUSED' : code });
  }
}

function readAuthority(text: string): Destination | null {
  const [, host, digits] = /^(\[[0-9a-f:.]+\]|[^:[\]]+):(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? null : { host, port };
}
