/** Batches: many captures that are accepted in one transaction, and canceled as one. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Principal } from '../account/authenticate.js';
import { requireStorage } from '../artifacts/artifacts.js';
import { type BatchSnapshot, type BatchSubmission, inCapture } from '../contract/batch.js';
import { newId } from '../contract/ids.js';
import type { BatchStore, NewBatch, NewJob } from '../store/store.js';
import { checkWebhookHost, refuseBlockedDestinations } from './check-destinations.js';
import { openFile } from './open-picture.js';
import { type RemoveJobDeps, removeJob } from './remove-job.js';
import { idempotencyConflict, newJob, quotaExceeded, type SubmitDeps, unavailable } from './submit.js';

export interface BatchContext {
  principal: Principal;
  requestId: string;
  idempotencyKey: string | null;
}

type BatchDeps = Omit<SubmitDeps, 'store'> & { store: SubmitDeps['store'] & Pick<BatchStore, 'acceptBatch'> };

/** Captures that are prepared in one turn of the event loop. */
const PREPARED_AT_ONCE = 20;

/**
 * Accepts all captures of a batch durably, or none; or returns the batch that it repeats.
 * @throws CaptureError as `submit`; one that concerns a capture names its index
 */
export async function submitBatch(
  deps: BatchDeps,
  { captures, webhook }: BatchSubmission,
  { principal, requestId, idempotencyKey }: BatchContext,
): Promise<BatchSnapshot> {
  if (deps.draining()) throw unavailable('The server is shutting down. Send the request again in a moment.', 5);
  const { accountId, keyId } = principal;
  const enqueuedAt = deps.now();
  const identity = JSON.stringify([webhook, ...captures.map((capture) => capture.identity)]);
  const batch: NewBatch = {
    id: newId('batch', enqueuedAt),
    accountId,
    keyId,
    requestId,
    idempotencyKey,
    identity,
    webhook,
    enqueuedAt,
  };
  const judge = judgeOnce(deps, accountId);
  if (webhook !== null) await judge({ path: 'webhook.url', url: webhook.url });
  await requireStorage(deps.artifacts);
  const jobs: NewJob[] = [];
  for (const [index, capture] of captures.entries()) {
    try {
      refuseBlockedDestinations(deps.egress, capture.options, { account: accountId });
      if (capture.options.upload !== null) await judge({ path: 'upload.url', url: capture.options.upload.url });
    } catch (error) {
      throw inCapture(index, error);
    }
    const alone = { principal, requestId, idempotencyKey: null, traceparent: null };
    jobs.push({ ...newJob(capture, alone, enqueuedAt), batch: { id: batch.id, index } });
    if (index % PREPARED_AT_ONCE === PREPARED_AT_ONCE - 1) await nextTurn();
  }
  const accepted = await deps.store.acceptBatch(batch, await withoutMissing(deps, jobs), deps.rules);
  switch (accepted.kind) {
    case 'accepted':
      deps.onQueued();
      deps.log.info({ batch_id: batch.id, request_id: requestId, captures: jobs.length }, 'batch');
      return accepted.batch;
    case 'replayed':
      return accepted.batch;
    case 'conflict':
      throw idempotencyConflict(accepted, 'batch');
    case 'quota_exceeded':
      throw quotaExceeded(accepted, deps.now());
    case 'queue_full':
      throw unavailable('Too many captures of batches are waiting. Try again later, or with fewer.', 60);
  }
}

/** Looks each host of a callback up once. */
function judgeOnce({ egress, webhookAllow }: BatchDeps, account: string) {
  const verdicts = new Map<string, ReturnType<BatchDeps['egress']['judgeHost']>>();
  const judgeHost = (host: string, port: number) => {
    const place = `${host}:${port}`;
    const verdict = verdicts.get(place) ?? egress.judgeHost(host, port, { account });
    verdicts.set(place, verdict);
    return verdict;
  };
  return (callback: { path: string; url: string }) => checkWebhookHost({ judgeHost }, callback, webhookAllow);
}

/** A picture whose file is missing does not answer a capture, as in `submit`. */
async function withoutMissing(deps: BatchDeps, jobs: readonly NewJob[]): Promise<NewJob[]> {
  const checked: NewJob[] = [];
  for (let at = 0; at < jobs.length; at += PREPARED_AT_ONCE) {
    const some = jobs.slice(at, at + PREPARED_AT_ONCE).map(async (job) => {
      for (const name of await deps.store.cachedArtifacts(job))
        if ((await openFile(deps, name)) === null) return { ...job, cacheTtl: 0 };
      return job;
    });
    checked.push(...(await Promise.all(some)));
    await nextTurn();
  }
  return checked;
}

/** Jobs that are removed at the same time. */
const REMOVED_AT_ONCE = 50;

type RemoveBatchDeps = RemoveJobDeps & {
  store: Pick<BatchStore, 'removeBatch' | 'jobsToClear'>;
  onDeliveryDue(): void;
};

/**
 * Cancels a batch with its captures that have not ended, and deletes the pictures of the others. If the server ends meanwhile, the sweep
 * goes on.
 * @param keyId of the caller; null for the operator
 * @returns false if the key has no such batch
 */
export async function removeBatch(deps: RemoveBatchDeps, id: string, keyId: string | null): Promise<boolean> {
  if (!(await deps.store.removeBatch(id, keyId, deps.now()))) return false;
  deps.log.info({ batch_id: id, key_id: keyId }, 'batch removed');
  deps.onDeliveryDue();
  await clearBatches(deps);
  return true;
}

/** Removes the jobs of removed batches. */
export async function clearBatches(
  deps: RemoveJobDeps & { store: Pick<BatchStore, 'jobsToClear'> },
  signal?: AbortSignal,
): Promise<void> {
  while (signal?.aborted !== true) {
    const ids = await deps.store.jobsToClear(REMOVED_AT_ONCE, deps.now());
    if (ids.length === 0) return;
    await Promise.all(ids.map((id) => removeJob(deps, id, null)));
  }
}
