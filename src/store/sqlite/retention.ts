import type { RetentionStore } from '../store.js';
import type { EndedPlace } from './jobs.js';
import type { Tables } from './tables.js';
import type { Writer } from './writer.js';

/** Number of rows per transaction; small, so that a slice does not delay other writes (no statement over 50 ms). */
const SLICE_ROWS = 25;
/** Number of rows that one transaction examines to find them. */
const EXAMINED_ROWS = 100;
const OLDEST: EndedPlace = { endedAt: 0, seq: 0 };

/** Marks artifacts as deleted, in slices: those that are too old, then those that exceed the limit. @returns their names */
export async function expireArtifacts(
  tables: Pick<Tables, 'artifacts' | 'counters' | 'removals'>,
  writer: Writer,
  rules: Parameters<RetentionStore['expireArtifacts']>[0],
): Promise<string[]> {
  const expired: string[] = [];
  await inSlices(rules.limit, async (limit) => {
    const names = await writer.run(() => expireSlice(tables, { ...rules, limit }));
    expired.push(...names);
    return names.length;
  });
  return expired;
}

/**
 * Deletes ended jobs without a pending delivery in slices, with other writes in between.
 * @returns their number
 */
export async function deleteJobs(
  tables: Pick<Tables, 'jobs' | 'artifacts'>,
  writer: Writer,
  rules: { before: number; limit: number },
): Promise<number> {
  let deleted = 0;
  let place: EndedPlace | null = OLDEST;
  while (place !== null && deleted < rules.limit) {
    const slice = { before: rules.before, place, limit: Math.min(SLICE_ROWS, rules.limit - deleted) };
    const done: DeletedSlice = await writer.run(() => deleteSlice(tables, slice));
    deleted += done.deleted;
    place = done.next;
  }
  return deleted;
}

/** Runs slices until one is not full. @returns the total */
async function inSlices(limit: number, slice: (limit: number) => Promise<number>): Promise<number> {
  let done = 0;
  while (done < limit) {
    const wanted = Math.min(SLICE_ROWS, limit - done);
    const count = await slice(wanted);
    done += count;
    if (count < wanted) break;
  }
  return done;
}

function expireSlice(
  { artifacts, counters, removals }: Pick<Tables, 'artifacts' | 'counters' | 'removals'>,
  rules: Parameters<RetentionStore['expireArtifacts']>[0],
): string[] {
  let kept = counters.artifactBytes();
  const expired: string[] = [];
  while (expired.length < rules.limit) {
    const next = tooOld(artifacts, rules.before) ?? (kept > rules.maxBytes ? tooMuch(artifacts) : null);
    if (next === null) break;
    artifacts.markGone(next.name, rules.now);
    removals.add(next.name);
    artifacts.forget(next.name);
    expired.push(next.name);
    kept -= next.bytes;
  }
  return expired;
}

function tooOld(artifacts: Tables['artifacts'], before: number) {
  const oldest = artifacts.oldest();
  return oldest !== null && oldest.createdAt < before ? oldest : null;
}

/** Chooses a picture of the account that uses the most space. Rows of older versions may have no account. */
function tooMuch(artifacts: Tables['artifacts']) {
  return artifacts.oldestOfLargest() ?? artifacts.oldest();
}

interface DeletedSlice {
  deleted: number;
  /** The place where the next slice starts; null at the end. */
  next: EndedPlace | null;
}

/** Examines the jobs from a place on, until `limit` are deleted. */
function deleteSlice(
  { jobs, artifacts }: Pick<Tables, 'jobs' | 'artifacts'>,
  { before, place, limit }: { before: number; place: EndedPlace; limit: number },
): DeletedSlice {
  const ended = jobs.endedAfter(place, { before, limit: EXAMINED_ROWS });
  let deleted = 0;
  for (const { id, artifactName, isPending, endedAt, seq } of ended) {
    if (isPending) continue;
    jobs.remove(id);
    // The row of a deleted picture is kept as long as a job refers to it, so that requests get 410.
    if (artifactName !== null) artifacts.forget(artifactName);
    deleted++;
    if (deleted === limit) return { deleted, next: { endedAt, seq } };
  }
  return { deleted, next: ended.length < EXAMINED_ROWS ? null : (ended.at(-1) ?? null) };
}
