import type { Artifacts } from '../artifacts/artifacts.js';
import { CaptureError } from '../contract/capture-error.js';
import type { Log } from '../log.js';
import type { BatchStore, EndedJob, JobStore, OwnClaims, RetentionStore } from '../store/store.js';

export interface SweepDeps {
  store: RecoverDeps['store'] & RetentionStore & Pick<BatchStore, 'completeBatches' | 'deleteBatches'>;
  /** Removes what is left of removed batches. */
  clearBatches(signal: AbortSignal): Promise<void>;
  own: RecoverDeps['own'];
  artifacts: Pick<Artifacts, 'remove' | 'list'>;
  onEnded(job: EndedJob): void;
  /** Called when jobs have returned to the queue and can be claimed. */
  onRequeued(): void;
  artifactTtlMs: number;
  jobTtlMs: number;
  maxStorageBytes: number;
  log: Log;
  now(): number;
  /** The time by which expiry is judged: `now`, or an earlier time while the clock may be wrong, so that nothing is deleted early. */
  cautiousNow(): number;
}

/** Rows or files per step; small, so that no step stalls the server. */
const BATCH = 200;
/** Free space in bytes that the database keeps for later writes. */
const FREE_KEPT_BYTES = 16_000_000;
/** The time limit for the removal of files in one round, since that delays the recovery of lost leases. */
const REMOVE_MS = 10_000;
/** Number of files removed at the same time, since each costs a round trip to a bucket. */
const REMOVE_AT_ONCE = 8;
/** Deliveries per transaction. */
const DELIVERIES_BATCH = 25;

/** Runs one round of housekeeping: lost leases, retention, the storage limit. Ends early if the signal aborts. */
export async function sweep(deps: SweepDeps, signal: AbortSignal): Promise<void> {
  await recoverLeases(deps);
  if (!deps.store.cleansUp()) return;
  await expireArtifacts(deps, signal);
  await expireDeliveries(deps, signal);
  await deleteJobs(deps, signal);
  await deps.store.completeBatches(deps.now());
  await deps.clearBatches(signal);
  await deps.store.deleteBatches(deps.cautiousNow() - deps.jobTtlMs);
  await removeDue(deps, signal);
}

export type RecoverDeps = Pick<SweepDeps, 'onEnded' | 'onRequeued' | 'log' | 'now'> & {
  store: Pick<JobStore, 'recover' | 'endedLeaders' | 'endFollowers'>;
  /** The claims that this process holds. */
  own(): OwnClaims;
};

/**
 * Returns jobs with an expired lease to the queue and ends followers whose render has ended. At the start of a server, returns all jobs
 * that the last run held.
 */
export async function recoverLeases(deps: RecoverDeps, { starting } = { starting: false }): Promise<void> {
  const { requeued, ended } = await deps.store.recover({ now: deps.now(), starting, own: deps.own() });
  for (const job of ended) reportEnded(deps, job, { code: 'render_crashed' });
  let left = 0;
  for (const leaderId of await deps.store.endedLeaders()) {
    for (
      let slice = await deps.store.endFollowers(leaderId);
      slice !== null;
      slice = await deps.store.endFollowers(leaderId)
    ) {
      for (const job of slice) reportEnded(deps, job, { shared: leaderId });
      left += slice.length;
    }
  }
  if (requeued + left > 0) deps.onRequeued();
  if (requeued + ended.length > 0) deps.log.warn({ requeued, failed: ended.length }, 'jobs recovered');
}

function reportEnded(deps: Pick<SweepDeps, 'onEnded' | 'log'>, job: EndedJob, facts: Record<string, unknown>): void {
  deps.onEnded(job);
  deps.log.info({ job_id: job.id, request_id: job.requestId, url: job.url, state: job.state, ...facts }, 'job');
}

/**
 * Removes files without a row, or with one that marks them as deleted. A crash between rename and commit leaves such files, and so does a
 * storage that answered too late.
 * @param before Unix ms: files written later may still get a row
 * @throws CaptureError `internal_error` (503) if the storage cannot be reached
 */
export async function removeOrphans(
  deps: Pick<SweepDeps, 'store' | 'artifacts' | 'log'>,
  before: number,
  signal: AbortSignal,
): Promise<void> {
  for await (const names of deps.artifacts.list(before)) {
    if (signal.aborted) return;
    const kept = await deps.store.keptArtifacts(names);
    await removeFiles(
      deps,
      names.filter((name) => !kept.has(name)),
    );
  }
}

/**
 * Finds pictures whose files are missing, and records that in their rows. If there are no files at all, the storage is assumed to be
 * unavailable (not mounted, not yet restored) and the rows stay unchanged.
 */
export async function findMissing(
  deps: Pick<SweepDeps, 'store' | 'log' | 'now'> & { artifacts: Pick<Artifacts, 'open'> },
  signal: AbortSignal,
): Promise<void> {
  const missing: string[] = [];
  let found = 0;
  for (let after: string | undefined = ''; after !== undefined && !signal.aborted; ) {
    const names: string[] = await deps.store.artifactNames({ after, limit: BATCH });
    for (const name of names) {
      if ((await deps.artifacts.open(name)) === null) missing.push(name);
      else found++;
      await yieldToRequests();
    }
    after = names.at(-1);
  }
  if (missing.length === 0 || signal.aborted) return;
  if (found === 0)
    return deps.log.warn({ count: missing.length }, 'no picture file exists: is the artifact storage mounted?');
  for (const name of missing) await deps.store.markGone(name, deps.now());
  deps.log.warn(
    { count: missing.length },
    'picture files are missing; the pictures are treated as deleted, and rendered again on request',
  );
}

/** Removes files that are due for removal, for a limited time; the next round continues. A name is forgotten once its file is gone. */
async function removeDue(deps: SweepDeps, signal: AbortSignal): Promise<void> {
  const until = performance.now() + REMOVE_MS;
  for (let after: string | undefined = ''; after !== undefined && !signal.aborted && performance.now() < until; ) {
    const names: string[] = await deps.store.dueRemovals({ after, limit: BATCH, now: deps.now() });
    const removed = await removeFiles(deps, names).catch(nullIfUnreachable);
    if (removed === null) return;
    if (removed.length > 0) await deps.store.forgetRemovals(removed);
    after = names.at(-1);
    await yieldToRequests();
  }
}

/** Removes files that are due for removal at once; those that cannot be removed remain due. */
export async function removeNow(
  deps: Pick<SweepDeps, 'artifacts' | 'log'> & { store: Pick<RetentionStore, 'forgetRemovals'> },
  names: readonly string[],
): Promise<void> {
  const removed = await removeFiles(deps, names).catch(nullIfUnreachable);
  if (removed !== null && removed.length > 0) await deps.store.forgetRemovals(removed);
}

/**
 * Removes files; one that cannot be removed does not stop the others.
 * @returns the names of the files that are gone
 * @throws CaptureError `internal_error` (503) if the storage cannot be reached, so that no other file can be removed either
 */
async function removeFiles(
  { artifacts, log }: Pick<SweepDeps, 'artifacts' | 'log'>,
  names: readonly string[],
): Promise<string[]> {
  const removed: string[] = [];
  const failed: { artifact: string; err: unknown }[] = [];
  const removeOne = async (name: string) => {
    try {
      await artifacts.remove(name);
      removed.push(name);
    } catch (error) {
      if (isUnreachable(error)) throw error;
      failed.push({ artifact: name, err: error });
    }
  };
  for (let at = 0; at < names.length; at += REMOVE_AT_ONCE)
    await Promise.all(names.slice(at, at + REMOVE_AT_ONCE).map(removeOne));
  if (failed.length > 0)
    log.warn({ ...failed[0], count: failed.length }, 'files could not be removed; it will be retried');
  return removed;
}

/** Logs nothing, because the storage has logged the error itself. */
function nullIfUnreachable(error: unknown): null {
  if (isUnreachable(error)) return null;
  throw error;
}

function isUnreachable(error: unknown): boolean {
  return error instanceof CaptureError && error.status === 503;
}

/** Marks expired pictures as deleted, then those that exceed the storage limit. */
async function expireArtifacts(deps: SweepDeps, signal: AbortSignal): Promise<void> {
  const maxBytes = await pictureBudget(deps);
  while (!signal.aborted) {
    const now = deps.now();
    const names = await deps.store.expireArtifacts({
      before: deps.cautiousNow() - deps.artifactTtlMs,
      maxBytes,
      limit: BATCH,
      now,
    });
    if (names.length < BATCH) return;
    await yieldToRequests();
  }
}

/** Returns the storage limit less the size of the database, which is shrunk first if that helps to keep pictures. */
async function pictureBudget({ store, maxStorageBytes }: SweepDeps): Promise<number> {
  const use = await store.storageUse();
  const isOver = use.pictures + use.database > maxStorageBytes;
  if (!isOver && use.free < FREE_KEPT_BYTES) return maxStorageBytes - use.database;
  await store.shrinkDatabase();
  return maxStorageBytes - (await store.storageUse()).database;
}

/** Runs before jobs are deleted, since jobs with a pending delivery are kept. */
async function expireDeliveries(deps: SweepDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const expired = await deps.store.expireDeliveries({ now: deps.cautiousNow(), limit: DELIVERIES_BATCH });
    if (expired < DELIVERIES_BATCH) return;
    await yieldToRequests();
  }
}

async function deleteJobs(deps: SweepDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const deleted = await deps.store.deleteJobs({ before: deps.cautiousNow() - deps.jobTtlMs, limit: BATCH });
    if (deleted < BATCH) return;
    await yieldToRequests();
  }
}

function yieldToRequests(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
