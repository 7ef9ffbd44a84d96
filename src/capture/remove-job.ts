import type { Log } from '../log.js';
import type { EndedJob, JobStore, RetentionStore } from '../store/store.js';
import { removeNow, type SweepDeps } from './sweep.js';

export interface RemoveJobDeps {
  store: Pick<JobStore, 'removeJob' | 'endFollowers'> & Pick<RetentionStore, 'forgetRemovals'>;
  artifacts: SweepDeps['artifacts'];
  /** Stops the worker of this process that runs the job, if there is one, and notifies those who wait for it. */
  onCanceled(job: EndedJob): void;
  /** Called when jobs that shared its render can be claimed. */
  onRequeued(): void;
  log: Log;
  now(): number;
}

/**
 * Cancels a job that has not ended, or deletes the pictures of one that has; either way no look-up finds it any more. Files that cannot be
 * removed now are left to the sweep.
 * @param keyId of the caller; null for the operator
 * @returns null if the key has no such job
 */
export async function removeJob(
  deps: RemoveJobDeps,
  id: string,
  keyId: string | null,
): Promise<{ canceled: boolean } | null> {
  const removed = await deps.store.removeJob(id, keyId, deps.now());
  if (removed === null) return null;
  const { canceled, artifacts } = removed;
  if (canceled !== null) {
    deps.onCanceled(canceled);
    if (canceled.isFollowed) while ((await deps.store.endFollowers(id)) !== null);
    deps.onRequeued();
  }
  await removeNow(deps, artifacts);
  const facts = { job_id: id, key_id: keyId, state: canceled === null ? 'deleted' : 'canceled' };
  deps.log.info({ ...facts, pictures: artifacts.length }, 'job removed');
  return { canceled: canceled !== null };
}
