import type { StoredJobState } from '../contract/job.js';

/** Jobs that one page looks at, so that a rare state costs no scan of all jobs. */
export const LOOKED_AT_JOBS = 1_000;

interface Looked {
  seq: number;
  state: StoredJobState;
}

/**
 * Chooses a page of the newest jobs of all keys.
 *
 * @param looked at most LOOKED_AT_JOBS, newest first
 * @returns `next` is where the next page goes on: also of a page that is not full, if there are older jobs that it did not look at
 */
export function chooseJobs(
  looked: readonly Looked[],
  { states, limit }: { states: readonly StoredJobState[]; limit: number },
): { seqs: number[]; next: number | null } {
  const fitting = looked.filter((job) => states.includes(job.state)).map((job) => job.seq);
  const seqs = fitting.slice(0, limit);
  if (fitting.length > limit) return { seqs, next: seqs.at(-1) ?? null };
  return { seqs, next: looked.length === LOOKED_AT_JOBS ? (looked.at(-1)?.seq ?? null) : null };
}
