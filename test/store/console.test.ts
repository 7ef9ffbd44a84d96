import { expect } from 'vitest';
import { chooseJobs, EXAMINED_JOBS_MAX } from '../../src/store/job-look-ups.js';
import type { ConsoleGrant } from '../../src/store/store.js';
import { aCaller, aCaptured, aQueued, completeNext, NOON, openAt, someOptions } from './factories.js';
import { test } from './store-test.js';

const HOUR_MS = 3_600_000;

function aGrant(hash: string, createdAt = NOON, lastsMs = HOUR_MS): ConsoleGrant {
  return { hash, createdAt, expiresAt: createdAt + lastsMs };
}

test('a link becomes one session, which can be found until it ends', async ({ store }) => {
  await store.addConsoleLink(aGrant('link'));
  expect(await store.findConsoleSession('link', NOON)).toBeNull();
  expect(await store.exchangeConsoleLink('unknown', aGrant('none'))).toBe(false);
  await store.addConsoleLink(aGrant('expired', NOON, 1_000));
  expect(await store.exchangeConsoleLink('expired', aGrant('none', NOON + 1_000))).toBe(false);
  expect(await store.exchangeConsoleLink('link', aGrant('session'))).toBe(true);
  expect(await store.exchangeConsoleLink('link', aGrant('second'))).toBe(false);
  expect(await store.exchangeConsoleLink('session', aGrant('third'))).toBe(false);
  expect(await store.findConsoleSession('session', NOON + 1)).toEqual(aGrant('session'));
  expect(await store.findConsoleSession('session', NOON + HOUR_MS)).toBeNull();
  expect(await store.countConsoleSessions(NOON + 1)).toBe(1);
  expect(await store.endConsoleSession('session')).toBe(true);
  expect(await store.endConsoleSession('session')).toBe(false);
  expect(await store.findConsoleSession('session', NOON + 1)).toBeNull();
  expect(await store.countConsoleSessions(NOON + 1)).toBe(0);
});

test('only one of two processes that exchange a link at once succeeds', async ({ it, store }) => {
  await using other = await openAt(it.dataDir);
  await store.addConsoleLink(aGrant('link'));
  const tries = [1, 2, 3, 4, 5, 6].map((n) =>
    (n % 2 === 0 ? store : other).exchangeConsoleLink('link', aGrant(`session ${n}`)),
  );
  expect((await Promise.all(tries)).filter(Boolean)).toHaveLength(1);
  expect(await store.countConsoleSessions(NOON)).toBe(1);
});

test('the newest 20 links and 100 sessions are kept, and expired ones do not count', async ({ store }) => {
  for (let i = 0; i < 21; i++) await store.addConsoleLink(aGrant(`link ${i}`, NOON + i));
  expect(await store.exchangeConsoleLink('link 0', aGrant('none', NOON + 30))).toBe(false);
  expect(await store.exchangeConsoleLink('link 1', aGrant('one', NOON + 30))).toBe(true);
  for (let i = 0; i < 101; i++) {
    await store.addConsoleLink(aGrant('link', NOON + 100 + i));
    expect(await store.exchangeConsoleLink('link', aGrant(`session ${i}`, NOON + 100 + i))).toBe(true);
  }
  expect(await store.exchangeConsoleLink('unknown', aGrant('none', NOON + 300))).toBe(false);
  expect(await store.countConsoleSessions(NOON + 500)).toBe(100);
  expect(await store.findConsoleSession('session 0', NOON + 500)).toBeNull();
  expect(await store.findConsoleSession('session 1', NOON + 500)).not.toBeNull();
  await store.addConsoleLink(aGrant('late', NOON + 2 * HOUR_MS));
  expect(await store.countConsoleSessions(NOON)).toBe(0);
});

test('all access can be ended at once', async ({ store }) => {
  await store.addConsoleLink(aGrant('link'));
  await store.exchangeConsoleLink('link', aGrant('session'));
  await store.addConsoleLink(aGrant('other link'));
  expect(await store.endConsoleAccess()).toBe(1);
  expect(await store.findConsoleSession('session', NOON)).toBeNull();
  expect(await store.exchangeConsoleLink('other link', aGrant('late'))).toBe(false);
});

test('jobs of all keys are listed, newest first, by state and page by page', async ({ store }) => {
  const [one, other] = [await aCaller(store), await aCaller(store)];
  const jobs = [];
  for (const user of [one, other, one, other, one]) jobs.push(await aQueued(store, user));
  const ids = jobs.map(({ id }) => id).reverse();
  const list = async (page: Partial<Parameters<typeof store.listAllJobs>[0]> = {}) => {
    const { jobs: found, next } = await store.listAllJobs({ state: null, before: null, limit: 10, ...page });
    return { ids: found.map(({ id }) => id), next };
  };
  expect(await list()).toEqual({ ids, next: null });
  const first = await list({ limit: 2 });
  expect(first.ids).toEqual(ids.slice(0, 2));
  const second = await list({ limit: 2, before: first.next });
  expect(second.ids).toEqual(ids.slice(2, 4));
  expect(await list({ limit: 2, before: second.next })).toEqual({ ids: ids.slice(4), next: null });
  expect(await list({ state: 'completed' })).toEqual({ ids: [], next: null });
  await store.setQueuePaused(true);
  expect((await list({ state: 'paused' })).ids).toEqual(ids);
  expect((await list({ state: 'waiting' })).ids).toEqual([]);
});

test('jobs are found by a part of their address, in which nothing is a pattern, and by key', async ({ store }) => {
  const [one, other] = [await aCaller(store), await aCaller(store)];
  const at = async (caller: typeof one, path: string) =>
    (await aQueued(store, caller, { options: someOptions({ url: `https://example.com/${path}` }) })).id;
  const [blog, percent, foreign] = [await at(one, 'Blog_1'), await at(one, '100%25!'), await at(other, 'blog_1')];
  const find = async (address: string, keyId: string | null = null) => {
    const { jobs } = await store.listAllJobs({ state: null, before: null, limit: 10, found: { address, keyId } });
    return jobs.map(({ id }) => id);
  };
  expect(await find('bLOG_')).toEqual([foreign, blog]);
  expect(await find('blog', one.keyId)).toEqual([blog]);
  expect(await find('0%2')).toEqual([percent]);
  expect(await find('25!')).toEqual([percent]);
  expect([await find('g%1'), await find('blogx1')]).toEqual([[], []]);
});

test('the jobs that have ended are counted by hour', async ({ store }) => {
  const caller = await aCaller(store);
  const since = NOON - 5 * HOUR_MS;
  for (const endedAt of [since - 1, since, since + HOUR_MS - 1, NOON]) await aCaptured(store, caller, { endedAt });
  expect((await store.recentJobs(since)).sort((early, late) => early.hour - late.hour)).toEqual([
    { hour: 0, state: 'completed', shared: false, jobs: 2 },
    { hour: 5, state: 'completed', shared: false, jobs: 1 },
  ]);
});

test('a page examines 1,000 jobs, and returns where the next page starts', () => {
  const looked = Array.from({ length: EXAMINED_JOBS_MAX }, (_, i) => ({
    seq: 5_000 - i,
    state: i === 900 ? ('failed' as const) : ('completed' as const),
    isFound: true,
  }));
  expect(chooseJobs(looked, { states: ['failed'], limit: 20 })).toEqual({ seqs: [4_100], next: 4_001 });
  expect(chooseJobs(looked.slice(1), { states: ['failed'], limit: 20 })).toEqual({ seqs: [4_100], next: null });
  expect(chooseJobs(looked, { states: ['completed'], limit: 2 })).toEqual({ seqs: [5_000, 4_999], next: 4_999 });
});

test('the earlier pictures of a job are those of its account and address that are stored, newest first', async ({
  store,
}) => {
  const [user, stranger] = [await aCaller(store), await aCaller(store)];
  const captured = (by: typeof user, url: string) => aCaptured(store, by, { options: someOptions({ url }) });
  const page = 'https://example.com/page';
  const [gone, one, two] = [await captured(user, page), await captured(user, page), await captured(user, page)];
  await captured(user, 'https://example.com/other');
  await captured(stranger, page);
  const last = await captured(user, page);
  await captured(user, page);
  await store.markGone(gone.name, NOON);
  expect((await store.earlierPictures(last.id)).map(({ id }) => id)).toEqual([two.id, one.id]);
  expect(await store.earlierPictures(one.id)).toEqual([]);
  expect(await store.earlierPictures('job_unknown')).toEqual([]);
});

test('the options of a job can be read until it ends', async ({ store, user }) => {
  const options = someOptions({ url: 'https://example.com/kept' });
  const { id } = await aQueued(store, user, { options });
  const orders = await store.findOrders([id, 'job_unknown']);
  expect(Object.fromEntries(orders)).toMatchObject({ [id]: { url: 'https://example.com/kept' } });
  await completeNext(store);
  expect([...(await store.findOrders([id])).keys()]).toEqual([]);
});
