import { describe, expect, it } from 'vitest';
import { idAt, newId } from '../../src/contract/ids.js';
import type { Store } from '../../src/store/store.js';
import { aCaller, aCapture, aNewJob, aStore, claimNext, claimOf, NOON, RULES, withCaller } from './factories.js';

const NAME = `${'f'.repeat(32)}.files`;
const due = (store: Store, now: number = NOON) => store.dueRemovals({ after: '', limit: 10, now });

async function announced(id = newId('job', NOON)) {
  const it = await aStore();
  const job = { ...aNewJob(await aCaller(it.store)), id };
  expect(await it.store.announceFiles({ name: NAME, jobId: id, accountId: job.accountId })).toBe(true);
  return { ...it, job };
}

describe('the files of a request', () => {
  it('are kept until their job has been accepted and has ended', async () => {
    await using it = await announced();
    const { store, job } = it;
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

  it('are removed after ten minutes if no job was accepted for them', async () => {
    await using it = await announced();
    expect(await due(it.store, NOON + 600_000)).toEqual([]);
    expect(await due(it.store, NOON + 600_001)).toEqual([NAME]);
  });

  it('are kept for at most 100 jobs together', async () => {
    await using it = await announced();
    const { store, job } = it;
    const announce = (nth: number) =>
      store.announceFiles({ name: `${nth}`.padStart(32, 'g'), jobId: idAt('job', NOON + nth), accountId: job.accountId });
    for (let nth = 1; nth < 100; nth++) expect(await announce(nth)).toBe(true);
    expect(await announce(100)).toBe(false);
  });

  it('are kept for at most 50 jobs of an account', async () => {
    await using it = await withCaller();
    for (let nth = 1; nth <= 51; nth++) {
      const job = aNewJob(it.caller);
      const files = { name: `${nth}`.padStart(32, 'h'), jobId: job.id, accountId: job.accountId };
      expect(await it.store.announceFiles(files)).toBe(nth <= 50);
      if (nth <= 50) await it.store.accept(job, RULES);
    }
  });
});
