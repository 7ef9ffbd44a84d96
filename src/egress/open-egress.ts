import { rootCertificates } from 'node:tls';
import ipaddr from 'ipaddr.js';
import type { Log } from '../log.js';
import { parseAllowList } from './allow-list.js';
import { DialFailure, dial } from './dial.js';
import { GateDoor } from './door.js';
import { type Door, type Egress, EgressRefused, type HostVerdict, type PublicFetch, type PublicResponse, type Refusal } from './egress.js';
import { type FetchRoute, fetchPublic } from './fetch-public.js';
import { readHost } from './host-name.js';
import { type Judging, judgeHost, judgeSpelling } from './judge-host.js';
import { logRefusal } from './log-refusal.js';
import { proxyProblem } from './proxy-server.js';
import { createResolve } from './resolve-host.js';

export interface EgressOptions {
  /** STILLFRAME_ALLOW_DESTINATIONS: what captures and callers' proxies may reach although special-purpose. */
  allowDestinations: string[];
  /** `ip[:port]` each; none: the system's resolver. */
  dnsServers: string[];
  /** Both directions of one capture together. */
  maxBytesPerCapture: number;
  log: Log;
  /** PEM certificates to trust beside the system's own (tests; operators have NODE_EXTRA_CA_CERTS). */
  ca?: string;
}

/** @throws ConfigError for an unreadable destination */
export async function openEgress(options: EgressOptions): Promise<Egress> {
  return new Gate(options);
}

class Gate implements Egress {
  readonly #options: EgressOptions;
  /** Captures and callers' proxies. */
  readonly #forCaptures: Judging;
  /** The server's own requests: an operator's intranet is opened to pictures, not to anyone's webhook. */
  readonly #forServer: Judging;
  readonly #doors = new Set<GateDoor>();
  readonly #ca: string[] | undefined;
  #closed = false;

  constructor(options: EgressOptions) {
    const resolve = createResolve(options.dnsServers);
    this.#options = options;
    this.#forCaptures = { allow: parseAllowList(options.allowDestinations), resolve };
    this.#forServer = { allow: parseAllowList([]), resolve };
    this.#ca = options.ca === undefined ? undefined : [...rootCertificates, options.ca];
  }

  refusesLiterally(text: string): boolean {
    if (!/^https?:/i.test(text) || !URL.canParse(text)) return true;
    const url = new URL(text);
    const port = portOf(url);
    const known = judgeSpelling(this.#forCaptures.allow, readHost(url.hostname), port);
    if (known === null || known.ok) return false;
    logRefusal(this.#options.log, { host: url.hostname, port, reason: known.reason }, { why: known.why, to: 'captures' });
    return true;
  }

  proxyProblem(server: string): string | null {
    return proxyProblem(this.#forCaptures.allow, server);
  }

  async judgeHost(host: string, port: number): Promise<HostVerdict> {
    const verdict = await judgeHost(this.#forServer, host, port);
    if (!verdict.ok) logRefusal(this.#options.log, { host, port, reason: verdict.reason }, { why: verdict.why, to: 'callbacks' });
    return verdict;
  }

  async openDoor(): Promise<Door> {
    if (this.#closed) throw new Error('egress is closed');
    const door = await GateDoor.open({
      judge: async (host, port, exempt) => {
        if (exempt) return judgeHost({ ...this.#forCaptures, allow: parseAllowList(['*']) }, host, port);
        return this.#refuseDoors(await judgeHost(this.#forCaptures, host, port), port);
      },
      maxBytes: this.#options.maxBytesPerCapture,
      ca: this.#ca,
      log: this.#options.log,
      closed: () => this.#doors.delete(door),
    });
    this.#doors.add(door);
    return door;
  }

  async fetch(request: PublicFetch): Promise<PublicResponse> {
    const url = new URL(request.url);
    const refuse = (reason: Refusal['reason'], why?: string) => {
      const refusal = { host: url.hostname, port: portOf(url), reason };
      logRefusal(this.#options.log, refusal, { why, to: 'callbacks' });
      return new EgressRefused(refusal);
    };
    if (!/^https?:$/.test(url.protocol)) throw refuse('scheme');
    const exempt = request.allowedOrigins.includes(url.origin);
    const route = request.via === null ? this.#direct(url, exempt, refuse) : throughDoor(request.via, url, exempt);
    return fetchPublic(route, request, this.#ca);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#doors].map((door) => door[Symbol.asyncDispose]()));
  }

  #direct(url: URL, exempt: boolean, refuse: (reason: Refusal['reason'], why?: string) => Error): FetchRoute {
    const judging = exempt ? { ...this.#forServer, allow: parseAllowList(['*']) } : this.#forServer;
    const connect = async (signal: AbortSignal) => {
      const verdict = await judgeHost(judging, url.hostname, portOf(url));
      if (verdict.ok) return dial(verdict.addresses, portOf(url), signal);
      // A receiver is retried by its error; a name server that could not say is no refusal of the destination.
      if (verdict.reason === 'unresolvable' && verdict.temporary) throw new DialFailure('EAI_AGAIN', verdict.why ?? 'the look-up failed');
      throw refuse(verdict.reason, verdict.why);
    };
    return { connect, inAbsoluteForm: null };
  }

  /** Where an operator allows loopback, a page must still not come back in by another capture's door. */
  #refuseDoors(verdict: Awaited<ReturnType<typeof judgeHost>>, port: number): typeof verdict {
    const isDoor = verdict.ok && verdict.addresses.some(reachesDoors) && [...this.#doors].some((door) => door.port === port);
    return isDoor ? { ok: false, reason: 'blocked_address', temporary: false, why: 'it is one of our own doors' } : verdict;
  }
}

function throughDoor(door: Door, url: URL, exempt: boolean): FetchRoute {
  if (!(door instanceof GateDoor)) throw new TypeError('this door is none of ours');
  const target = { host: url.hostname, port: portOf(url), plain: url.protocol === 'http:', exempt };
  return {
    connect: (signal) => door.connect(target, signal),
    inAbsoluteForm: target.plain ? door.toProxy(target) : null,
  };
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/** Doors listen on 127.0.0.1 alone: another loopback address may have the same port for something else. The unspecified one leads there too. */
function reachesDoors(address: string): boolean {
  return ['127.0.0.1', '0.0.0.0'].includes(ipaddr.process(address).toString());
}
