import type { Queries } from '../rows.js';
import { ANNOUNCE_FILES, DUE_REMOVALS, dueValues, inSlices, JOB_BYTES, RECORDED_FILES } from '../rules/retention.js';
import type { RetentionStore } from '../store.js';
import { type Database, LOCKS } from './connect.js';
import { expireDeliveries } from './deliveries.js';

/** Number of rows per statement. */
const SLICE_ROWS = 100;
const ROLLED_UP_ROWS = 5_000;

type Expiry = Parameters<RetentionStore['expireArtifacts']>[0];

export function retentionSteps(database: Database, cleansUp: () => boolean): RetentionStore {
  const names = async (text: string, values: readonly unknown[]) =>
    (await database.all<{ name: string }>(text, values)).map((row) => row.name);
  return {
    findArtifact: (name) =>
      database.one('SELECT name, bytes, sha256, created_at, gone_at FROM artifacts WHERE name = $1', [name]),
    keepArtifact: async ({ name, bytes, sha256, createdAt, accountId }) => {
      await database.run(
        `WITH kept AS (INSERT INTO artifacts (name, bytes, sha256, created_at, account_id, data)
            VALUES ($1, $2, $3, $4, $5, '{}') RETURNING account_id, bytes)
         INSERT INTO tallies (account_id, period, name, bytes) SELECT account_id, '', 'pictures', bytes FROM kept`,
        [name, bytes, sha256, createdAt, accountId],
      );
    },
    cleansUp,
    markGone: (name, now) => markMissing(database, name, now),
    storageUse: () => storageUse(database),
    // PostgreSQL's own autovacuum reuses the space.
    shrinkDatabase: async () => undefined,
    expireArtifacts: (rules) => expireArtifacts(database, rules),
    announceFiles: async ({ name, jobId, accountId }) =>
      (await database.run(ANNOUNCE_FILES, [name, jobId, accountId])) === 1,
    dueRemovals: (page) => names(DUE_REMOVALS, dueValues(page)),
    forgetRemovals: async (removed) =>
      void (await database.run('DELETE FROM removals WHERE name = ANY($1)', [removed])),
    expireDeliveries: (rules) => expireDeliveries(database, rules),
    deleteJobs: ({ before, limit }) => inSlices(limit, SLICE_ROWS, (rows) => deleteSlice(database, before, rows)),
    keptArtifacts: async (asked) =>
      new Set(
        await names(
          `SELECT name FROM artifacts WHERE name = ANY($1) AND gone_at IS NULL UNION ALL ${RECORDED_FILES} = ANY($1)`,
          [asked],
        ),
      ),
    artifactNames: ({ after, limit }) =>
      names(
        'SELECT name FROM artifacts WHERE gone_at IS NULL AND name COLLATE "C" > $1 ORDER BY name COLLATE "C" LIMIT $2',
        [after, limit],
      ),
  };
}

/** Adds tallies up, some at a time. Only one node does so at a time; readers see each change once, before or after. */
export async function rollUp(database: Database): Promise<void> {
  for (let rows = ROLLED_UP_ROWS; rows === ROLLED_UP_ROWS; ) {
    rows = await database.transaction(async (queries) => {
      const free = await queries.one<{ free: boolean }>('SELECT pg_try_advisory_xact_lock($1, 0) AS free', [
        LOCKS.sweep,
      ]);
      return free?.free === true ? await rollUpSlice(queries) : 0;
    });
  }
}

async function rollUpSlice(queries: Queries): Promise<number> {
  const moved = await queries.one<{ rows: number }>(
    `WITH moved AS (
      DELETE FROM tallies WHERE id IN (SELECT id FROM tallies ORDER BY id LIMIT ${ROLLED_UP_ROWS} FOR UPDATE SKIP LOCKED) RETURNING *),
     added AS (INSERT INTO totals AS known (account_id, period, name, reserved, settled, jobs, bytes)
      SELECT account_id, period, name, sum(reserved), sum(settled), sum(jobs), sum(bytes) FROM moved
        GROUP BY account_id, period, name ORDER BY account_id, period, name
      ON CONFLICT (account_id, period, name) DO UPDATE SET reserved = known.reserved + excluded.reserved,
        settled = known.settled + excluded.settled, jobs = known.jobs + excluded.jobs, bytes = known.bytes + excluded.bytes)
     SELECT count(*) AS rows FROM moved`,
  );
  return moved?.rows ?? 0;
}

/** Reports no database size, since the database is on a disk of its own, to which the storage limit does not apply. */
async function storageUse(queries: Queries): Promise<{ pictures: number; database: number; free: number }> {
  const use = await queries.one<{ bytes: number }>(`SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM sums`);
  return { pictures: use?.bytes ?? 0, database: 0, free: 0 };
}

/**
 * Marks artifacts as deleted, in slices: those that are too old, then those that exceed the limit.
 * @returns their names
 */
async function expireArtifacts(database: Database, rules: Expiry): Promise<string[]> {
  const expired: string[] = [];
  await inSlices(rules.limit, SLICE_ROWS, async (limit) => {
    const old = await expireOld(database, rules, limit);
    expired.push(...old);
    return old.length;
  });
  while (expired.length < rules.limit) {
    const next = await expireLargest(database, rules);
    if (next.length === 0) break;
    expired.push(...next);
  }
  return expired;
}

async function expireOld(database: Database, { before, now }: Expiry, limit: number): Promise<string[]> {
  const old = await database.all<{ name: string }>(
    `SELECT name FROM artifacts WHERE gone_at IS NULL AND watch_run IS NULL AND created_at < $1 ORDER BY created_at, name LIMIT $2`,
    [before, limit],
  );
  const names = old.map((row) => row.name);
  return await expire(database, names, now);
}

/** Expires the oldest picture of the account that uses the most space, while all exceed the limit. One node at a time decides. */
function expireLargest(database: Database, { maxBytes, now }: Expiry): Promise<string[]> {
  return database.transaction(async (queries) => {
    const free = await queries.one<{ free: boolean }>('SELECT pg_try_advisory_xact_lock($1, 1) AS free', [LOCKS.sweep]);
    if (free?.free !== true) return [];
    const { pictures } = await storageUse(queries);
    if (pictures <= maxBytes) return [];
    const next = await queries.one<{ name: string }>(
      `SELECT name FROM artifacts WHERE gone_at IS NULL AND account_id = (
          SELECT account_id FROM sums GROUP BY account_id HAVING sum(bytes) > 0
          ORDER BY sum(bytes) + ${JOB_BYTES} * (coalesce(sum(jobs) FILTER (WHERE name NOT LIKE 'webhooks/%'), 0)
            + (SELECT count(*) FROM jobs WHERE jobs.account_id = sums.account_id AND ended_at IS NULL)) DESC, account_id LIMIT 1)
        ORDER BY created_at, name LIMIT 1`,
    );
    return next === null ? [] : await expire(queries, [next.name], now);
  });
}

/** Marks artifacts as deleted like `markGone`, and records that their files are to be removed. */
export async function expire(queries: Queries, some: readonly string[], now: number): Promise<string[]> {
  const names = await withOthers(queries, some);
  // This precedes the deletion of rows, so that a crash in between leaves the file to be removed, not forgotten.
  await queries.run('INSERT INTO removals (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING', [names]);
  return await markGone(queries, names, now);
}

/** Records that the file is missing; those of the other pictures of its job are then to be removed. */
async function markMissing(database: Database, name: string, now: number): Promise<boolean> {
  const names = await withOthers(database, [name]);
  const others = names.filter((other) => other !== name);
  if (others.length > 0)
    await database.run('INSERT INTO removals (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING', [others]);
  return (await markGone(database, names, now)).length > 0;
}

/** Adds the other pictures of the same jobs, with which artifacts are deleted. Leaves out those that are marked as deleted. */
async function withOthers(queries: Queries, names: readonly string[]): Promise<string[]> {
  const found = await queries.all<{ name: string }>(
    `WITH firsts AS (SELECT DISTINCT coalesce(first_name, name) AS name FROM artifacts WHERE name = ANY($1))
     SELECT artifacts.name FROM firsts JOIN artifacts ON artifacts.name = firsts.name WHERE gone_at IS NULL
     UNION ALL SELECT artifacts.name FROM firsts JOIN artifacts ON artifacts.first_name = firsts.name WHERE gone_at IS NULL`,
    [names],
  );
  return found.map(({ name }) => name);
}

/**
 * Records that files are deleted, and forgets those that no job refers to.
 * @returns those that were not deleted before
 */
async function markGone(queries: Queries, names: readonly string[], now: number): Promise<string[]> {
  if (names.length === 0) return [];
  const gone = await queries.all<{ name: string }>(
    `WITH gone AS (UPDATE artifacts SET gone_at = $2 WHERE name = ANY($1) AND gone_at IS NULL RETURNING name, account_id, bytes),
     counted AS (INSERT INTO tallies (account_id, period, name, bytes) SELECT account_id, '', 'pictures', -bytes FROM gone)
     SELECT name FROM gone`,
    [names, now],
  );
  const goneNow = new Set(gone.map((row) => row.name));
  const marked = names.filter((name) => goneNow.has(name));
  await forget(queries, marked);
  return marked;
}

/** Deletes the rows of deleted artifacts that no job refers to any more, with those of the further pictures. */
async function forget(queries: Queries, names: readonly string[]): Promise<void> {
  await queries.run(
    `DELETE FROM artifacts WHERE name = ANY($1) AND first_name IS NULL AND gone_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM jobs WHERE artifact_name = artifacts.name)`,
    [names],
  );
}

/** Deletes ended jobs without a pending delivery, oldest first. @returns their number */
async function deleteSlice(database: Database, before: number, limit: number): Promise<number> {
  const removed = await database.all<{ artifactName: string | null }>(
    `WITH removed AS (
      DELETE FROM jobs WHERE ended_at IS NOT NULL AND id IN (
        SELECT job.id FROM jobs job WHERE job.ended_at < $1
            AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.job_id = job.id AND deliveries.state = 'pending')
            AND NOT EXISTS (SELECT 1 FROM jobs follower WHERE follower.leader_id = job.id)
          ORDER BY job.ended_at, job.seq LIMIT $2 FOR UPDATE OF job SKIP LOCKED)
      RETURNING id, account_id, state, artifact_name),
     dropped AS (DELETE FROM deliveries USING removed WHERE deliveries.job_id = removed.id),
     counted AS (INSERT INTO tallies (account_id, period, name, jobs)
      SELECT account_id, '', 'deleted/' || state, -count(*) FROM removed GROUP BY account_id, state)
     SELECT artifact_name FROM removed`,
    [before, limit],
  );
  const names = removed.flatMap(({ artifactName }) => (artifactName === null ? [] : [artifactName]));
  if (names.length > 0) await forget(database, names);
  return removed.length;
}
