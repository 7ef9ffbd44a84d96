import type { Socket } from 'node:net';
import type { Log } from '../log.js';
import { rememberLookups } from './capture-lookups.js';
import { DialFailure, dial } from './dial.js';
import { EgressRefused, type Passage, type Refusal } from './egress.js';
import type { AbsoluteRoute } from './fetch-public.js';
import type { Judgement } from './judge-host.js';
import { logRefusal } from './log-refusal.js';
import type { Resolve } from './resolve-host.js';
import type { TrafficLedger } from './traffic-ledger.js';
import { UpstreamProxy } from './upstream-proxy.js';

/**
 * How far a capture may go: `public` addresses; also what the operator `allowed`; or, for an endpoint of the operator's own that the
 * server itself asks, anywhere.
 */
export type Reach = 'public' | 'allowed' | 'anywhere';

export interface OutboundRules {
  resolve: Resolve;
  /** @param how.since performance.now() of the question, when something was looked up for it before */
  judge(host: string, port: number, how: { reach: Reach; resolve: Resolve; since?: number }): Promise<Judgement>;
  /** Whether a capture's own URL is one of the destinations that the operator allows. */
  isAllowed(url: string, resolve: Resolve): Promise<boolean>;
  /** PEM to trust instead of the system's own, for a caller's https proxy. */
  ca: string[] | undefined;
  log: Log;
}

export interface ProxyTarget {
  host: string;
  port: number;
  /** The operator's own endpoint, asked for by the server itself: it need not be public. */
  exempt: boolean;
}

export interface Keeping {
  ledger: TrafficLedger;
  closing: AbortSignal;
  /** Takes charge of a connection: it ends with the capture. */
  hold(socket: Socket): void;
}

/** Refused destinations of one capture that the log is told of. */
const TOLD_DESTINATIONS = 100;

/** Where one capture's connections come from: judged, pinned, direct or through the caller's proxy, and counted. */
export class OutboundRoute {
  readonly proxy: UpstreamProxy | null;
  readonly #rules: OutboundRules;
  readonly #keeping: Keeping;
  readonly #told = new Set<string>();
  readonly #passage: Passage;
  /** One answer for each name of the capture, which is both judged and dialled. */
  readonly #resolve: Resolve;
  #reach: Promise<Reach> | null = null;

  constructor(rules: OutboundRules, passage: Passage, keeping: Keeping) {
    this.#rules = rules;
    this.#keeping = keeping;
    this.#passage = passage;
    this.#resolve = rememberLookups(rules.resolve);
    // Chosen by the caller, not by the page: an operator's allowed proxy serves every capture.
    const judge = (host: string, port: number) => rules.judge(host, port, { reach: 'allowed', resolve: this.#resolve });
    const { proxy } = passage;
    this.proxy = proxy === null ? null : new UpstreamProxy(proxy, { judge, ca: rules.ca });
  }

  /** The caller's proxy, unless this destination bypasses it. */
  proxyFor({ host, port }: Pick<ProxyTarget, 'host' | 'port'>): UpstreamProxy | null {
    return this.proxy === null || this.proxy.bypasses(host, port) ? null : this.proxy;
  }

  /**
   * A judged connection to a destination.
   *
   * @throws EgressRefused, DialFailure, CallerProxyFailure, ProxyRefusal
   */
  async connect(target: ProxyTarget, signal: AbortSignal): Promise<Socket> {
    const proxy = this.proxyFor(target);
    const addresses = await this.authorize(target);
    const socket = proxy === null ? await dial(addresses, target.port, signal) : await proxy.openTunnel(target, signal);
    return this.#meter(socket);
  }

  /** For plain http through a caller's HTTP proxy, in absolute form; null when the target does not go through one. */
  toProxy(target: ProxyTarget): AbsoluteRoute | null {
    const proxy = this.proxyFor(target);
    if (!proxy?.absoluteForm) return null;
    const connect = async (signal: AbortSignal) => {
      await this.authorize(target);
      return this.connectToProxy(signal);
    };
    return { connect, authorization: proxy.authorization, judge: (status, headers) => proxy.judgeAnswer(status, headers) };
  }

  /** @throws CallerProxyFailure, DialFailure */
  async connectToProxy(signal: AbortSignal): Promise<Socket> {
    if (this.proxy === null) throw new DialFailure('ECONNABORTED', 'there is no proxy to connect to');
    return this.#meter(await this.proxy.connect(signal));
  }

  /**
   * Judges a destination.
   *
   * @returns the addresses that may be connected to
   * @throws EgressRefused
   */
  async authorize({ host, port, exempt }: ProxyTarget): Promise<string[]> {
    if (this.#keeping.ledger.over) throw new EgressRefused({ host, port, reason: 'over_limit' });
    const since = performance.now();
    const reach = exempt ? 'anywhere' : await this.#reachOfPages();
    const verdict = await this.#rules.judge(host, port, { reach, resolve: this.#resolve, since });
    if (verdict.ok) return verdict.addresses;
    const refusal: Refusal = { host, port, reason: verdict.reason, ...(verdict.temporary ? { temporary: true } : {}) };
    this.#tell(refusal, verdict.why);
    throw new EgressRefused(refusal);
  }

  /** Found out once, before the page can ask for anything: a name that leads elsewhere later opens nothing. */
  #reachOfPages(): Promise<Reach> {
    const { target } = this.#passage;
    this.#reach ??=
      target === null
        ? Promise.resolve('allowed')
        : this.#rules.isAllowed(target, this.#resolve).then((allowed) => (allowed ? 'allowed' : 'public'));
    return this.#reach;
  }

  /** A connection that came too late is closed again: none outlives the capture or its limit. */
  #meter(socket: Socket): Socket {
    const { ledger, closing, hold } = this.#keeping;
    if (closing.aborted || ledger.over) {
      socket.destroy();
      throw new DialFailure('ECONNABORTED', 'the proxy is closed');
    }
    hold(socket);
    ledger.meter(socket);
    return socket;
  }

  /** Once for each destination: a page may try one that it is refused a thousand times. */
  #tell(refusal: Refusal, why: string | undefined): void {
    const key = `${refusal.host}:${refusal.port}`;
    if (this.#told.has(key) || this.#told.size >= TOLD_DESTINATIONS) return;
    this.#told.add(key);
    logRefusal(this.#rules.log, refusal, { why, to: 'captures', requester: this.#passage.requester ?? {} });
  }
}
