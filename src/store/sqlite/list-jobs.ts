import { periodOf } from '../../contract/pricing.js';
import { chooseJobs, LOOKED_AT_JOBS } from '../recent-jobs.js';
import { storedStates } from '../rules.js';
import { toSnapshot } from '../snapshot.js';
import type { JobCounts, JobPage, JobPageWish } from '../store.js';
import type { Tables } from './tables.js';

/** A page of a key's jobs, newest first. Each state is read through an index, so that a rare one takes no scan of the others. */
export function listJobs({ jobs, counters }: Pick<Tables, 'jobs' | 'counters'>, keyId: string, page: JobPageWish): JobPage {
  const before = page.before ?? Number.MAX_SAFE_INTEGER;
  const found = storedStates(page.state, counters.isPaused())
    .flatMap((state) => jobs.ofKey(keyId, { state, before, limit: page.limit + 1 }))
    .sort((one, other) => other.seq - one.seq);
  const shown = found.slice(0, page.limit);
  return { jobs: shown.map(toSnapshot), next: found.length > page.limit ? (shown.at(-1)?.seq ?? null) : null };
}

/** A page of the jobs of all keys, newest first. */
export function listAllJobs({ jobs, counters }: Pick<Tables, 'jobs' | 'counters'>, page: JobPageWish): JobPage {
  const states = storedStates(page.state, counters.isPaused());
  const looked = jobs.newestStates(page.before ?? Number.MAX_SAFE_INTEGER, LOOKED_AT_JOBS);
  const { seqs, next } = chooseJobs(looked, { states, limit: page.limit });
  return { jobs: jobs.bySeqs(seqs).map(toSnapshot), next };
}

export function countJobs({ jobs, outcomes }: Pick<Tables, 'jobs' | 'outcomes'>, accountId: string, now: number): JobCounts {
  const ended = outcomes.of(accountId, periodOf(now));
  const completed = ended.get('completed') ?? 0;
  ended.delete('completed');
  const byCode = Object.fromEntries([...ended].sort(([one], [other]) => one.localeCompare(other)));
  const failed = [...ended.values()].reduce((sum, count) => sum + count, 0);
  const byState = { waiting: 0, prioritized: 0, active: 0, delayed: 0, completed, failed };
  for (const { state, jobs: count } of jobs.unfinished(accountId)) byState[state] = count;
  return { byState, byCode };
}
