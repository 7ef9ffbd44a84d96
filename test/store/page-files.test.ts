import { describe, expect } from 'vitest';
import { idAt } from '../../src/contract/ids.js';
import type { Store } from '../../src/store/store.js';
import { aCapture, aNewJob, claimNext, claimOf, NOON, RULES } from './factories.js';
import { test } from './store-test.js';

const NAME = `${'f'.repeat(32)}.files`;
const due = (store: Store, now: number = NOON) => store.dueRemovals({ after: '', limit: 10, now });
const announce = (store: Store, name: string, { id: jobId, accountId }: { id: string; accountId: string }) =>
  store.announceFiles({ name, jobId, accountId });

describe('the files of a request', () => {
  test('are kept until their job has been accepted and has ended', async ({ store, user }) => {
    const job = aNewJob(user);
    expect(await announce(store, NAME, job)).toBe(true);
    expect([await due(store), await store.keptArtifacts([NAME])]).toEqual([[], new Set([NAME])]);
    await store.accept(job, RULES);
    expect(await due(store, NOON + 3_600_000)).toEqual([]);
    const claim = claimOf(await claimNext(store));
    expect(await due(store, NOON + 3_600_000)).toEqual([]);
    await store.complete(claim, aCapture(), NOON);
    expect(await due(store)).toEqual([NAME]);
    await store.forgetRemovals([NAME]);
    expect([await due(store), await store.keptArtifacts([NAME])]).toEqual([[], new Set()]);
  });

  test('are kept for at most 100 jobs together, and removed after ten minutes if no job was accepted for them', async ({
    store,
    user,
  }) => {
    for (let nth = 0; nth <= 100; nth++) {
      const job = { id: idAt('job', NOON + nth), accountId: user.accountId };
      expect(await announce(store, `${nth}`.padStart(32, 'g'), job)).toBe(nth < 100);
    }
    expect(await due(store, NOON + 600_000)).toEqual([]);
    expect(await due(store, NOON + 600_001)).toEqual(['0'.padStart(32, 'g')]);
  });

  test('are kept for at most 50 jobs of an account', async ({ store, user }) => {
    for (let nth = 1; nth <= 51; nth++) {
      const job = aNewJob(user);
      expect(await announce(store, `${nth}`.padStart(32, 'h'), job)).toBe(nth <= 50);
      if (nth <= 50) await store.accept(job, RULES);
    }
  });
});
