import { idAt } from '../../contract/ids.js';
import { JOBS_WITH_FILES_MAX, JOBS_WITH_FILES_OF_ACCOUNT_MAX } from '../../contract/limits.js';
import type { RetentionStore } from '../store.js';

/** Approximate size of a job in the database, including indexes, credits and delivery. */
export const JOB_BYTES = 2_000;

/** The time for which files of a request are kept that no job has yet: longer than it takes to store and accept them. */
const UNACCEPTED_MS = 600_000;

/**
 * Files of a request are recorded for removal before they are stored, with the id of their job (NewJob.files). No claim holds them, so their
 * worker is `FILES_OF_JOB`.
 */
const FILES_OF_JOB = '';

/**
 * Lists at most $2 artifacts to remove from the storage, by name after $1. Leaves out artifacts that a live claim is about to store.
 * Leaves out files of jobs that have not ended, and of jobs whose id is at least $3, since those may yet be accepted.
 */
export const DUE_REMOVALS = `SELECT name FROM removals WHERE name > $1 AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = removals.job_id
    AND ((jobs.worker_id = removals.worker_id AND jobs.attempts_made = removals.attempt AND jobs.state = 'active')
      OR (removals.worker_id = '${FILES_OF_JOB}' AND jobs.ended_at IS NULL)))
    AND (removals.worker_id IS NULL OR removals.worker_id <> '${FILES_OF_JOB}' OR removals.job_id < $3
      OR EXISTS (SELECT 1 FROM jobs WHERE jobs.id = removals.job_id))
  ORDER BY name LIMIT $2`;

/** Returns the parameters of DUE_REMOVALS. */
export function dueValues({ after, limit, now }: Parameters<RetentionStore['dueRemovals']>[0]): unknown[] {
  return [after, limit, idAt('job', now - UNACCEPTED_MS)];
}

/** Records the files ($1) of a job ($2) of an account ($3), unless too many are stored. */
export const ANNOUNCE_FILES = `INSERT INTO removals (name, job_id, worker_id, attempt) SELECT $1, $2, '${FILES_OF_JOB}', 0
  WHERE (SELECT count(*) FROM removals WHERE worker_id = '${FILES_OF_JOB}') < ${JOBS_WITH_FILES_MAX}
    AND (SELECT count(*) FROM removals JOIN jobs ON jobs.id = removals.job_id
      WHERE removals.worker_id = '${FILES_OF_JOB}' AND jobs.account_id = $3) < ${JOBS_WITH_FILES_OF_ACCOUNT_MAX}`;

/** Selects the names of recorded files of requests, for a list of names that follows. */
export const RECORDED_FILES = `SELECT name FROM removals WHERE worker_id = '${FILES_OF_JOB}' AND name`;

/** Runs slices until one is not full, with other writes in between. @returns the total */
export async function inSlices(
  limit: number,
  sliceRows: number,
  slice: (limit: number) => Promise<number>,
): Promise<number> {
  let done = 0;
  while (done < limit) {
    const wanted = Math.min(sliceRows, limit - done);
    const count = await slice(wanted);
    done += count;
    if (count < wanted) break;
  }
  return done;
}
