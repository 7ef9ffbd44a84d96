import { chooseJobs, EXAMINED_JOBS_MAX, storedStates } from '../rules.js';
import { toSnapshot } from '../snapshot.js';
import type { JobPage, JobPageRequest, QueueStatus, SettlementStatus } from '../store.js';
import type { Queries } from './connect.js';
import { jobsBySeqs, jobsOfKey, newestStates } from './job-rows.js';

/** Reads a page of a key's jobs, newest first. Each state is read through an index, so that a rare one needs no scan of the others. */
export async function listJobs(queries: Queries, keyId: string, page: JobPageRequest): Promise<JobPage> {
  const before = page.before ?? Number.MAX_SAFE_INTEGER;
  const states = storedStates(page.state, await isPaused(queries));
  const perState = await Promise.all(states.map((state) => jobsOfKey(queries, keyId, { state, before, limit: page.limit + 1 })));
  const found = perState.flat().sort((one, other) => other.seq - one.seq);
  const shown = found.slice(0, page.limit);
  return { jobs: shown.map(toSnapshot), next: found.length > page.limit ? (shown.at(-1)?.seq ?? null) : null };
}

/** Reads a page of the jobs of all keys, newest first. */
export async function listAllJobs(queries: Queries, page: JobPageRequest): Promise<JobPage> {
  const [paused, examined] = await Promise.all([
    isPaused(queries),
    newestStates(queries, page.before ?? Number.MAX_SAFE_INTEGER, EXAMINED_JOBS_MAX),
  ]);
  const { seqs, next } = chooseJobs(examined, { states: storedStates(page.state, paused), limit: page.limit });
  return { jobs: (await jobsBySeqs(queries, seqs)).map(toSnapshot), next };
}

async function isPaused(queries: Queries): Promise<boolean> {
  return (await queries.one<{ paused: boolean }>('SELECT paused FROM queue'))?.paused === true;
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
  return (await queries.one<{ at: number | null }>('SELECT min(due_at) AS at FROM queue_entries WHERE due_at IS NOT NULL'))?.at ?? null;
}

export async function newestJobAt(queries: Queries): Promise<number | null> {
  const newest = await queries.one<{ at: number }>('SELECT enqueued_at AS at FROM jobs ORDER BY seq DESC LIMIT 1');
  return newest?.at ?? null;
}
