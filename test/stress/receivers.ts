/**
 * Trial "receivers": scripted webhook receivers, well and badly behaved, each met with one attempt. Every attempt must end as
 * interface.md, Webhook delivery states, says, within its time limit and half a second, with at most 64 KiB of the answer read and
 * no redirect followed.
 *
 * Sabotage that turns it red: take `timeoutMs` out of the fetch, follow redirects, or read the whole body.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Egress, PublicFetch } from '../../src/egress/egress.js';
import { openEgress } from '../../src/egress/open-egress.js';
import { silentLog } from '../../src/log.js';
import type { AttemptOutcome } from '../../src/store/store.js';
import { ANSWER_LIMIT_BYTES, deliver } from '../../src/webhook/deliver.js';
import { startDnsServer } from '../fixtures/dns-server.js';
import { TLS_IDENTITY } from '../fixtures/tls-identity.js';
import { type Behaviour, hasValidSignature, type Receiver, startReceiver } from '../fixtures/webhook-receiver.js';
import { aCompletedJob } from '../http/fake-services.js';
import { aDueDelivery, recordingStore } from '../webhook/due-delivery.js';
import type { TrialResult } from './trial-result.js';

interface Case {
  name: string;
  /** How the receiver behaves, or where the delivery is sent when there is none. */
  meets: Behaviour | { url: string };
  expect: AttemptOutcome['kind'];
  /** ms until the next attempt, at least. */
  waits?: number;
  says?: RegExp;
  /** Only the time limit ends it. */
  endless?: true;
}

const SECRET = 'whsec_trial_0123456789';
const BACKOFF_MS = 5_000;
const AT_ONCE = 4;
/** The most that the kernel's socket buffers hold of an unread response. */
const BUFFERED_BYTES = 16 * 1024 * 1024;

/** decisions.md, Webhooks: 10 s an attempt. A shorter limit is for receivers that never end their answer; the grace is by the clock. */
const AS_PROMISED = { timeoutMs: 10_000, graceMs: 500 };

export async function run(given: Partial<typeof AS_PROMISED> = {}): Promise<TrialResult> {
  const options = { ...AS_PROMISED, ...given };
  await using canary = await startReceiver();
  await using places = await openPlaces();
  await using names = await startDnsServer({
    'private.example': ['10.0.0.7'],
    'mixed.example': ['93.184.216.34', '10.0.0.7'],
    'looped.example': ['127.0.0.1'],
    'broken.example': 'SERVFAIL',
    'silent.example': 'SILENCE',
  });
  await using egress = await openEgress({
    allowDestinations: [],
    dnsServers: [names.address],
    maxBytesPerCapture: 1,
    log: silentLog(),
  });
  const cases = casesFor(canary, places);
  const results = await meetAll(cases, (one) => meet(one, egress, options));
  const problems = results.flatMap((result) => result.problems);
  if (canary.requests.length > 0) problems.push(`${canary.requests.length} redirects were followed`);
  return {
    figures: {
      receivers: cases.length,
      longest_attempt_ms: Math.round(Math.max(...results.map((result) => result.elapsedMs))),
      most_bytes_kept: Math.max(...results.map((result) => result.keptBytes)),
      most_bytes_sent: Math.max(...results.map((result) => result.sentBytes)),
      redirects_followed: canary.requests.length,
    },
    problems,
  };
}

/** A few at once: the receivers live in this process too, and must not be what an attempt waits for. */
async function meetAll(cases: readonly Case[], meetOne: (one: Case) => Promise<Met>): Promise<Met[]> {
  const results: Met[] = [];
  const endless = cases.filter((one) => one.endless === true);
  const others = cases.filter((one) => one.endless !== true);
  for (let at = 0; at < others.length; at += AT_ONCE) results.push(...(await Promise.all(others.slice(at, at + AT_ONCE).map(meetOne))));
  return [...results, ...(await Promise.all(endless.map(meetOne)))];
}

function casesFor(canary: Receiver, places: Places): Case[] {
  const answers = (statuses: number[], expect: Case['expect'], headers?: Record<string, string>): Case[] =>
    statuses.map((status) => ({ name: `${status}`, meets: { status, ...(headers === undefined ? {} : { headers }) }, expect }));
  const busy = (retryAfter: string, waits: number): Case => ({
    name: `503 retry-after ${retryAfter}`,
    meets: { status: 503, headers: { 'retry-after': retryAfter } },
    expect: 'retry',
    waits,
  });
  const behaves = (expect: Case['expect'], ...cases: [name: string, meets: Case['meets'], says?: RegExp][]): Case[] =>
    cases.map(([name, meets, says]) => ({ name, meets, expect, ...(says === undefined ? {} : { says }) }));
  const endless = (...cases: Case[]): Case[] => cases.map((one) => ({ ...one, endless: true }));
  const at = (scheme: string, port: number) => ({ url: `${scheme}://127.0.0.1:${port}/` });
  const inAMinute = new Date(Date.now() + 120_000).toUTCString();
  return [
    ...answers([200, 201, 202, 204, 299], 'delivered'),
    ...answers([301, 302, 303, 307, 308], 'failed', { location: canary.url('/canary') }),
    ...answers([300, 304, 400, 401, 403, 404, 405, 408, 409, 410, 418, 425, 499], 'failed'),
    ...answers([429, 500, 501, 502, 503, 504, 599], 'retry'),
    busy('60', 60_000),
    busy('7200', 3_600_000),
    busy(inAMinute, 60_000),
    busy('soon', BACKOFF_MS * 0.8),
    busy('-1', BACKOFF_MS * 0.8),
    { name: 'refresh header', meets: { status: 200, headers: { refresh: `0; url=${canary.url()}` } }, expect: 'delivered' },
    ...behaves('retry', ['4 MB header', 'huge headers'], ['10,000 headers', 'many headers'], ['garbage', 'garbage']),
    ...behaves('retry', ['short body', 'short body'], ['bad chunks', 'bad chunks'], ['1 GB error body', 'huge error body']),
    ...behaves('retry', ['reset', 'reset', /closed the connection/], ['close', 'close', /closed the connection/]),
    ...behaves('retry', ['endless 103', 'endless informational', /response are too large/]),
    ...behaves('delivered', ['1 GB body', 'huge body'], ['gzip bomb', 'gzip bomb']),
    ...endless(...behaves('retry', ['silence', 'hang', /in time/], ['drip body', 'drip body', /in time/])),
    ...endless(...behaves('retry', ['drip headers', 'drip headers', /in time/])),
    ...behaves('retry', ['connection refused', at('http', places.closedPort), /refused/], ['plain HTTP', at('https', places.plainPort)]),
    ...behaves('retry', ['TLS without a certificate', at('https', places.tlsPort), /TLS/]),
    ...behaves('retry', ['TLS with an untrusted certificate', at('https', places.untrustedPort), /TLS/]),
    ...endless(...behaves('retry', ['TLS that never speaks', at('https', places.silentPort), /in time/])),
    ...['missing', 'private', 'mixed', 'looped', 'broken'].flatMap((name) =>
      behaves('retry', [`${name} name`, { url: `https://${name}.example/` }, /public address/]),
    ),
    ...endless(...behaves('retry', ['name server that is silent', { url: 'https://silent.example/' }])),
    ...behaves('retry', ['private address', { url: 'https://10.0.0.1/' }, /public address/]),
  ];
}

interface Met {
  elapsedMs: number;
  keptBytes: number;
  sentBytes: number;
  problems: string[];
}

async function meet(one: Case, egress: Egress, options: typeof AS_PROMISED): Promise<Met> {
  const scripted = typeof one.meets === 'object' && 'url' in one.meets ? null : one.meets;
  await using receiver = await startReceiver(scripted === null ? {} : { script: [scripted] });
  const url = typeof one.meets === 'object' && 'url' in one.meets ? one.meets.url : receiver.url();
  let keptBytes = 0;
  const fetch = async (order: PublicFetch) => {
    const response = await egress.fetch(order);
    keptBytes = response.body.byteLength;
    return response;
  };
  const timeoutMs = one.endless === true ? options.timeoutMs : AS_PROMISED.timeoutMs;
  const { outcome, elapsedMs, at } = await attempt({ fetch }, url, timeoutMs);
  await receiver.quiet();
  const problems: string[] = [];
  const problem = (what: string) => problems.push(`${one.name}: ${what}`);
  if (outcome === undefined) problem('no outcome');
  else {
    if (outcome.kind !== one.expect) problem(`${JSON.stringify(outcome)}, not ${one.expect}`);
    if (outcome.kind === 'retry' && one.waits !== undefined && outcome.nextAttemptAt - at < one.waits - 2_000)
      problem('comes back too early');
    if (one.says !== undefined && !(outcome.kind !== 'delivered' && one.says.test(outcome.error)))
      problem(`says ${JSON.stringify(outcome)}`);
  }
  if (elapsedMs > timeoutMs + options.graceMs) problem(`took ${Math.round(elapsedMs)} ms`);
  if (keptBytes > ANSWER_LIMIT_BYTES) problem(`kept ${keptBytes} bytes`);
  if (receiver.bytesSent > BUFFERED_BYTES) problem(`took ${receiver.bytesSent} bytes`);
  if (scripted !== null && !receiver.requests.every((request) => hasValidSignature(request, SECRET))) problem('badly signed');
  if (scripted !== null && receiver.requests.length !== 1) problem(`${receiver.requests.length} requests`);
  return { elapsedMs, keptBytes, sentBytes: receiver.bytesSent, problems };
}

async function attempt(egress: Pick<Egress, 'fetch'>, url: string, timeoutMs: number) {
  const store = recordingStore();
  const start = performance.now();
  await deliver(
    {
      ...{ store, egress, timeoutMs, version: '0.0.0', log: silentLog(), now: Date.now, random: Math.random },
      ...{ places: { baseUrl: 'http://127.0.0.1' }, allowedOrigins: isForeign(url) ? [] : [new URL(url).origin], backoffMs: [BACKOFF_MS] },
    },
    aDueDelivery({ url, secret: SECRET, job: aCompletedJob({ webhookUrl: url }) }),
    new AbortController().signal,
  );
  const recorded = store.outcomes[0];
  return { outcome: recorded?.outcome, at: recorded?.at ?? 0, elapsedMs: performance.now() - start };
}

/** Not an address of this machine: judged like any other. */
function isForeign(url: string): boolean {
  return new URL(url).hostname !== '127.0.0.1';
}

type Places = Awaited<ReturnType<typeof openPlaces>>;

/** Addresses where nothing listens, or the wrong server. */
async function openPlaces() {
  const calm = (socket: Socket) => socket.on('error', () => undefined).resume();
  const plain = createServer((socket) => calm(socket).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const tls = createTlsServer({}, (socket) => socket.end()).on('tlsClientError', () => undefined);
  const untrusted = createTlsServer(TLS_IDENTITY, (socket) => socket.end()).on('tlsClientError', () => undefined);
  const kept = new Set<Socket>();
  const silent = createServer((socket) => void kept.add(calm(socket)));
  const gone = createServer();
  const [plainPort, tlsPort, untrustedPort] = await Promise.all([listen(plain), listen(tls), listen(untrusted)]);
  const [silentPort, closedPort] = await Promise.all([listen(silent), listen(gone)]);
  await close(gone);
  return {
    ...{ closedPort, plainPort, tlsPort, untrustedPort, silentPort },
    [Symbol.asyncDispose]: async () => {
      for (const socket of kept) socket.destroy();
      await Promise.all([plain, tls, untrusted, silent].map(close));
    },
  };
}

async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

function close(server: Server): Promise<unknown> {
  return new Promise((resolve) => server.close(resolve));
}
