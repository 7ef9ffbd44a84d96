/** Reads of jobs for clients and the console, for both engines. */
import { type JobState, STORED_JOB_STATES, type StoredJobState } from '../contract/job.js';
import {
  FOUND_JOB,
  type FoundJob,
  IS_SHOWN,
  JOB_BY_ID,
  JOB_BY_IDEMPOTENCY_KEY,
  type Queries,
  toSnapshot,
} from './rows.js';
import type { JobPage, JobPageRequest, JobStore, RecentJobs } from './store.js';

/** Number of jobs that one page examines, so that a rare state needs no scan of all jobs. */
export const EXAMINED_JOBS_MAX = 1_000;

/** Limits of a search for earlier pictures of a URL, for which there is no index: jobs of the account examined, and pictures found. */
const EARLIER = { examined: 5_000, found: 20 };

/** Ended jobs that a history examines, so that a busy server reads as few as an idle one. */
const RECENT_MAX = 5_000;
const HOUR_MS = 3_600_000;

export type JobLookUps = Pick<
  JobStore,
  'findJob' | 'findJobByIdempotencyKey' | 'listJobs' | 'listAllJobs' | 'earlierPictures' | 'recentJobs' | 'newestJobAt'
>;

/** @param bySeqs reads these jobs, newest first */
export function jobLookUps(queries: Queries, bySeqs: (seqs: readonly number[]) => Promise<FoundJob[]>): JobLookUps {
  const find = async (text: string, values: readonly unknown[]) => {
    const row = await queries.one<FoundJob>(text, values);
    return row === null ? null : toSnapshot(row);
  };
  return {
    findJob: (id) => find(`${JOB_BY_ID} AND ${IS_SHOWN}`, [id]),
    findJobByIdempotencyKey: (accountId, key) => find(`${JOB_BY_IDEMPOTENCY_KEY} AND ${IS_SHOWN}`, [accountId, key]),
    listJobs: (keyId, page) => listJobs(queries, keyId, page),
    async listAllJobs(page) {
      const [paused, examined] = await Promise.all([
        isPaused(queries),
        queries.all<ExaminedJob>(
          `SELECT seq, state, lower(url) LIKE $3 ESCAPE '!' AND ($4 = '' OR key_id = $4) AND removed_at IS NULL AS "isFound"
            FROM jobs WHERE seq < $1 ORDER BY seq DESC LIMIT $2`,
          [
            page.before ?? Number.MAX_SAFE_INTEGER,
            EXAMINED_JOBS_MAX,
            containing(page.found?.address ?? ''),
            page.found?.keyId ?? '',
          ],
        ),
      ]);
      const { seqs, next } = chooseJobs(examined, { states: storedStates(page.state, paused), limit: page.limit });
      return { jobs: (await bySeqs(seqs)).map(toSnapshot), next };
    },
    async earlierPictures(jobId) {
      const job = await queries.one<FoundJob>(JOB_BY_ID, [jobId]);
      if (job === null) return [];
      const found = await queries.all<FoundJob>(
        `${FOUND_JOB} WHERE job.seq < $1 AND job.seq >= $2 AND job.account_id = $3 AND job.url = $4
          AND job.data IS NOT NULL AND artifacts.gone_at IS NULL ORDER BY job.seq DESC LIMIT $5`,
        [job.seq, job.seq - EARLIER.examined, job.accountId, job.url, EARLIER.found],
      );
      return found.map(toSnapshot);
    },
    recentJobs: async (since) => {
      const rows = await queries.all<RecentJobs>(
        `SELECT CAST((ended_at - $1) / $2 AS integer) AS hour, state, rendered_at IS NULL AS shared, count(*) AS jobs
          FROM (SELECT ended_at, state, rendered_at FROM jobs WHERE ended_at IS NOT NULL AND ended_at >= $1 ORDER BY ended_at DESC LIMIT $3) AS latest
          GROUP BY 1, 2, 3`,
        [since, HOUR_MS, RECENT_MAX],
      );
      return rows.map(({ hour, state, shared, jobs }) => ({
        hour: Number(hour),
        state,
        shared: Boolean(shared),
        jobs: Number(jobs),
      }));
    },
    newestJobAt: async () =>
      (await queries.one<{ at: number }>('SELECT enqueued_at AS at FROM jobs ORDER BY seq DESC LIMIT 1'))?.at ?? null,
  };
}

/** A pattern for LIKE. The text may have nothing that is one. */
function containing(text: string): string {
  return `%${text.toLowerCase().replace(/[!%_]/g, '!$&')}%`;
}

/** Reads a page of a key's jobs, newest first. Each state is read through an index, so that a rare one needs no scan of the others. */
async function listJobs(queries: Queries, keyId: string, { state, before, limit }: JobPageRequest): Promise<JobPage> {
  const states = storedStates(state, await isPaused(queries));
  const perState = await Promise.all(
    states.map((stored) =>
      queries.all<FoundJob>(
        `${FOUND_JOB} WHERE job.key_id = $1 AND ${indexOf(stored)} AND ${IS_SHOWN} AND job.state = $2 AND job.seq < $3
          ORDER BY job.seq DESC LIMIT $4`,
        [keyId, stored, before ?? Number.MAX_SAFE_INTEGER, limit + 1],
      ),
    ),
  );
  const found = perState.flat().sort((one, other) => other.seq - one.seq);
  const shown = found.slice(0, limit);
  return { jobs: shown.map(toSnapshot), next: found.length > limit ? (shown.at(-1)?.seq ?? null) : null };
}

/** Returns the condition of PostgreSQL's index that covers a state without naming it, since each claim changes the state. */
function indexOf(state: StoredJobState): string {
  if (state === 'completed') return 'job.data IS NOT NULL';
  return state === 'failed' ? 'job.error IS NOT NULL' : 'job.ended_at IS NULL';
}

export async function isPaused(queries: Pick<Queries, 'one'>): Promise<boolean> {
  return Boolean((await queries.one<{ paused: boolean | number }>('SELECT paused FROM queue'))?.paused);
}

/** Returns the stored states that match a reported one; null for all. Queued jobs are reported as `paused` while the queue is paused. */
function storedStates(state: JobState | null, paused: boolean): readonly StoredJobState[] {
  const queued: StoredJobState[] = ['waiting', 'prioritized'];
  if (state === null) return STORED_JOB_STATES;
  if (state === 'paused') return paused ? queued : [];
  if (state === 'unknown' || (paused && queued.includes(state))) return [];
  return [state];
}

interface ExaminedJob {
  seq: number;
  state: StoredJobState;
  isFound: boolean | number;
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
  const fitting = examined.filter((job) => job.isFound && states.includes(job.state)).map((job) => job.seq);
  const seqs = fitting.slice(0, limit);
  if (fitting.length > limit) return { seqs, next: seqs.at(-1) ?? null };
  return { seqs, next: examined.length === EXAMINED_JOBS_MAX ? (examined.at(-1)?.seq ?? null) : null };
}
