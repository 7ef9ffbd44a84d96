import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Log } from '../log.js';
import { type DestinationList, parseDestinations } from './destination-list.js';
import { DialFailure, dial } from './dial.js';
import { EgressRefused, type ProxyContext, type Refusal, type Requester } from './egress.js';
import type { AbsoluteRoute } from './fetch-public.js';
import { type HostCheck, isListed } from './judge-host.js';
import { KEPT, type Resolve, rememberLookups } from './resolve-host.js';
import type { TrafficLedger } from './traffic-ledger.js';
import { UpstreamProxy } from './upstream-proxy.js';

/**
 * The destinations that may be reached. `public`: public addresses; `allowed`: also what the operator allows; a list: also what it has; `anywhere`: for the server's
 * requests to an endpoint that the operator has configured.
 */
export type Reach = 'public' | 'allowed' | 'anywhere' | DestinationList;

export interface OutboundRules {
  resolve: Resolve;
  /** @param options.since performance.now() of the query, if an earlier look-up was part of it */
  judge(host: string, port: number, options: { reach: Reach; resolve: Resolve; since?: number }): Promise<HostCheck>;
  /** Whether a capture's own URL is a destination that the operator allows. */
  isAllowed(url: string, resolve: Resolve): Promise<boolean>;
  /** PEM certificates to trust instead of the system's, for a caller's https proxy. */
  ca: string[] | undefined;
  log: Log;
}

export interface ProxyTarget {
  host: string;
  port: number;
  /** An endpoint that the operator has configured and the server requests: it need not be public. */
  exempt: boolean;
}

export interface ConnectionHooks {
  ledger: TrafficLedger;
  closing: AbortSignal;
  /** Registers a connection, which is closed with the capture. */
  hold(socket: Socket): void;
}

/** A check of a destination ahead of its connection, under way or done; null if it may be connected to. */
interface Check {
  refusal: Refusal | null | Promise<Refusal | null>;
}

/** Maximum number of refused destinations that are logged per capture. */
const LOGGED_DESTINATIONS_MAX = 100;

/** Checks ahead of connections at once, as many as the connections that Chromium opens to a proxy. */
const CHECKS_MAX = 32;

/** Log messages with advice: captures and callbacks have separate settings. */
const ADVICE = {
  captures: 'destination refused; to allow it, add it to STILLFRAME_ALLOW_DESTINATIONS',
  callbacks: 'destination refused; to allow it for webhooks and uploads, add it to STILLFRAME_WEBHOOK_ALLOW',
};

/** Opens the connections of one capture: to checked and pinned addresses, directly or through the caller's proxy, with traffic counted. */
export class OutboundRoute {
  readonly proxy: UpstreamProxy | null;
  readonly #rules: OutboundRules;
  readonly #connections: ConnectionHooks;
  readonly #logged = new Set<string>();
  readonly #refused = new LRUCache<string, Refusal>(KEPT);
  readonly #checked = new LRUCache<string, Check>(KEPT);
  readonly passage: ProxyContext;
  /** One answer per name of the capture, which is both checked and connected to. */
  readonly #resolve: Resolve;
  #reach: Promise<Reach> | null = null;
  #checks = 0;
  /** The destinations that a local page may still reach once it has read a file; null for all others and before. */
  #only: DestinationList | null = null;
  readonly #open = new Map<Socket, ProxyTarget>();

  constructor(rules: OutboundRules, passage: ProxyContext, keeping: ConnectionHooks) {
    this.#rules = rules;
    this.#connections = keeping;
    this.passage = passage;
    this.#resolve = rememberLookups(rules.resolve);
    // The caller chooses the proxy, not the page, so every capture may use a proxy that the operator allows.
    const judge = (host: string, port: number) => rules.judge(host, port, { reach: 'allowed', resolve: this.#resolve });
    const { proxy } = passage;
    this.proxy = proxy === null ? null : new UpstreamProxy(proxy, { judge, ca: rules.ca });
    const { local } = passage;
    local?.onRead(() => this.#restrict(parseDestinations(local.trusted)));
  }

  /** The caller's proxy, unless this destination bypasses it. */
  proxyFor({ host, port }: Pick<ProxyTarget, 'host' | 'port'>): UpstreamProxy | null {
    return this.proxy === null || this.proxy.bypasses(host, port) ? null : this.proxy;
  }

  /**
   * A connection to a destination that has been checked.
   *
   * @throws EgressRefused, DialFailure, CallerProxyFailure, ProxyRefusal
   */
  async connect(target: ProxyTarget, signal: AbortSignal): Promise<Socket> {
    const proxy = this.proxyFor(target);
    const addresses = await this.authorize(target);
    const socket = proxy === null ? await dial(addresses, target.port, signal) : await proxy.openTunnel(target, signal);
    this.#open.set(socket, target);
    socket.once('close', () => this.#open.delete(socket));
    if (this.#isShut(target)) socket.destroy();
    return this.#meter(socket);
  }

  /** The route of plain http through a caller's HTTP proxy, in absolute form; null if the target does not use one. */
  toProxy(target: ProxyTarget): AbsoluteRoute | null {
    const proxy = this.proxyFor(target);
    if (!proxy?.absoluteForm) return null;
    const connect = async (signal: AbortSignal) => {
      await this.authorize(target);
      return this.connectToProxy(signal);
    };
    return {
      connect,
      authorization: proxy.authorization,
      judge: (status, headers) => proxy.judgeAnswer(status, headers),
    };
  }

  /** @throws CallerProxyFailure, DialFailure */
  async connectToProxy(signal: AbortSignal): Promise<Socket> {
    if (this.proxy === null) throw new DialFailure('ECONNABORTED', 'there is no proxy to connect to');
    return this.#meter(await this.proxy.connect(signal));
  }

  /**
   * Checks a destination, which prevents SSRF; each address that a redirect leads to is checked as well. The first refusal takes as long as
   * any other; the page then knows it, so it is repeated at once: a page may have many images on a host that no longer exists.
   *
   * @returns the addresses that may be connected to
   * @throws EgressRefused
   */
  async authorize({ host, port, exempt }: ProxyTarget): Promise<string[]> {
    if (this.#connections.ledger.over) throw new EgressRefused({ host, port, reason: 'over_limit' });
    const since = performance.now();
    const key = `${host}:${port}:${exempt}`;
    const known = this.#refused.get(key);
    if (known !== undefined) throw new EgressRefused(known);
    if (host === this.passage.own?.host) throw new EgressRefused({ host, port, reason: 'unresolvable' });
    if (this.#isShut({ host, port, exempt }))
      throw this.#refuse({ host, port, reason: 'has_read' }, 'the local page has read a file');
    const reach = exempt ? 'anywhere' : await this.#reachOfPages();
    const verdict = await this.#rules.judge(host, port, { reach, resolve: this.#resolve, since });
    if (verdict.ok) return verdict.addresses;
    const refusal: Refusal = { host, port, reason: verdict.reason, ...(verdict.temporary ? { temporary: true } : {}) };
    this.#refused.set(key, refusal);
    throw this.#refuse(refusal, verdict.explanation);
  }

  /**
   * Checks a destination before the browser connects to it. The answer is that of `authorize`, which checks each connection again.
   *
   * @returns null if it may be connected to, or if 32 others are being checked: a page cannot have more names looked up at once
   */
  refusalOf({ host, port }: Pick<ProxyTarget, 'host' | 'port'>): Refusal | null | Promise<Refusal | null> {
    const key = `${host}:${port}`;
    const known = this.#checked.get(key);
    if (known !== undefined) return known.refusal;
    if (this.#checks >= CHECKS_MAX) return null;
    this.#checks++;
    const check = this.authorize({ host, port, exempt: false }).then(
      () => null,
      (error: unknown) => (error instanceof EgressRefused ? error.refusal : null),
    );
    this.#checked.set(key, { refusal: check });
    void check.then((refusal) => {
      this.#checks--;
      this.#checked.set(key, { refusal });
    });
    return check;
  }

  /** Determined once, before the page can make requests, so that a name that resolves differently later has no effect. */
  #reachOfPages(): Promise<Reach> {
    const { target, local } = this.passage;
    if (local !== undefined) this.#reach ??= Promise.resolve(parseDestinations([...local.allow, ...local.trusted]));
    this.#reach ??=
      target === null
        ? Promise.resolve('allowed')
        : this.#rules.isAllowed(target, this.#resolve).then((allowed) => (allowed ? 'allowed' : 'public'));
    return this.#reach;
  }

  /** From now on, only these destinations are open to pages; connections to others are closed, so that nothing is sent on them. */
  #restrict(only: DestinationList): void {
    this.#only = only;
    for (const [socket, target] of this.#open) if (this.#isShut(target)) socket.destroy();
  }

  #isShut({ host, port, exempt }: ProxyTarget): boolean {
    return this.#only !== null && !exempt && !isListed(this.#only, host, port);
  }

  #refuse(refusal: Refusal, explanation: string | undefined): EgressRefused {
    this.#report(refusal, explanation);
    return new EgressRefused(refusal);
  }

  /** Closes a connection that was opened too late: none outlives the capture or its limit. */
  #meter(socket: Socket): Socket {
    const { ledger, closing, hold } = this.#connections;
    if (closing.aborted || ledger.over) {
      socket.destroy();
      throw new DialFailure('ECONNABORTED', 'the proxy is closed');
    }
    hold(socket);
    ledger.meter(socket);
    return socket;
  }

  /** Logs each refused destination once, since a page may retry it many times. */
  #report(refusal: Refusal, explanation: string | undefined): void {
    const key = `${refusal.host}:${refusal.port}`;
    if (this.#logged.has(key) || this.#logged.size >= LOGGED_DESTINATIONS_MAX) return;
    this.#logged.add(key);
    const { local, requester = {} } = this.passage;
    if (local === undefined) logRefusal(this.#rules.log, refusal, { explanation, to: 'captures', requester });
    else local.refused(refusal);
  }
}

interface RefusalFacts {
  explanation: string | undefined;
  to: keyof typeof ADVICE;
  requester: Requester;
}

/** Logs a refused destination and how to allow it; the client learns neither (decisions.md, Destinations). */
export function logRefusal(log: Log, refusal: Refusal, details: RefusalFacts): void {
  const { host, port, reason } = refusal;
  const facts = { host, port, reason, why: details.explanation, ...details.requester };
  const allow = details.to === 'captures' ? `${host}:${port}` : `https://${host}:${port}`;
  if (reason === 'unresolvable') log.info(facts, 'destination refused: its name could not be resolved');
  else log.warn({ ...facts, allow }, ADVICE[details.to]);
}
