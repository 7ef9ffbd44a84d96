import { periodOf } from '../../contract/pricing.js';
import { ANY_KEY, accountSteps, INSERT_ACCOUNT, INSERT_KEY, keySteps, keyValues, toJobCounts } from '../accounts.js';
import { isPaused } from '../job-look-ups.js';
import { FOUND_JOB, type FoundJob, type Queries } from '../rows.js';
import type { AccountStore, AccountUsage, JobCounts, KeyStore, QueueStatus, SettlementStatus } from '../store.js';
import type { Vault } from '../vault.js';
import { charge } from './accept.js';
import { type Database, LOCKS } from './connect.js';
import { LINK_SUM } from './jobs.js';

/** In one statement, since the jobs of an account without a turn are never claimed. */
const INSERT_ACCOUNT_AND_TURN = `WITH made AS (${INSERT_ACCOUNT} RETURNING id) INSERT INTO turns (account_id) SELECT id FROM made`;

export function accountsAndKeys(database: Database, vault: Vault): AccountStore & KeyStore {
  return {
    ...accountSteps(database, INSERT_ACCOUNT_AND_TURN),
    ...keySteps(database, vault),
    usage: (accountId, now) => usageOf(database, accountId, now),
    jobCounts: (accountId, now) => countJobs(database, accountId, now),
    charge: (order) => database.transaction((queries) => charge(queries, order)),
    insertFirstKey: (key) =>
      database.transaction(async (queries) => {
        await queries.run('SELECT pg_advisory_xact_lock($1, 0)', [LOCKS.firstKey]);
        return (await queries.one(ANY_KEY)) === null && (await queries.run(INSERT_KEY, keyValues(key))) === 1;
      }),
    async linkCredits(now) {
      const sums = await database.all<{ keyId: string; credits: number }>(
        `SELECT substr(name, ${LINK_SUM.length + 1}) AS key_id, sum(settled + reserved)::bigint AS credits
          FROM sums WHERE period = $1 AND name LIKE '${LINK_SUM}%' GROUP BY name HAVING sum(settled + reserved) > 0`,
        [periodOf(now)],
      );
      return new Map(sums.map(({ keyId, credits }) => [keyId, credits]));
    },
  };
}

/** @throws Error for an account that does not exist */
async function usageOf(queries: Queries, accountId: string, now: number): Promise<AccountUsage> {
  const period = periodOf(now);
  const row = await queries.one<Omit<AccountUsage, 'period'>>(
    `SELECT accounts.name AS account, accounts.quota, coalesce(sum(sums.settled), 0)::bigint AS credits,
        coalesce(sum(sums.reserved), 0)::bigint AS reserved
      FROM accounts LEFT JOIN sums ON sums.account_id = accounts.id AND sums.period = $2
      WHERE accounts.id = $1 GROUP BY accounts.id`,
    [accountId, period],
  );
  if (row === null) throw new Error(`no account ${accountId}`);
  return { ...row, period };
}

async function countJobs(queries: Queries, accountId: string, now: number): Promise<JobCounts> {
  const [unfinished, outcomes] = await Promise.all([
    queries.all<{ state: string; jobs: number }>(
      'SELECT state, count(*) AS jobs FROM jobs WHERE account_id = $1 AND ended_at IS NULL GROUP BY state',
      [accountId],
    ),
    queries.all<{ name: string; jobs: number }>(
      `SELECT name, sum(jobs)::bigint AS jobs FROM sums WHERE account_id = $1 AND period = $2 AND name <> ''
        GROUP BY name HAVING sum(jobs) > 0`,
      [accountId, periodOf(now)],
    ),
  ]);
  return toJobCounts(unfinished, new Map(outcomes.map(({ name, jobs }) => [name, jobs])));
}

/** Reads jobs, newest first. */
export function jobsBySeqs(queries: Queries, seqs: readonly number[]): Promise<FoundJob[]> {
  return queries.all<FoundJob>(`${FOUND_JOB} WHERE job.seq = ANY($1::bigint[]) ORDER BY job.seq DESC`, [seqs]);
}

export async function queueStatus(queries: Queries): Promise<QueueStatus> {
  const [paused, unfinished, ended] = await Promise.all([
    isPaused(queries),
    queries.all<{ state: 'waiting' | 'active' | 'prioritized' | 'delayed'; jobs: number }>(
      'SELECT state, count(*) AS jobs FROM jobs WHERE ended_at IS NULL GROUP BY state',
    ),
    queries.one<{ completed: number; failed: number }>(
      `SELECT coalesce(sum(jobs) FILTER (WHERE name IN ('completed', 'deleted/completed')), 0)::bigint AS completed,
          coalesce(sum(jobs) FILTER (WHERE name NOT IN ('completed', 'deleted/completed', 'pictures') AND name NOT LIKE 'webhooks/%'), 0)::bigint
            AS failed FROM sums`,
    ),
  ]);
  const counts = { waiting: 0, active: 0, prioritized: 0, delayed: 0 };
  for (const { state, jobs } of unfinished) counts[state] = jobs;
  return { ...counts, completed: ended?.completed ?? 0, failed: ended?.failed ?? 0, paused };
}

/** Counts the credits of all jobs, including deleted ones: completed jobs are settled, failed jobs released. */
export async function settlement(queries: Queries, now: number): Promise<SettlementStatus> {
  const [pending, ended] = await Promise.all([
    queries.one<{ jobs: number; oldest: number | null }>(
      `SELECT count(*) AS jobs, min(created_at) AS oldest FROM reservations WHERE state = 'pending'`,
    ),
    queries.one<{ settled: number; released: number }>(
      `SELECT coalesce(sum(jobs) FILTER (WHERE name = 'completed'), 0)::bigint AS settled,
          coalesce(sum(jobs) FILTER (WHERE name <> 'completed'), 0)::bigint AS released FROM sums WHERE period <> '' AND name <> ''`,
    ),
  ]);
  const oldest = pending?.oldest ?? null;
  return {
    pending: pending?.jobs ?? 0,
    settled: ended?.settled ?? 0,
    released: ended?.released ?? 0,
    oldestPendingMs: oldest === null ? 0 : Math.max(0, now - oldest),
  };
}

export async function webhookTotals(queries: Queries): Promise<{ delivered: number; failed: number; errors: number }> {
  const found = await queries.all<{ name: string; jobs: number }>(
    `SELECT name, sum(jobs)::bigint AS jobs FROM sums WHERE name LIKE 'webhooks/%' GROUP BY name`,
  );
  const of = (name: string) => found.find((row) => row.name === `webhooks/${name}`)?.jobs ?? 0;
  return { delivered: of('delivered'), failed: of('failed'), errors: of('errors') };
}

export async function nextDueAt(queries: Queries): Promise<number | null> {
  return (
    (await queries.one<{ at: number | null }>('SELECT min(due_at) AS at FROM queue_entries WHERE due_at IS NOT NULL'))
      ?.at ?? null
  );
}
