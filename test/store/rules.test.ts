import { describe, expect, test } from 'vitest';
import { periodEnd } from '../../src/contract/pricing.js';
import { type FoundJob, newJobRow, type Picture, toSnapshot } from '../../src/store/rows.js';
import { attemptFields, pausedUntil, totalsOf } from '../../src/store/rules/deliveries.js';
import {
  digestsOf,
  refuseOverLinksLimit,
  refuseOverQuota,
  replayOrConflict,
  slotTimeOf,
  toProgress,
} from '../../src/store/rules/jobs.js';
import { decryptOptions, encryptOptions, vaultOf } from '../../src/store/vault.js';
import { aNewJob, NOON, SECRET_KEY, someOptions } from './factories.js';

const CALLER = { accountId: 'acc_1', keyId: 'key_1' };
const VAULT = vaultOf([SECRET_KEY]);
const OWN_RENDER = { kept: null, leaderId: null };
const PICTURE: Picture = {
  jobId: 'job_0',
  renderedAt: NOON,
  workerId: 'w',
  artifactName: 'a.webp',
  data: '{"bytes":7}',
  goneAt: null,
};

function aFoundJob(given: Partial<FoundJob> = {}): FoundJob {
  const job = aNewJob(CALLER, { identity: 'same' });
  return { ...newJobRow(job, digestsOf(VAULT, job), OWN_RENDER), seq: 1, paused: false, keptData: null, ...given };
}

describe('an acceptance', () => {
  test('replays a job for the same key and identity, and names it in a conflict otherwise', () => {
    const known = aFoundJob();
    const answer = (given: object) => replayOrConflict(VAULT, aNewJob(CALLER, { identity: 'same', ...given }), known);
    expect(answer({})).toMatchObject({ kind: 'replayed', job: { id: known.id } });
    expect(answer({ identity: 'another' })).toEqual({
      kind: 'conflict',
      jobId: known.id,
      sameKey: true,
      isRemoved: false,
    });
    expect(answer({ keyId: 'key_2' })).toEqual({ kind: 'conflict', jobId: known.id, sameKey: false, isRemoved: false });
  });

  test('may use the last credit of the account and of the links of its key, and no more', () => {
    const job = aNewJob(CALLER, { price: 3 });
    const resetsAt = periodEnd(NOON);
    expect(refuseOverQuota(job, { quota: 10, used: 4, reserved: 3 })).toBeNull();
    expect(refuseOverQuota(job, { quota: 9, used: 4, reserved: 3 })).toEqual({
      kind: 'quota_exceeded',
      quota: 9,
      used: 4,
      reserved: 3,
      resetsAt,
    });
    expect(refuseOverQuota(job, { quota: null, used: 1e9, reserved: 0 })).toBeNull();
    expect(refuseOverLinksLimit(job, { limit: 5, used: 2 })).toBeNull();
    expect(refuseOverLinksLimit(job, { limit: 5, used: 3 })).toEqual({
      kind: 'links_limit_exceeded',
      limit: 5,
      used: 3,
      resetsAt,
    });
    expect(refuseOverLinksLimit(job, { limit: null, used: 1e9 })).toBeNull();
  });
});

describe('the row of a new job', () => {
  const job = aNewJob(CALLER, {
    mode: 'sync',
    options: someOptions({ html: '<p>SECRET', baseUrl: 'https://example.com/' }),
  });
  const digests = digestsOf(VAULT, job);

  test('waits in its lane, without the URL of an HTML document, or behind the job that renders for it', () => {
    expect(newJobRow(job, digests, OWN_RENDER)).toMatchObject({
      state: 'prioritized',
      progress: 0,
      endedAt: null,
      url: 'about:html',
    });
    expect(newJobRow(job, digests, { kept: null, leaderId: 'job_0' })).toMatchObject({
      state: 'prioritized',
      leaderId: 'job_0',
    });
  });

  test('has ended if a stored picture answers it', () => {
    const row = newJobRow(job, digests, { kept: PICTURE, leaderId: null });
    expect(row).toMatchObject({
      state: 'completed',
      progress: 100,
      endedAt: NOON,
      artifactName: 'a.webp',
      workerId: 'w',
    });
    const { result } = toSnapshot({ ...row, paused: false, keptData: PICTURE.data });
    expect(result).toMatchObject({
      outcome: { ok: true, data: { bytes: 7, cached: true } },
      durationMs: 0,
      completedAt: NOON,
    });
  });
});

test('a queued job is reported as paused while the queue is paused, and no job has lasted less than no time', () => {
  expect(toSnapshot(aFoundJob({ paused: true })).state).toBe('paused');
  expect(toSnapshot(aFoundJob({ state: 'active', paused: 1 })).state).toBe('active');
  const failed = aFoundJob({ state: 'failed', endedAt: NOON - 1_000, error: '{"code":"target_error"}' });
  expect(toSnapshot(failed).result).toMatchObject({
    durationMs: 0,
    outcome: { ok: false, error: { code: 'target_error' } },
  });
});

test('an order is readable for its own job and key only, with defaults for options that it lacks', () => {
  const sealed = encryptOptions(VAULT, 'job_1', { ...someOptions(), delay: 7 });
  expect(decryptOptions(VAULT, 'job_1', sealed)).toMatchObject({ delay: 7, format: someOptions().format });
  expect(decryptOptions(VAULT, 'job_2', sealed)).toBeNull();
  expect(decryptOptions(vaultOf([Buffer.alloc(32, 8)]), 'job_1', sealed)).toBeNull();
  expect(decryptOptions(vaultOf([Buffer.alloc(32, 8), SECRET_KEY]), 'job_1', sealed)).toMatchObject({ delay: 7 });
});

test('a claim reports at most 99 %, and a slot time that a jump of the clock made implausible is unknown', () => {
  expect([-3, 41.6, 250].map(toProgress)).toEqual([0, 42, 99]);
  const job = { claimedAt: NOON, bookedMs: 1_000 };
  expect([NOON + 700, NOON - 1, NOON + 180_001].map((now) => slotTimeOf(job, now))).toEqual([700, null, null]);
  expect(slotTimeOf({ claimedAt: null, bookedMs: null }, NOON)).toBeNull();
});

test('an attempt ends a delivery or makes it due again, and adds to the totals', () => {
  const retry = { kind: 'retry', status: 503, error: 'busy', nextAttemptAt: NOON + 5 } as const;
  const failed = { kind: 'failed', status: null, error: 'reset' } as const;
  const delivered = { kind: 'delivered', status: 204 } as const;
  expect(attemptFields(retry, NOON)).toEqual([503, 'busy', NOON, 'pending', NOON + 5, null]);
  expect(attemptFields(failed, NOON)).toEqual([null, 'reset', NOON, 'failed', null, null]);
  expect(attemptFields(delivered, NOON)).toEqual([204, null, NOON, 'delivered', null, NOON]);
  expect([retry, failed, delivered].map(totalsOf)).toEqual([
    ['webhooks/errors'],
    ['webhooks/errors', 'webhooks/failed'],
    ['webhooks/delivered'],
  ]);
});

test('a receiver is paused after eight attempts without a response, twice as long each time up to five minutes', () => {
  expect([7, 8, 9, 14, 100].map((silences) => pausedUntil(silences, NOON) - NOON)).toEqual([
    -NOON,
    5_000,
    10_000,
    300_000,
    300_000,
  ]);
});
