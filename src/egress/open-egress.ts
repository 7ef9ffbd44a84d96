import { setTimeout as pause } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { readUrl } from '../contract/read-url.js';
import type { Log } from '../log.js';
import { LoopbackCaptureProxy } from './capture-proxy.js';
import { ALL_DESTINATIONS, NO_DESTINATIONS, parseDestinations } from './destination-list.js';
import { DialFailure, dial } from './dial.js';
import {
  type CaptureProxy,
  type Egress,
  EgressRefused,
  type HostVerdict,
  type PublicFetch,
  type PublicResponse,
  type Refusal,
  type Requester,
} from './egress.js';
import { type FetchRoute, fetchPublic } from './fetch-public.js';
import { portOf, readHost } from './host-name.js';
import { type HostCheck, isAllowed, type Judging, judgeHost, judgeSpelling } from './judge-host.js';
import { LocalNetworks } from './local-networks.js';
import { logRefusal, type ProxyTarget, type Reach } from './outbound-route.js';
import { proxyProblem } from './proxy-server.js';
import { createResolve } from './resolve-host.js';

export interface EgressOptions {
  /** STILLFRAME_ALLOW_DESTINATIONS: private or special-purpose destinations that captures and callers' proxies may reach. */
  allowDestinations: string[];
  /** STILLFRAME_DENY_DESTINATIONS: destinations that nothing may reach, even if public or allowed. */
  denyDestinations?: string[];
  /** `ip[:port]` each; empty: the system's resolver. */
  dnsServers: string[];
  /** The limit for both directions of one capture together. Default: 200 MB. */
  maxBytesPerCapture?: number;
  log: Log;
  /** The machine's own networks. Default: those of its interfaces. */
  local?: Pick<LocalNetworks, 'has'>;
  /** PEM certificates to trust in addition to the system's (for tests; operators have NODE_EXTRA_CA_CERTS). */
  ca?: string;
}

const CAPTURE_MAX_BYTES = 200_000_000;
/** Longer than a normal look-up, search domains included; a refusal after a longer one waits for the next multiple. */
const STEP_MS = 100;
/** Hides remaining differences within a step. */
const JITTER_MS = 10;

/** @throws ConfigError for an invalid destination */
export async function openEgress(options: EgressOptions): Promise<Egress> {
  const ca = options.ca === undefined ? undefined : [...(await import('node:tls')).rootCertificates, options.ca];
  return new OpenEgress(options, ca);
}

class OpenEgress implements Egress {
  readonly #options: EgressOptions;
  /** For captures and callers' proxies. */
  readonly #forCaptures: Judging;
  /** For the server's own requests: an allowed intranet is open to captures, not to webhooks. */
  readonly #forServer: Judging;
  readonly #proxies = new Set<LoopbackCaptureProxy>();
  readonly #ca: string[] | undefined;
  #closed = false;

  constructor(options: EgressOptions, ca: string[] | undefined) {
    const rules = {
      deny: parseDestinations(options.denyDestinations ?? [], 'STILLFRAME_DENY_DESTINATIONS'),
      local: options.local ?? new LocalNetworks(),
      resolve: createResolve(options.dnsServers),
    };
    this.#options = options;
    this.#forCaptures = { ...rules, allow: parseDestinations(options.allowDestinations) };
    this.#forServer = { ...rules, allow: NO_DESTINATIONS };
    this.#ca = ca;
  }

  refusesLiterally(text: string, requester: Requester = {}): boolean {
    const url = /^https?:/i.test(text) ? readUrl(text) : null;
    if (url === null) return true;
    const port = portOf(url);
    const known = judgeSpelling(this.#forCaptures, readHost(url.hostname), port);
    if (known === null || known.ok) return false;
    logRefusal(
      this.#options.log,
      { host: url.hostname, port, reason: known.reason },
      { explanation: known.explanation, to: 'captures', requester },
    );
    return true;
  }

  proxyProblem(server: string): string | null {
    return proxyProblem(this.#forCaptures, server);
  }

  async judgeHost(host: string, port: number, requester: Requester = {}): Promise<HostVerdict> {
    const verdict = await judgeInConstantTime(this.#forServer, { host, port });
    if (!verdict.ok)
      logRefusal(
        this.#options.log,
        { host, port, reason: verdict.reason },
        { explanation: verdict.explanation, to: 'callbacks', requester },
      );
    return verdict;
  }

  async openCaptureProxy(): Promise<CaptureProxy> {
    if (this.#closed) throw new Error('egress is closed');
    const { resolve } = this.#forCaptures;
    const captureProxy = await LoopbackCaptureProxy.open({
      resolve,
      judge: (host, port, { reach, resolve, since }) =>
        judgeInConstantTime({ ...this.#rulesFor(reach), resolve }, { host, port, since, proxies: this.#proxies }),
      isAllowed: (url, lookUp) =>
        isAllowed({ ...this.#forCaptures, resolve: lookUp }, new URL(url).hostname, portOf(new URL(url))),
      maxBytes: this.#options.maxBytesPerCapture ?? CAPTURE_MAX_BYTES,
      ca: this.#ca,
      log: this.#options.log,
      closed: () => this.#proxies.delete(captureProxy),
    });
    this.#proxies.add(captureProxy);
    return captureProxy;
  }

  async fetch(request: PublicFetch): Promise<PublicResponse> {
    const url = new URL(request.url);
    const refuse = (reason: Refusal['reason'], explanation?: string) => {
      const refusal = { host: url.hostname, port: portOf(url), reason };
      if (!request.quiet)
        logRefusal(this.#options.log, refusal, { explanation, to: 'callbacks', requester: request.requester ?? {} });
      return new EgressRefused(refusal);
    };
    if (!/^https?:$/.test(url.protocol)) throw refuse('scheme');
    const exempt = request.allowedOrigins.includes(url.origin);
    const route = request.via === null ? this.#direct(url, exempt, refuse) : throughProxy(request.via, url, exempt);
    return fetchPublic(route, request, this.#ca);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#proxies].map((captureProxy) => captureProxy[Symbol.asyncDispose]()));
  }

  #direct(url: URL, exempt: boolean, refuse: (reason: Refusal['reason'], explanation?: string) => Error): FetchRoute {
    const judging = exempt ? this.#rulesFor('anywhere') : this.#forServer;
    const connect = async (signal: AbortSignal) => {
      const verdict = await judgeInConstantTime(judging, { host: url.hostname, port: portOf(url) });
      if (verdict.ok) return dial(verdict.addresses, portOf(url), signal);
      // A temporary failure of the name server does not refuse the destination, and is retried.
      if (verdict.reason === 'unresolvable' && verdict.temporary)
        throw new DialFailure('EAI_AGAIN', verdict.explanation ?? 'the look-up failed');
      throw refuse(verdict.reason, verdict.explanation);
    };
    return { connect, inAbsoluteForm: null };
  }

  #rulesFor(reach: Reach): Judging {
    if (typeof reach === 'object') return { ...this.#forServer, allow: reach };
    if (reach === 'allowed') return this.#forCaptures;
    return { ...this.#forServer, allow: reach === 'anywhere' ? ALL_DESTINATIONS : NO_DESTINATIONS };
  }
}

interface Question {
  host: string;
  port: number;
  /** performance.now() at the query. Default: now. */
  since?: number;
  /** Proxies that must not be reachable even if the operator allows loopback. */
  proxies?: ReadonlySet<LoopbackCaptureProxy>;
}

/** Checks a destination; all refusals take the same time. */
async function judgeInConstantTime(
  judging: Judging,
  { host, port, since = performance.now(), proxies }: Question,
): Promise<HostCheck> {
  const verdict = refuseOwnProxies(await judgeHost(judging, host, port), port, proxies);
  if (!verdict.ok) await delayRefusal(since);
  return verdict;
}

/** Even if the operator allows loopback, a page must not reach another capture's proxy. */
function refuseOwnProxies(
  verdict: HostCheck,
  port: number,
  proxies: ReadonlySet<LoopbackCaptureProxy> = new Set(),
): HostCheck {
  const isOwnProxy =
    verdict.ok &&
    verdict.addresses.some(reachesOwnProxies) &&
    [...proxies].some((captureProxy) => captureProxy.port === port);
  return isOwnProxy
    ? { ok: false, reason: 'blocked_address', temporary: false, explanation: 'it is a proxy port of this server' }
    : verdict;
}

function throughProxy(captureProxy: CaptureProxy, url: URL, exempt: boolean): FetchRoute {
  if (!(captureProxy instanceof LoopbackCaptureProxy))
    throw new TypeError('`via` must be a capture proxy of this server');
  const target: ProxyTarget = { host: url.hostname, port: portOf(url), exempt };
  return {
    connect: (signal) => captureProxy.connect(target, signal),
    inAbsoluteForm: url.protocol === 'http:' ? captureProxy.toProxy(target) : null,
  };
}

/** Proxies listen on 127.0.0.1 only, which the unspecified address reaches too; other loopback addresses may use the same port otherwise. */
function reachesOwnProxies(address: string): boolean {
  return ['127.0.0.1', '0.0.0.0'].includes(ipaddr.process(address).toString());
}

/**
 * Delays a refusal to a common, jittered time after the query, so that a private name, a missing one and one that was looked up in search
 * domains take the same time (decisions.md, Added).
 *
 * @param since performance.now() of the query
 */
async function delayRefusal(since: number): Promise<void> {
  const taken = performance.now() - since;
  await pause(Math.ceil((taken + 1) / STEP_MS) * STEP_MS + Math.random() * JITTER_MS - taken);
}
