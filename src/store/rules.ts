/** Decisions that both engines share: limits, and pure rules over rows, without statements or a clock. */
import { CaptureError, type StoredError, toStoredError } from '../contract/capture-error.js';
import { type JobState, STORED_JOB_STATES, type StoredJobState } from '../contract/job.js';

/** Number of jobs that one page examines, so that a rare state needs no scan of all jobs. */
export const EXAMINED_JOBS_MAX = 1_000;

/** No capture holds its slot for longer; a longer measurement means that the clock jumped. */
const LONGEST_SLOT_MS = 180_000;
/** No delay is longer (a receiver's Retry-After counts up to 1 h); a later time means that the clock was set back. */
export const HORIZON_MS = 90 * 60_000;
/** Lease of own claims whose lease has expired, until the claim's own timer renews it. */
export const RENEWED_MS = 30_000;
/** A delivery fails this long after its event, even if attempts are left, so that a dead receiver's backlog ends. */
export const MAX_DELIVERY_AGE_MS = 24 * 3_600_000;
export const DELIVERY_EXPIRED = 'It could not be delivered within 24 hours.';
/** Number of attempts in a row without a response after which a receiver is paused. */
export const SILENCES_BEFORE_PAUSE = 8;
export const FIRST_PAUSE_MS = 5_000;
export const LONGEST_PAUSE_MS = 300_000;
/** Maximum number of followers that one transaction ends. */
export const SLICE_FOLLOWERS = 50;
/** Approximate size of a job in the database, including indexes, credits and delivery. */
export const JOB_BYTES = 2_000;
/** Minimum length of a prefix. Shorter ones could match another account's key (`sf_live_` alone has 8 characters). */
export const REVOKE_PREFIX_MIN_CHARS = 12;

/** Maximum number of console links and sessions. */
export const CONSOLE_KEPT = { link: 20, session: 100 } as const;

/** StoredError, as JSON, of a job whose server ended on every attempt. */
export const CRASHED = JSON.stringify(
  toStoredError(
    new CaptureError({ code: 'render_crashed', message: 'The browser stopped while it rendered this page, on every attempt.' }),
  ),
);

/** Returns whether a measured slot time is plausible. */
export function isSlotTime(tookMs: number): boolean {
  return tookMs >= 0 && tookMs <= LONGEST_SLOT_MS;
}

/** Reads the code of a failure from its StoredError as JSON. */
export function codeOfFailure(error: string | null): string {
  return (JSON.parse(error ?? '{}') as Partial<StoredError>).code ?? 'internal_error';
}

/** Returns the stored states that match a reported one; null for all. Queued jobs are reported as `paused` while the queue is paused. */
export function storedStates(state: JobState | null, paused: boolean): readonly StoredJobState[] {
  const queued: StoredJobState[] = ['waiting', 'prioritized'];
  if (state === null) return STORED_JOB_STATES;
  if (state === 'paused') return paused ? queued : [];
  if (state === 'unknown' || (paused && queued.includes(state))) return [];
  return [state];
}

interface ExaminedJob {
  seq: number;
  state: StoredJobState;
}

/**
 * Chooses a page of the newest jobs of all keys.
 * @param examined at most EXAMINED_JOBS_MAX, newest first
 * @returns the page, and in `next` where the next page starts, even after a page that is not full, if older jobs were not examined
 */
export function chooseJobs(
  examined: readonly ExaminedJob[],
  { states, limit }: { states: readonly StoredJobState[]; limit: number },
): { seqs: number[]; next: number | null } {
  const fitting = examined.filter((job) => states.includes(job.state)).map((job) => job.seq);
  const seqs = fitting.slice(0, limit);
  if (fitting.length > limit) return { seqs, next: seqs.at(-1) ?? null };
  return { seqs, next: examined.length === EXAMINED_JOBS_MAX ? (examined.at(-1)?.seq ?? null) : null };
}
