import { lookup, Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import pTimeout from 'p-timeout';
import { codeOf } from './dial.js';

/** All addresses of one look-up, or the reason why there are none. */
export type Answer = { addresses: string[] } | { unresolvable: string; temporary: boolean };

/** Looks a name up once. Never rejects. */
export type Resolve = (name: string) => Promise<Answer>;

/** A name server may take long for a name that it has not cached. */
const SERVER_MAX_MS = 4_000;
/**
 * A query that is unanswered for this long may be lost, so it is repeated, to the next server if there is one. The first answer counts,
 * whichever query it belongs to.
 */
const ASKED_AGAIN_AFTER_MS = [300, 900];
/** The time for which the answer for one address family waits for the other (RFC 8305, 3): only checked addresses are connected to. */
const OTHER_FAMILY_WAIT_MS = 500;
/** The name has no address (of this family): final, as opposed to a server failure. */
const NO_ADDRESS = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'EAI_NONAME']);
const HOSTS_FILE =
  process.platform === 'win32' ? join('C:', 'Windows', 'System32', 'drivers', 'etc', 'hosts') : '/etc/hosts';
/** Time limit of further look-ups while the name server has left one unanswered. */
const SILENT_MAX_MS = 1_000;
const SILENCE = { unresolvable: 'ETIMEOUT', temporary: true };
/** Findings about destinations are kept for 30 s (decisions.md, Added), and within limits, since a page can make up many names. */
export const KEPT = { max: 2_000, ttl: 30_000, ttlResolution: 0 };

/**
 * @param servers `ip[:port]` each; empty: the system's resolver
 */
export function createResolve(servers: readonly string[]): Resolve {
  if (servers.length === 0) return createSystemResolve();
  const resolvers = openResolvers(servers.map((server) => (isIPv6(server) ? `[${server}]` : server)));
  return (name) => resolveByServers(resolvers, name);
}

/** One resolver per query, each beginning with another server. @param servers empty: the system's */
function openResolvers(servers: readonly string[]): Resolver[] {
  return [0, ...ASKED_AGAIN_AFTER_MS].map((_ms, turn) => {
    const resolver = new Resolver({ timeout: SERVER_MAX_MS, tries: 1 });
    const all = servers.length > 0 ? servers : resolver.getServers();
    const first = all.length === 0 ? 0 : turn % all.length;
    if (all.length > 0) resolver.setServers([...all.slice(first), ...all.slice(0, first)]);
    return resolver;
  });
}

/**
 * Queries the system's name servers directly: getaddrinfo() blocks one of only two threads that Node has for it, so two unanswered names of
 * one page would delay every other capture. It remains the fallback for the hosts file, search domains and mDNS.
 */
function createSystemResolve(): Resolve {
  const hosts = new SystemHosts();
  let resolvers: Resolver[] | null = null;
  return async (name) => {
    if (hosts.has(name)) return resolveBySystem(name);
    resolvers ??= openResolvers([]);
    const answer = await resolveByServers(resolvers, name);
    if ('addresses' in answer) return answer;
    // The machine may have changed networks: read its name servers again for the next query.
    if (answer.temporary) resolvers = null;
    return answer.temporary && answer.unresolvable !== 'ECONNREFUSED' ? answer : resolveBySystem(name);
  };
}

function resolveBySystem(name: string): Promise<Answer> {
  return toAnswer(lookup(name, { all: true, order: 'ipv4first' }).then((found) => found.map(({ address }) => address)));
}

/** The server follows CNAMEs; the addresses at the end of its answer are the ones that are checked. */
async function resolveByServers(resolvers: readonly Resolver[], name: string): Promise<Answer> {
  const v4 = queryInTurn(resolvers, (resolver) => resolver.resolve4(name));
  const v6 = queryInTurn(resolvers, (resolver) => resolver.resolve6(name));
  const first = await Promise.race([v4, v6]);
  const isWaitedFor = addressesOf(first).length === 0;
  const milliseconds = isWaitedFor ? Number.POSITIVE_INFINITY : OTHER_FAMILY_WAIT_MS;
  const answers = await Promise.all([v4, v6].map((query) => pTimeout(query, { milliseconds, message: false })));
  const addresses = answers.flatMap((answer) => (answer === undefined ? [] : addressesOf(answer)));
  if (addresses.length > 0) return { addresses };
  const failures = answers.flatMap((answer) => (answer !== undefined && 'unresolvable' in answer ? [answer] : []));
  return failures.find(({ temporary }) => temporary) ?? failures[0] ?? { unresolvable: 'ENOTFOUND', temporary: false };
}

function addressesOf(answer: Answer): string[] {
  return 'addresses' in answer ? answer.addresses : [];
}

function queryInTurn(
  resolvers: readonly Resolver[],
  query: (resolver: Resolver) => Promise<string[]>,
): Promise<Answer> {
  return new Promise((resolve) => {
    let underWay = 0;
    const timers: NodeJS.Timeout[] = [];
    const begin = async (resolver: Resolver) => {
      underWay++;
      const found = await toAnswer(query(resolver));
      underWay--;
      if ('unresolvable' in found && found.temporary && underWay > 0) return;
      for (const timer of timers) clearTimeout(timer);
      resolve(found);
    };
    resolvers.forEach((resolver, turn) => {
      const afterMs = ASKED_AGAIN_AFTER_MS[turn - 1];
      if (afterMs === undefined) void begin(resolver);
      else timers.push(setTimeout(() => void begin(resolver), afterMs));
    });
  });
}

async function toAnswer(query: Promise<string[]>): Promise<Answer> {
  try {
    return { addresses: await query };
  } catch (error) {
    const code = codeOf(error);
    return { unresolvable: code, temporary: !NO_ADDRESS.has(code) };
  }
}

/** Whether the machine's hosts file contains a name. Reloaded when it changes. */
export class SystemHosts {
  readonly #file: string;
  #names = new Set<string>();
  #readAt = -1;

  constructor(file = HOSTS_FILE) {
    this.#file = file;
  }

  has(name: string): boolean {
    const changedAt = statSync(this.#file, { throwIfNoEntry: false })?.mtimeMs ?? -1;
    if (changedAt !== this.#readAt) {
      this.#names = changedAt < 0 ? new Set() : readNames(this.#file);
      this.#readAt = changedAt;
    }
    return this.#names.has(name.toLowerCase());
  }
}

function readNames(file: string): Set<string> {
  const lines = readFileSync(file, 'utf8').toLowerCase().split('\n');
  return new Set(lines.flatMap((line) => (line.split('#', 1)[0] ?? '').trim().split(/\s+/).slice(1)));
}

/**
 * Look-ups of one capture. Concurrent look-ups of a name share one query, and its answer, positive or negative, is kept for 30 s. Nothing is
 * shared between captures. Since blocking scripts load one after the other, a silent name server may take its full time only once, not once
 * per host.
 */
export function rememberLookups(resolve: Resolve, now?: () => number): Resolve {
  const known = new LRUCache<string, Promise<Answer>>({ ...KEPT, ...(now === undefined ? {} : { perf: { now } }) });
  let isSilent = false;
  const resolveOnce: Resolve = async (name) => {
    const query = resolve(name).then((answer) => {
      isSilent = isSilence(answer);
      return answer;
    });
    return isSilent ? await pTimeout(query, { milliseconds: SILENT_MAX_MS, fallback: () => SILENCE }) : await query;
  };
  return (name) => {
    const kept = known.get(name);
    if (kept !== undefined) return kept;
    const answer = resolveOnce(name);
    known.set(name, answer);
    return answer;
  };
}

function isSilence(answer: Answer): boolean {
  return 'unresolvable' in answer && answer.unresolvable === SILENCE.unresolvable;
}
