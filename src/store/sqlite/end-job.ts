import { eventOf } from '../../contract/job.js';
import { periodOf } from '../../contract/pricing.js';
import { codeOfFailure, SLICE_FOLLOWERS } from '../rules.js';
import { SHARED_DATA } from '../snapshot.js';
import type { Claim, EndedJob } from '../store.js';
import type { Ending } from './jobs.js';
import type { JobRow } from './schema.js';
import type { Tables } from './tables.js';

type EndTables = Pick<Tables, 'jobs' | 'orders' | 'outcomes' | 'reservations' | 'deliveries' | 'turns'>;

/** A slice ends no further follower after this time: commit and log lines add to it, and all of it blocks the event loop. */
const SLICE_MS = 4;

/**
 * Ends a claimed job and the first slice of its followers (`endFollowers` ends the others), together with credits, orders and deliveries.
 * Runs inside the caller's transaction.
 * @returns the ended jobs, the claimed one first, also if an earlier try was committed although its sync failed; empty if the claim was
 * lost
 */
export function endJob(tables: EndTables, held: Claim, ending: Ending): EndedJob[] {
  const job = tables.jobs.end(held, ending, ending.state === 'completed' ? ending.now : null);
  if (job === null) return endedEarlier(tables, held, ending);
  tables.turns.correct(job, ending.now);
  const own = endWithEffects(tables, job, ending);
  const followers = endFollowers(tables, job);
  return [{ ...own, isFollowed: followers.length > 0 || tables.jobs.followersOf(job.id, 1).length > 0 }, ...followers];
}

function endedEarlier({ jobs }: Pick<EndTables, 'jobs'>, { id, workerId, attempt }: Claim, ending: Ending): EndedJob[] {
  const own = jobs.find(id);
  const isSame = own?.workerId === workerId && own.attemptsMade === attempt && own.state === ending.state;
  if (!isSame || own.artifactName !== ending.artifactName || own.error !== ending.error) return [];
  const isFollowed = jobs.followersOf(id, 1).length > 0;
  return [{ ...toEnded(own, ending), isFollowed }, ...jobs.endedWith(own).map((row) => toEnded(row, ending))];
}

/**
 * Ends the next slice of an ended job's followers with the same result. After a failure, followers with a longer timeout continue: the
 * first of them renders for the others. Runs inside the caller's transaction.
 * @returns the ended jobs
 */
export function endFollowers(tables: EndTables, leader: JobRow): EndedJob[] {
  const { state, endedAt, artifactName, error } = leader;
  if ((state !== 'completed' && state !== 'failed') || endedAt === null) return [];
  const ending: Ending = { state, now: endedAt, artifactName, error, data: state === 'completed' ? SHARED_DATA : null };
  const ended: EndedJob[] = [];
  const deadline = performance.now() + SLICE_MS;
  for (const follower of tables.jobs.followersOf(leader.id, SLICE_FOLLOWERS)) {
    if (state === 'failed' && follower.timeoutMs > leader.timeoutMs) continueFollower(tables, leader, follower);
    else {
      expectOne(tables.jobs.endFollower(follower.id, { id: leader.id, workerId: leader.workerId ?? '' }, ending), follower.id);
      ended.push(endWithEffects(tables, follower, ending));
    }
    if (performance.now() > deadline) break;
  }
  return ended;
}

function continueFollower({ jobs }: Pick<EndTables, 'jobs'>, from: JobRow, follower: JobRow): void {
  const next = follower.cacheDigest === null ? null : jobs.findInFlight(follower.accountId, follower.cacheDigest);
  expectOne(jobs.follow(follower.id, from.id, next), follower.id);
  if (next !== null && follower.lane === 'prioritized') jobs.promote(next);
}

function endWithEffects(tables: Omit<EndTables, 'jobs' | 'turns'>, row: JobRow, { state, now, error }: Ending): EndedJob {
  tables.orders.wipe(row.id);
  tables.outcomes.count(row.accountId, periodOf(now), state === 'completed' ? state : codeOfFailure(error));
  if (state === 'completed') tables.reservations.settle(row.id);
  else tables.reservations.release(row.id);
  const hasWebhook = row.webhookUrl !== null && tables.deliveries.announce(row.id, eventOf(state), now);
  return { ...toEnded(row, { state }), hasWebhook };
}

function toEnded({ id, url, requestId, accountId, webhookUrl }: JobRow, { state }: Pick<Ending, 'state'>): EndedJob {
  return { id, url, requestId, accountId, state, hasWebhook: webhookUrl !== null, isFollowed: false };
}

function expectOne(changed: boolean, id: string): void {
  if (!changed) throw new Error(`job ${id} did not follow as it was read`);
}
