/** Decisions about claims and their ends: who continues, who fails, and what is recorded. */
import { CaptureError, type StoredError, toStoredError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { JobRow } from '../rows.js';
import type { ClaimedJob, EndedJob } from '../store.js';

/** No capture holds its slot for longer; a longer measurement means that the clock jumped. */
const LONGEST_SLOT_MS = 180_000;
/** No delay is longer (a receiver's Retry-After counts up to 1 h); a later time means that the clock was set back. */
export const HORIZON_MS = 90 * 60_000;
/** Lease of own claims whose lease has expired, until the claim's own timer renews it. */
export const RENEWED_MS = 30_000;
/** Maximum number of followers that one transaction ends. */
export const SLICE_FOLLOWERS = 50;

/** StoredError, as JSON, of a job whose server ended on every attempt. */
export const CRASHED = JSON.stringify(
  toStoredError(
    new CaptureError({ code: 'render_crashed', message: 'The browser stopped while it rendered this page, on every attempt.' }),
  ),
);
/** StoredError, as JSON, of a job whose order cannot be decrypted. It fails, so that it does not block the queue. */
export const UNREADABLE = JSON.stringify(toStoredError(new Error('the order cannot be opened')));

/** The fields of a job that a claim needs, with the number of attempts before it. */
type Claimable = Pick<
  JobRow,
  'id' | 'accountId' | 'requestId' | 'mode' | 'attemptsMade' | 'attemptBudget' | 'enqueuedAt' | 'firstClaimedAt' | 'dueAt' | 'traceparent'
>;

export function toClaimedJob(job: Claimable, options: CaptureOptions, { workerId, now }: { workerId: string; now: number }): ClaimedJob {
  const { id, accountId, requestId, mode, attemptBudget, enqueuedAt, dueAt, traceparent } = job;
  return {
    ...{ id, accountId, requestId, mode, options, attemptBudget, enqueuedAt, dueAt, traceparent, workerId, claimedAt: now },
    attempt: job.attemptsMade + 1,
    firstClaimedAt: job.firstClaimedAt ?? now,
  };
}

/** A claim reports at most 99 %, since its end makes it 100. */
export function toProgress(given: number): number {
  return Math.max(0, Math.min(99, Math.round(given)));
}

/** Returns how long a job held its slot, to correct what it was charged in advance; null if that is unknown. */
export function slotTimeOf({ claimedAt, bookedMs }: Pick<JobRow, 'claimedAt' | 'bookedMs'>, now: number): number | null {
  if (claimedAt === null || bookedMs === null) return null;
  const ms = now - claimedAt;
  return ms >= 0 && ms <= LONGEST_SLOT_MS ? ms : null;
}

/** Returns the name under which the end of a job is counted: `completed`, or the code of its failure. */
export function outcomeOf(state: 'completed' | 'failed', error: string | null): string {
  if (state === 'completed') return state;
  return (JSON.parse(error ?? '{}') as Partial<StoredError>).code ?? 'internal_error';
}

export function toEnded(
  job: Pick<EndedJob, 'id' | 'url' | 'requestId' | 'accountId'>,
  { state, hasWebhook }: Pick<EndedJob, 'state' | 'hasWebhook'>,
): EndedJob {
  const { id, url, requestId, accountId } = job;
  return { id, url, requestId, accountId, state, hasWebhook, isFollowed: false };
}
