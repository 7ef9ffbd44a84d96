import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { EgressRefused, type PublicFetch, type PublicResponse } from '../../src/egress/egress.js';
import { silentLog } from '../../src/log.js';
import type { AttemptOutcome, DueDelivery } from '../../src/store/store.js';
import { type DeliverDeps, deliver, retryAfterMs, SIGNATURE_HEADER, sign } from '../../src/webhook/deliver.js';
import { hasValidSignature, startReceiver } from '../fixtures/webhook-receiver.js';
import { aCompletedJob } from '../http/fake-services.js';
import { aDueDelivery, recordingStore, SECRET } from './due-delivery.js';
import { loopbackEgress } from './loopback-egress.js';

const NEVER = new AbortController().signal;
const NOW = 1_700_000_100_500;

/** Deps with a fixed clock and no jitter; the outcome of the one attempt is in `outcomes`. */
function setUp(overrides: Partial<DeliverDeps> = {}) {
  const store = recordingStore();
  const deps: DeliverDeps = {
    store,
    egress: { fetch: () => Promise.reject(new Error('not to be called')) },
    places: { baseUrl: 'https://shots.example' },
    allowedOrigins: [],
    backoffMs: [5_000, 30_000, 120_000, 600_000],
    timeoutMs: 10_000,
    version: '1.2.3',
    now: () => NOW,
    random: () => 0.5,
    log: silentLog(),
    ...overrides,
  };
  return { store, deps };
}

function answering(status: number, headers: Record<string, string> = {}): DeliverDeps['egress'] {
  return {
    fetch: async (): Promise<PublicResponse> => ({
      status,
      headers: new Headers(headers),
      body: new Uint8Array(),
      truncated: false,
    }),
  };
}

function failingWith(error: unknown): DeliverDeps['egress'] {
  return { fetch: () => Promise.reject(error) };
}

async function outcomeOf(
  overrides: Partial<DeliverDeps>,
  due: Partial<DueDelivery> = {},
): Promise<AttemptOutcome | undefined> {
  const { store, deps } = setUp(overrides);
  await deliver(deps, aDueDelivery(due), NEVER);
  return store.outcomes.at(-1)?.outcome;
}

test('an attempt posts the signed payload of a completed capture', async () => {
  await using receiver = await startReceiver();
  await using egress = loopbackEgress();
  const { store, deps } = setUp({ egress, allowedOrigins: [receiver.origin], now: Date.now });
  const due = aDueDelivery({ url: receiver.url('/hook?token=x') });
  await deliver(deps, due, NEVER);
  const [request] = receiver.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/hook?token=x' });
  expect(request?.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'stillframe/1.2.3' });
  expect(request && hasValidSignature(request, SECRET)).toBe(true);
  expect(request && hasValidSignature(request, 'whsec_another_secret')).toBe(false);
  const cdnUrl = 'https://shots.example/artifacts/abcdefghijklmnopqrstuvwxyz012345.webp';
  expect(request?.payload).toEqual({
    event: 'capture.completed',
    job_id: due.jobId,
    request_id: due.job.requestId,
    ok: true,
    mode: 'sync',
    attempts_made: 1,
    data: expect.objectContaining({ cdn_url: cdnUrl, width: 2560 }),
    duration_ms: 321,
    enqueued_at: 1_700_000_000_000,
    completed_at: 1_700_000_001_000,
    delivery_id: due.deliveryId,
    delivery_generation: 1,
  });
  expect(store.outcomes.at(-1)?.outcome).toEqual({ kind: 'delivered', status: 204 });
});

test('an attempt posts the error of a failed capture', async () => {
  await using receiver = await startReceiver();
  await using egress = loopbackEgress();
  const { deps } = setUp({ egress, allowedOrigins: [receiver.origin] });
  const error = { code: 'render_timeout', message: 'too slow', retriable: true, status: 504 } as const;
  const result = { outcome: { ok: false, error }, durationMs: 5, completedAt: 6, workerId: 'w' } as const;
  const job = aCompletedJob({ state: 'failed', result });
  await deliver(deps, aDueDelivery({ url: receiver.url(), job }), NEVER);
  expect(receiver.requests[0]?.payload).toMatchObject({
    event: 'capture.failed',
    ok: false,
    error: { code: 'render_timeout', message: 'too slow', retriable: true, request_id: job.requestId },
  });
  expect(receiver.requests[0]?.payload).not.toHaveProperty('data');
});

test('each attempt has its own signature', async () => {
  await using receiver = await startReceiver({ script: [{ status: 503 }, { status: 204 }] });
  await using egress = loopbackEgress();
  let now = NOW;
  const { deps, store } = setUp({ egress, allowedOrigins: [receiver.origin], now: () => now });
  await deliver(deps, aDueDelivery({ url: receiver.url() }), NEVER);
  now += 60_000;
  await deliver(deps, aDueDelivery({ url: receiver.url(), attempt: 2 }), NEVER);
  const [first, second] = receiver.requests.map((request) => String(request.headers['x-service-signature']));
  expect(first).toMatch(/^t=1700000100,/);
  expect(second).toMatch(/^t=1700000160,/);
  expect(receiver.requests.every((request) => hasValidSignature(request, SECRET, now))).toBe(true);
  expect(store.outcomes).toMatchObject([{ outcome: { kind: 'retry' } }, { outcome: { kind: 'delivered' } }]);
});

const outcomes: [number[], AttemptOutcome['kind'], string][] = [
  [[200, 201, 202, 204, 206, 226, 299], 'delivered', ''],
  [[429, 500, 501, 502, 503, 504, 507, 599], 'retry', ''],
  [[301, 302, 303, 307, 308], 'failed', ' Redirects are not followed.'],
  [[300, 304, 305, 400, 401, 403, 404, 408, 410, 413, 418, 425, 451, 499], 'failed', ''],
];
test.each(outcomes)('the outcome of status %j is: %s', async (statuses, kind, hint) => {
  for (const status of statuses) {
    const outcome = await outcomeOf({ egress: answering(status, { location: 'https://example.com/elsewhere' }) });
    const error = kind === 'delivered' ? {} : { error: `The receiver answered ${status}.${hint}` };
    expect(outcome).toEqual({ kind, status, ...error, ...(kind === 'retry' ? { nextAttemptAt: NOW + 5_000 } : {}) });
  }
});

/** How long the next attempt waits, in ms. */
async function waitOf(overrides: Partial<DeliverDeps>, due: Partial<DueDelivery> = {}): Promise<number | null> {
  const outcome = await outcomeOf({ egress: answering(503), ...overrides }, { maxAttempts: 10, ...due });
  return outcome?.kind === 'retry' ? outcome.nextAttemptAt - NOW : null;
}

test('the delay after an attempt grows, and varies by a fifth either way', async () => {
  const attempts = [1, 2, 3, 4, 5, 9].map((attempt) => waitOf({}, { attempt }));
  expect(await Promise.all(attempts)).toEqual([5_000, 30_000, 120_000, 600_000, 600_000, 600_000]);
  const chances = [0, 0.75, 0.999_999].map((random) => waitOf({ random: () => random }));
  expect(await Promise.all(chances)).toEqual([4_000, 5_500, 6_000]);
});

test('Retry-After delays the next attempt, but makes none earlier', async () => {
  for (const status of [429, 503]) {
    const waits = ['60', '1'].map((value) => waitOf({ egress: answering(status, { 'retry-after': value }) }));
    expect(await Promise.all(waits)).toEqual([60_000, 5_000]);
  }
});

test('the last attempt fails for good, with its status and error', async () => {
  const spent = { attempt: 5, maxAttempts: 5 };
  expect(await outcomeOf({ egress: answering(503) }, spent)).toEqual({
    kind: 'failed',
    status: 503,
    error: 'The receiver answered 503.',
  });
  const error = 'The connection to the receiver failed.';
  expect(await outcomeOf({ egress: failingWith(new Error('x')) }, spent)).toEqual({
    kind: 'failed',
    status: null,
    error,
  });
});

test('a refused address and a missing name are tried again with the same message', async () => {
  const refusedAddress = new EgressRefused({ host: 'internal.example', port: 443, reason: 'blocked_address' });
  const unresolvable = new EgressRefused({ host: 'missing.example', port: 443, reason: 'unresolvable' });
  const notFound = Object.assign(new Error('getaddrinfo ENOTFOUND missing.example'), { code: 'ENOTFOUND' });
  const outcomes = [];
  for (const error of [refusedAddress, unresolvable, notFound, new TypeError('fetch failed', { cause: notFound })]) {
    outcomes.push(await outcomeOf({ egress: failingWith(error) }, { url: 'https://hooks.example/x?token=1' }));
  }
  const error = 'The host name "hooks.example" could not be resolved to a public address.';
  expect(outcomes).toEqual(Array(4).fill({ kind: 'retry', status: null, error, nextAttemptAt: NOW + 5_000 }));
});

test('a failure is reported as a fixed text, without addresses, paths or secrets', async () => {
  const withCode = (code: string) => Object.assign(new Error(`boom 10.0.0.7:8443 /etc/hosts ${SECRET}`), { code });
  for (const code of ['ECONNREFUSED', 'CERT_HAS_EXPIRED', 'UND_ERR_SOCKET', 'HPE_INVALID_CONSTANT', 'ENEW', '']) {
    const outcome = await outcomeOf({ egress: failingWith(withCode(code)) });
    expect(outcome?.kind).toBe('retry');
    expect(JSON.stringify(outcome)).not.toMatch(/10\.0|etc|whsec/);
  }
});

test('an origin that the operator no longer allows is not called', async () => {
  const outcome = await outcomeOf({}, { url: 'http://127.0.0.1:4000/hook' });
  expect(outcome).toMatchObject({ kind: 'failed', status: null });
});

test('an attempt makes one request, with limited time, size and origins, and no proxy', async () => {
  const orders: PublicFetch[] = [];
  await outcomeOf({
    timeoutMs: 1_234,
    egress: {
      fetch: async (order) => {
        orders.push(order);
        return { status: 204, headers: new Headers(), body: new Uint8Array(), truncated: false };
      },
    },
  });
  expect(orders).toHaveLength(1);
  expect(orders[0]).toMatchObject({
    method: 'POST',
    timeoutMs: 1_234,
    maxBytes: 65_536,
    via: null,
    allowedOrigins: [],
  });
});

test('an attempt that a stop interrupts is not recorded, so that it is made again', async () => {
  await using receiver = await startReceiver({ script: ['hang'] });
  await using egress = loopbackEgress();
  const { store, deps } = setUp({ egress, allowedOrigins: [receiver.origin] });
  const stop = new AbortController();
  const delivering = deliver(deps, aDueDelivery({ url: receiver.url() }), stop.signal);
  await receiver.received(1);
  stop.abort();
  await delivering;
  expect(store.outcomes).toEqual([]);
});

test('a failure of the store is passed to the caller', async () => {
  const { deps } = setUp({ egress: answering(204) });
  const due = aDueDelivery();
  const broken = { ...deps, store: { recordAttempt: () => Promise.reject(new Error('disk full')) } };
  await expect(deliver(broken, due, NEVER)).rejects.toThrow('disk full');
});

const LONG_AGO = Date.parse('Sun, 06 Nov 1994 08:49:37 GMT');

test.each([
  [7_000, ['7', ' 7 ']],
  [60_000, ['Sun, 06 Nov 1994 08:50:37 GMT', 'Sunday, 06-Nov-94 08:50:37 GMT', 'Sun Nov  6 08:50:37 1994']],
  [2_099_000, ['2099']],
  [3_600_000, ['3600', '3601', '99999999999999999999999999', 'Sun, 06 Nov 1994 12:50:37 GMT']],
  [
    0,
    [
      '0',
      '-5',
      '1.5',
      '1e9',
      'soon',
      'busy 2099',
      '',
      null,
      'Sun, 06 Nov 1994 08:00:00 GMT',
      'Sun, 99 Nov 1994 99:99:99 GMT',
    ],
  ],
])('%d ms is the wait for Retry-After %j', (wait, values) => {
  for (const value of values) expect(retryAfterMs(value, LONG_AGO), `${value}`).toBe(wait);
});

test('a signature covers the timestamp, a period and the exact body', () => {
  const body = '{"ok":true,"text":"ünïcödé ✓"}';
  const digest = createHmac('sha256', 'whsec_0123456789abcdef').update(`1700000000.${body}`, 'utf8').digest('hex');
  expect(sign('whsec_0123456789abcdef', body, 1_700_000_000_999)).toBe(`t=1700000000,v1=${digest}`);
  expect(SIGNATURE_HEADER).toBe('x-service-signature');
});

test('a signature agrees with an independent digest', () => {
  // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 'a secret of 24 characters'
  expect(sign('a secret of 24 characters', '{"a":1}', 1_700_000_000_000)).toBe(
    't=1700000000,v1=8a5b0d5add80ef5795351ce2acb861ed89d5dfee54136fe8b910f1011b0068b1',
  );
});
