import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/store.js';
import { aCaller, aCapture, aNewJob, aStore, claimNext, claimOf, NOON, RULES, someOptions } from './factories.js';

const [FIRST, SECOND, THIRD] = ['a', 'b', 'c'].map((letter) => `${letter.repeat(32)}.webp`) as [string, string, string];
const NAMES = [FIRST, SECOND, THIRD];
const options = someOptions({ colorSchemes: ['light', 'dark', 'no-preference'] });
const due = (store: Store) => store.dueRemovals({ after: '', limit: 10, now: NOON });
const RULE = { maxBytes: 1e9, limit: 10, now: NOON + 100 };

/** A capture of three pictures of 1,000, 200 and 30 bytes. */
function severalPictures() {
  const { artifact, data } = aCapture({ artifact: FIRST });
  const facts = { name: 'x', format: 'webp', width: 10, height: 10, bytes: 1, diagnostics: data.diagnostics };
  const further = [SECOND, THIRD].map((name, index) => ({ name, bytes: index === 0 ? 200 : 30, sha256: 'cd'.repeat(32) }));
  return { artifact, data: { ...data, captures: NAMES.map((name) => ({ ...facts, artifact: name })) }, further };
}

async function aCompleted() {
  const it = await aStore();
  const caller = await aCaller(it.store);
  const job = aNewJob(caller, { cacheIdentity: 'page', options });
  await it.store.accept(job, RULES);
  const claim = claimOf(await claimNext(it.store));
  for (const name of NAMES) await it.store.announceArtifact(claim, name);
  const ended = await it.store.complete(claim, severalPictures(), NOON);
  return { ...it, caller, job, claim, ended };
}

describe('the pictures after the first of a job', () => {
  it('are kept, counted and told with it', async () => {
    await using it = await aCompleted();
    expect(it.ended).toHaveLength(1);
    expect([await due(it.store), await it.store.keptArtifacts(NAMES)]).toEqual([[], new Set(NAMES)]);
    expect((await it.store.storageUse()).pictures).toBe(1_230);
    const outcome = (await it.store.findJob(it.job.id))?.result?.outcome;
    expect(outcome?.ok === true && outcome.data.captures?.map(({ artifact }) => artifact)).toEqual(NAMES);
    expect(await it.store.artifactNames({ after: '', limit: 10 })).toEqual(NAMES);
  });

  it('are not kept if the claim was lost', async () => {
    await using it = await aStore();
    await it.store.accept(aNewJob(await aCaller(it.store), { options }), RULES);
    const claim = claimOf(await claimNext(it.store));
    for (const name of NAMES) await it.store.announceArtifact(claim, name);
    await it.store.release(claim);
    expect(await it.store.complete(claim, severalPictures(), NOON)).toEqual([]);
    expect([await it.store.keptArtifacts(NAMES), await due(it.store)]).toEqual([new Set(), NAMES]);
  });

  it('are completed once, even if that is repeated', async () => {
    await using it = await aCompleted();
    await it.store.complete(it.claim, severalPictures(), NOON);
    expect((await it.store.storageUse()).pictures).toBe(1_230);
  });

  it('expire with it, and are forgotten with its job', async () => {
    await using it = await aCompleted();
    expect((await it.store.expireArtifacts({ ...RULE, before: NOON + 1 })).toSorted()).toEqual(NAMES);
    expect([await due(it.store), (await it.store.storageUse()).pictures]).toEqual([NAMES, 0]);
    expect(await it.store.findArtifact(THIRD)).toMatchObject({ goneAt: NOON + 100 });
    await it.store.deleteJobs({ before: NOON + 1, limit: 10 });
    for (const name of NAMES) expect(await it.store.findArtifact(name)).toBeNull();
  });

  it('expire with it once no job refers to them', async () => {
    await using it = await aCompleted();
    await it.store.deleteJobs({ before: NOON + 1, limit: 10 });
    await it.store.expireArtifacts({ ...RULE, before: NOON + 1 });
    expect(await due(it.store)).toEqual(NAMES);
    for (const name of NAMES) expect(await it.store.findArtifact(name)).toBeNull();
  });

  it('expire with it where the storage is full', async () => {
    await using it = await aCompleted();
    expect((await it.store.expireArtifacts({ ...RULE, before: 0, maxBytes: 1_200 })).toSorted()).toEqual(NAMES);
    expect((await it.store.storageUse()).pictures).toBe(0);
  });

  it.each(NAMES)('are deleted with the one whose file is missing: %s', async (name) => {
    await using it = await aCompleted();
    expect([await it.store.markGone(name, NOON), await it.store.markGone(name, NOON)]).toEqual([true, false]);
    expect(await it.store.keptArtifacts(NAMES)).toEqual(new Set());
    expect(await due(it.store)).toEqual(NAMES.filter((other) => other !== name));
  });

  it('answer an equal submission together', async () => {
    await using it = await aCompleted();
    const again = aNewJob(it.caller, { cacheIdentity: 'page', options });
    expect(await it.store.cachedArtifacts(again)).toEqual(NAMES);
    expect(await it.store.accept(again, RULES)).toMatchObject({ kind: 'cached' });
    await it.store.markGone(SECOND, NOON);
    expect(await it.store.cachedArtifacts(again)).toEqual([]);
    expect(await it.store.accept(aNewJob(it.caller, { cacheIdentity: 'page', options }), RULES)).toMatchObject({ kind: 'queued' });
  });
});
