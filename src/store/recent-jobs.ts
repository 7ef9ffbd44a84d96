import type { StoredJobState } from '../contract/job.js';

/** Number of jobs that one page examines, so that a rare state needs no scan of all jobs. */
export const LOOKED_AT_JOBS = 1_000;

interface Looked {
  seq: number;
  state: StoredJobState;
}

/**
 * Chooses a page of the newest jobs of all keys.
 * @param looked at most LOOKED_AT_JOBS, newest first
 * @returns the page, and in `next` where the next page starts, even after a page that is not full, if older jobs were not examined
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
