/** Approximate size of a job in the database, including indexes, credits and delivery. */
export const JOB_BYTES = 2_000;

/** Lists artifacts whose file is to be removed, after $1, at most $2, without those that a live claim is about to store. */
export const DUE_REMOVALS = `SELECT name FROM removals WHERE name > $1 AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = removals.job_id
    AND jobs.worker_id = removals.worker_id AND jobs.attempts_made = removals.attempt AND jobs.state = 'active')
  ORDER BY name LIMIT $2`;

/** Runs slices until one is not full, with other writes in between. @returns the total */
export async function inSlices(limit: number, sliceRows: number, slice: (limit: number) => Promise<number>): Promise<number> {
  let done = 0;
  while (done < limit) {
    const wanted = Math.min(sliceRows, limit - done);
    const count = await slice(wanted);
    done += count;
    if (count < wanted) break;
  }
  return done;
}
