import { expect, test } from 'vitest';
import type { UploadResult } from '../../src/contract/capture-data.js';
import {
  aCaller,
  aCapture,
  aNewJob,
  aStore,
  type Caller,
  claimNext,
  claimOf,
  NOON,
  RULES,
  someOptions,
  type TestStore,
  withCaller,
} from './factories.js';

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

/** A store with a stored picture of `page`. */
async function withPicture(it: TestStore): Promise<{ caller: Caller; name: string }> {
  const caller = await aCaller(it.store);
  await it.store.accept(aNewJob(caller, { cacheIdentity: 'page' }), RULES);
  const capture = aCapture();
  await it.store.complete(claimOf(await claimNext(it.store)), capture, NOON);
  return { caller, name: capture.artifact.name };
}

test('a job that uploads is queued although its picture is stored, and is told which one', async () => {
  await using it = await aStore();
  const { caller, name } = await withPicture(it);
  expect(await it.store.accept(aNewJob(caller, { cacheIdentity: 'page', options }), RULES)).toMatchObject({ kind: 'queued' });
  expect((await claimNext(it.store)).options.upload).toEqual({ url: URL, artifact: name });
});

test.each([
  ['of another page', { cacheIdentity: 'other' }],
  ['that asks for a new picture', { cacheIdentity: 'page', cacheTtl: 0 }],
  ['whose picture is too old', { cacheIdentity: 'page', cacheTtl: 1, enqueuedAt: NOON + 1_001 }],
])('a job %s uploads its own picture', async (_name, given) => {
  await using it = await aStore();
  const { caller } = await withPicture(it);
  await it.store.accept(aNewJob(caller, { ...given, options }), RULES);
  expect((await claimNext(it.store, { now: NOON + 2_000 })).options.upload).toEqual({ url: URL, artifact: null });
});

test('a job that uploads shares no render in flight, but others share its own', async () => {
  await using it = await withCaller();
  await it.store.accept(aNewJob(it.caller, { cacheIdentity: 'page' }), RULES);
  expect((await it.store.accept(aNewJob(it.caller, { cacheIdentity: 'page', options }), RULES)).kind).toBe('queued');
  const alone = aNewJob(it.caller, { cacheIdentity: 'second', options });
  await it.store.accept(alone, RULES);
  const follower = aNewJob(it.caller, { cacheIdentity: 'second' });
  expect((await it.store.accept(follower, RULES)).kind).toBe('shared');
  await claimNext(it.store);
  await claimNext(it.store);
  const ended = await it.store.complete(claimOf(await claimNext(it.store)), { ...aCapture(), upload: UPLOAD }, NOON);
  expect(ended.map(({ id }) => id)).toEqual([alone.id, follower.id]);
  const dataOf = async (id: string) => (await it.store.findJob(id))?.result?.outcome;
  expect(await dataOf(alone.id)).toMatchObject({ ok: true, data: { cached: false, upload: UPLOAD } });
  expect(await dataOf(follower.id)).toMatchObject({ ok: true, data: { cached: true } });
  expect(JSON.stringify(await dataOf(follower.id))).not.toContain('bucket.example.com');
});

test('a stored picture that was uploaded is neither stored again nor counted as new', async () => {
  await using it = await aStore();
  const { caller, name } = await withPicture(it);
  const before = await it.store.storageUse();
  const webhook = { url: 'https://hooks.example.com/x', secret: 'x'.repeat(16) };
  const job = aNewJob(caller, { cacheIdentity: 'page', options, price: 2, webhook, enqueuedAt: NOON + 1_000 });
  await it.store.accept(job, RULES);
  const claim = claimOf(await claimNext(it.store, { now: NOON + 1_000 }));
  expect(await it.store.complete(claim, { stored: name, upload: UPLOAD }, NOON + 2_000)).toMatchObject([
    { id: job.id, state: 'completed' },
  ]);
  expect((await it.store.findJob(job.id))?.result?.outcome).toMatchObject({
    data: { artifact: expect.any(String), cached: true, upload: UPLOAD },
  });
  expect((await it.store.storageUse()).pictures).toBe(before.pictures);
  expect(await it.store.usage(caller.accountId, NOON)).toMatchObject({ credits: 3, reserved: 0 });
  expect(await it.store.findDelivery(job.id)).toMatchObject({ event: 'capture.completed', nextAttemptAt: NOON + 2_000 });
  // The age of the picture still counts from its render.
  const late = aNewJob(caller, { cacheIdentity: 'page', cacheTtl: 3_600, enqueuedAt: NOON + 3_600_001 });
  expect((await it.store.accept(late, RULES)).kind).toBe('queued');
});
