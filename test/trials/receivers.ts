/**
 * Trial "receivers": scripted webhook receivers, well and badly behaved, each met with one attempt. Every attempt must end as
 * interface.md, Webhook delivery states, says, within its time limit and half a second, with at most 64 KiB of the answer read and
 * no redirect followed.
 *
 * Sabotage that turns it red: take `timeoutMs` out of the fetch, follow redirects, or read the whole body.
 */
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Egress, PublicFetch } from '../../src/egress/egress.js';
import { openEgress } from '../../src/egress/open-egress.js';
import { silentLog } from '../../src/log.js';
import type { AttemptOutcome } from '../../src/store/store.js';
import { ANSWER_LIMIT_BYTES, deliver } from '../../src/webhook/deliver.js';
import { inLanes } from '../egress/in-lanes.js';
import { startDnsServer } from '../fixtures/dns-server.js';
import { listen } from '../fixtures/listen.js';
import { TLS_IDENTITY } from '../fixtures/tls-identity.js';
import { type Behavior, hasValidSignature, type Receiver, startReceiver } from '../fixtures/webhook-receiver.js';
import { aCompletedJob } from '../http/fake-services.js';
import { aDueDelivery, recordingStore } from '../webhook/due-delivery.js';
import { allOf, faultsOf, type TrialResult } from './trial-result.js';

interface Case {
  name: string;
  /** How the receiver behaves, or where the delivery is sent when there is none. */
  meets: Behavior | URL;
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
  const resolver = { allowDestinations: [], dnsServers: [names.address], maxBytesPerCapture: 1, log: silentLog() };
  await using egress = await openEgress(resolver);
  const cases = casesFor(canary, places);
  const problems: string[] = [];
  const figures = {
    receivers: cases.length,
    longest_attempt_ms: 0,
    most_bytes_kept: 0,
    most_bytes_sent: 0,
    redirects_followed: 0,
  };
  const meetOne = async (one: Case) => {
    const met = await meet(one, egress, options);
    problems.push(...met.problems);
    for (const name of ['longest_attempt_ms', 'most_bytes_kept', 'most_bytes_sent'] as const)
      figures[name] = Math.max(figures[name], met[name]);
  };
  // A few at once: the receivers live in this process too, and must not be what an attempt waits for.
  const [endless, others] = [true, false].map((isEndless) =>
    cases.filter((one) => (one.endless ?? false) === isEndless),
  );
  await inLanes(others ?? [], AT_ONCE, meetOne);
  await Promise.all((endless ?? []).map(meetOne));
  figures.redirects_followed = canary.requests.length;
  if (canary.requests.length > 0) problems.push(`${canary.requests.length} redirects were followed`);
  return { figures, problems };
}

function casesFor(canary: Receiver, places: Places): Case[] {
  const answers = (statuses: number[], expect: Case['expect'], headers?: Record<string, string>): Case[] =>
    statuses.map((status) => ({ name: `${status}`, meets: { status, ...(headers && { headers }) }, expect }));
  const busy = (retryAfter: string, waits: number): Case => {
    const meets = { status: 503, headers: { 'retry-after': retryAfter } };
    return { name: `503 retry-after ${retryAfter}`, meets, expect: 'retry', waits };
  };
  /** The names of behaviors, or of places where the delivery is sent. */
  const retries = (names: string, says = /./): Case[] =>
    names.split(', ').map((name) => ({ name, meets: places.urls[name] ?? (name as Behavior), expect: 'retry', says }));
  const endless = (cases: Case[]): Case[] => cases.map((one) => ({ ...one, endless: true }));
  return [
    ...answers([200, 201, 202, 204, 299], 'delivered'),
    ...answers([301, 302, 303, 307, 308], 'failed', { location: canary.url('/canary') }),
    ...answers([300, 304, 400, 401, 403, 404, 405, 408, 409, 410, 418, 425, 499], 'failed'),
    ...answers([429, 500, 501, 502, 503, 504, 599], 'retry'),
    busy('60', 60_000),
    busy('7200', 3_600_000),
    busy(new Date(Date.now() + 120_000).toUTCString(), 60_000),
    busy('soon', BACKOFF_MS * 0.8),
    busy('-1', BACKOFF_MS * 0.8),
    {
      name: 'refresh header',
      meets: { status: 200, headers: { refresh: `0; url=${canary.url()}` } },
      expect: 'delivered',
    },
    ...(['huge body', 'gzip bomb'] as const).map((name): Case => ({ name, meets: name, expect: 'delivered' })),
    ...retries('huge headers, many headers, garbage, short body, bad chunks, huge error body, plain HTTP'),
    ...retries('reset, close', /closed the connection/),
    ...retries('endless informational', /response are too large/),
    ...retries('connection refused', /refused/),
    ...retries('TLS without a certificate, TLS with an untrusted certificate', /TLS/),
    ...retries('missing name, private name, mixed name, looped name, broken name, private address', /public address/),
    ...endless(retries('hang, drip body, drip headers, TLS that never speaks', /in time/)),
    ...endless(retries('silent name')),
  ];
}

async function meet(one: Case, egress: Egress, options: typeof AS_PROMISED) {
  const script = one.meets instanceof URL ? null : one.meets;
  await using receiver = await startReceiver(script === null ? {} : { script: [script] });
  const url = one.meets instanceof URL ? one.meets.href : receiver.url();
  let keptBytes = 0;
  const fetch = async (order: PublicFetch) => {
    const response = await egress.fetch(order);
    keptBytes = response.body.byteLength;
    return response;
  };
  const timeoutMs = one.endless === true ? options.timeoutMs : AS_PROMISED.timeoutMs;
  const store = recordingStore();
  // An address that is not of this machine is judged like any other.
  const allowedOrigins = new URL(url).hostname === '127.0.0.1' ? [new URL(url).origin] : [];
  const deps = {
    store,
    egress: { fetch },
    timeoutMs,
    version: '0.0.0',
    log: silentLog(),
    now: Date.now,
    random: Math.random,
  };
  const start = performance.now();
  await deliver(
    { ...deps, places: { baseUrl: 'http://127.0.0.1' }, allowedOrigins, backoffMs: [BACKOFF_MS] },
    aDueDelivery({ url, secret: SECRET, job: aCompletedJob({ webhookUrl: url }) }),
    new AbortController().signal,
  );
  const ms = Math.round(performance.now() - start);
  await receiver.quiet();
  const { outcome, at } = store.outcomes[0] ?? { at: 0 };
  const waited = outcome?.kind === 'retry' ? outcome.nextAttemptAt - at : Number.POSITIVE_INFINITY;
  const said = outcome !== undefined && outcome.kind !== 'delivered' ? outcome.error : '';
  const faults = faultsOf([
    [`${JSON.stringify(outcome)}, not ${one.expect}`, outcome?.kind !== one.expect],
    ['comes back too early', waited < (one.waits ?? 0) - 2_000],
    [`says ${said}`, one.says?.test(said) === false],
    [`took ${ms} ms`, ms > timeoutMs + options.graceMs],
    [`kept ${keptBytes} bytes`, keptBytes > ANSWER_LIMIT_BYTES],
    [`took ${receiver.bytesSent} bytes`, receiver.bytesSent > BUFFERED_BYTES],
    ['badly signed', !receiver.requests.every((request) => hasValidSignature(request, SECRET))],
    [`${receiver.requests.length} requests`, receiver.requests.length !== (script === null ? 0 : 1)],
  ]);
  const problems = faults.map((fault) => `${one.name}: ${fault}`);
  return { longest_attempt_ms: ms, most_bytes_kept: keptBytes, most_bytes_sent: receiver.bytesSent, problems };
}

type Places = Awaited<ReturnType<typeof openPlaces>>;

async function openPlaces() {
  const calm = (socket: Socket) => socket.on('error', () => undefined).resume();
  const plain = createServer((socket) => calm(socket).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const tls = createTlsServer({}, (socket) => socket.end()).on('tlsClientError', () => undefined);
  const untrusted = createTlsServer(TLS_IDENTITY, (socket) => socket.end()).on('tlsClientError', () => undefined);
  const servers = allOf(
    await Promise.all([plain, tls, untrusted, createServer(calm), createServer()].map((server) => listen(server))),
  );
  const ports = servers.all.map(({ port }) => port);
  await servers.all.at(-1)?.[Symbol.asyncDispose]();
  const names = [
    'plain HTTP',
    'TLS without a certificate',
    'TLS with an untrusted certificate',
    'TLS that never speaks',
  ];
  const urls: Record<string, URL> = {
    'connection refused': new URL(`http://127.0.0.1:${ports.at(-1)}/`),
    'private address': new URL('https://10.0.0.1/'),
  };
  for (const [nth, name] of names.entries()) urls[name] = new URL(`https://127.0.0.1:${ports[nth]}/`);
  for (const name of ['missing', 'private', 'mixed', 'looped', 'broken', 'silent'])
    urls[`${name} name`] = new URL(`https://${name}.example/`);
  return { urls, [Symbol.asyncDispose]: servers[Symbol.asyncDispose] };
}
