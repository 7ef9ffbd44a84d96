import { JOB_COLUMNS, type JobRow, type Queries } from '../rows.js';
import { emptiedResult, firstArtifactOf, toEnded } from '../rules/jobs.js';
import type { RemovedJob } from '../store.js';
import { type Database, LOCKS } from './connect.js';
import { type Corrections, cancelLocked, endFollowers } from './jobs.js';
import { expire } from './retention.js';

/** Removes a job of a key, or of any; then lets the first of those that share its render continue, which the sweep does if that fails. */
export async function removeJob(
  database: Database,
  { id, keyId, now, corrections }: { id: string; keyId: string | null; now: number; corrections: Corrections },
): Promise<RemovedJob | null> {
  const removed = await database.transaction(async (queries) => {
    const job = await queries.one<JobRow>(`SELECT ${JOB_COLUMNS} FROM jobs job WHERE id = $1 FOR NO KEY UPDATE`, [id]);
    if (job === null || job.removedAt !== null || (keyId !== null && job.keyId !== keyId)) return null;
    if (job.endedAt !== null) return { job, row: null, artifacts: await forgetEnded(queries, job, now) };
    return { job, row: await cancelLocked(queries, id, now), artifacts: [] };
  });
  if (removed === null) return null;
  const { job, row, artifacts } = removed;
  if (row === null) return { canceled: null, artifacts };
  const claimed = job.state === 'active' ? row : { ...row, bookedMs: null };
  corrections.add([{ ...claimed, now }]);
  const isFollowed = row.isFollowed && (await endFollowers(database, id).catch(() => [])) !== null;
  return { canceled: { ...toEnded({ ...row, url: job.url }, row), isFollowed }, artifacts };
}

async function forgetEnded(queries: Queries, job: JobRow, now: number): Promise<string[]> {
  // A submission that takes the picture from the cache holds the same lock.
  if (job.cacheDigest !== null)
    await queries.run('SELECT pg_advisory_xact_lock($1, hashtext($2))', [
      LOCKS.cacheDigest,
      `${job.accountId} ${job.cacheDigest}`,
    ]);
  const { data, error } = emptiedResult(job);
  await queries.run(
    `UPDATE jobs SET removed_at = $2, url = '', webhook_url = NULL, cache_digest = NULL, data = $3, error = $4 WHERE id = $1`,
    [job.id, now, data, error],
  );
  await queries.run('DELETE FROM deliveries WHERE job_id = $1', [job.id]);
  const first = firstArtifactOf(job);
  if (first === null) return [];
  const kept = await queries.one(
    `SELECT 1 FROM jobs WHERE artifact_name = $1 AND removed_at IS NULL
      UNION ALL SELECT 1 FROM artifacts WHERE (name = $1 OR first_name = $1) AND watch_run IS NOT NULL LIMIT 1`,
    [first],
  );
  if (kept !== null) return [];
  const names = await expire(queries, [first], now);
  await queries.run(`UPDATE artifacts SET data = '{}' WHERE name = $1`, [first]);
  return names;
}
