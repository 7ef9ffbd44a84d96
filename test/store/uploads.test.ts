import { expect } from 'vitest';
import type { UploadResult } from '../../src/contract/capture-data.js';
import type { NewJob } from '../../src/store/store.js';
import {
  aCapture,
  aCaptured,
  aNewJob,
  aQueued,
  claimNext,
  claimOf,
  completeNext,
  NOON,
  RULES,
  someOptions,
} from './factories.js';
import { test as base } from './store-test.js';

const URL = 'https://bucket.example.com/a.webp?X-Amz-Signature=f00d';
const UPLOAD: UploadResult = {
  state: 'uploaded',
  url: 'https://bucket.example.com/a.webp',
  bytes: 1,
  attempts: 1,
  status: 200,
  error: null,
};
const options = someOptions({ upload: { url: URL, artifact: null } });

/** With the name of a stored picture of `page`. */
const test = base.extend(
  'stored',
  async ({ store, user }) => (await aCaptured(store, user, { cacheIdentity: 'page' })).name,
);

test('a job that uploads is queued although its picture is stored, whose name it gets', async ({
  store,
  user,
  stored,
}) => {
  expect(await store.accept(aNewJob(user, { cacheIdentity: 'page', options }), RULES)).toMatchObject({
    kind: 'queued',
  });
  expect((await claimNext(store)).options.upload).toEqual({ url: URL, artifact: stored });
});

test.for<[string, Partial<NewJob>]>([
  ['of another page', { cacheIdentity: 'other' }],
  ['that asks for a new picture', { cacheIdentity: 'page', cacheTtl: 0 }],
  ['whose picture is too old', { cacheIdentity: 'page', cacheTtl: 1, enqueuedAt: NOON + 1_001 }],
])('a job %s uploads its own picture', async ([, given], { store, user, stored }) => {
  expect(stored).toMatch(/webp$/);
  await aQueued(store, user, { ...given, options });
  expect((await claimNext(store, { now: NOON + 2_000 })).options.upload).toEqual({ url: URL, artifact: null });
});

test('a job that uploads shares no render in flight, but others share its own', async ({ store, user }) => {
  await aQueued(store, user, { cacheIdentity: 'page' });
  expect((await store.accept(aNewJob(user, { cacheIdentity: 'page', options }), RULES)).kind).toBe('queued');
  const alone = await aQueued(store, user, { cacheIdentity: 'second', options });
  const follower = aNewJob(user, { cacheIdentity: 'second' });
  expect((await store.accept(follower, RULES)).kind).toBe('shared');
  await claimNext(store);
  await claimNext(store);
  const ended = await completeNext(store, { ...aCapture(), upload: UPLOAD });
  expect(ended.map(({ id }) => id)).toEqual([alone.id, follower.id]);
  const dataOf = async (id: string) => (await store.findJob(id))?.result?.outcome;
  expect(await dataOf(alone.id)).toMatchObject({ ok: true, data: { cached: false, upload: UPLOAD } });
  expect(await dataOf(follower.id)).toMatchObject({ ok: true, data: { cached: true } });
  expect(JSON.stringify(await dataOf(follower.id))).not.toContain('bucket.example.com');
});

test('a stored picture that was uploaded is neither stored again nor counted as new', async ({
  store,
  user,
  stored,
}) => {
  const before = await store.storageUse();
  const webhook = { url: 'https://hooks.example.com/x', secret: 'x'.repeat(16) };
  const job = await aQueued(store, user, {
    cacheIdentity: 'page',
    options,
    price: 2,
    webhook,
    enqueuedAt: NOON + 1_000,
  });
  const claim = claimOf(await claimNext(store, { now: NOON + 1_000 }));
  expect(await store.complete(claim, { stored, upload: UPLOAD }, NOON + 2_000)).toMatchObject([
    { id: job.id, state: 'completed' },
  ]);
  expect((await store.findJob(job.id))?.result?.outcome).toMatchObject({
    data: { artifact: stored, cached: true, upload: UPLOAD },
  });
  expect((await store.storageUse()).pictures).toBe(before.pictures);
  expect(await store.usage(user.accountId, NOON)).toMatchObject({ credits: 3, reserved: 0 });
  expect(await store.findDelivery(job.id)).toMatchObject({ event: 'capture.completed', nextAttemptAt: NOON + 2_000 });
  // The age of the picture still counts from its render.
  const late = aNewJob(user, { cacheIdentity: 'page', cacheTtl: 3_600, enqueuedAt: NOON + 3_600_001 });
  expect((await store.accept(late, RULES)).kind).toBe('queued');
});
