import { eventOf } from '../../contract/job.js';
import type { Claim, EndedJob } from '../store.js';
import type { Ending } from './jobs.js';
import { SHARED_DATA } from './result-data.js';
import type { JobRow } from './schema.js';
import type { Tables } from './tables.js';

type EndTables = Pick<Tables, 'jobs' | 'orders' | 'reservations' | 'deliveries' | 'turns'>;

/**
 * Ends a claimed job, and those that follow it, with all that hangs on the end: credits, wiped orders, due deliveries. Runs inside
 * the caller's transaction.
 *
 * @returns the ended jobs, the claimed one first; empty when the claim was lost
 */
export function endJob(tables: EndTables, held: Claim, ending: Ending): EndedJob[] {
  const job = tables.jobs.end(held, ending, ending.state === 'completed' ? ending.now : null);
  if (job === null) return [];
  tables.turns.settle(job, ending.now);
  const leader = { id: job.id, workerId: held.workerId };
  const followers = tables.jobs.followersOf(job.id);
  const heirs = ending.state === 'failed' ? followers.filter((follower) => follower.timeoutMs > job.timeoutMs) : [];
  handOver(tables, job, heirs);
  const shared = ending.data === null ? ending : { ...ending, data: SHARED_DATA };
  const ended = followers.filter((follower) => !heirs.includes(follower));
  for (const follower of ended) expectOne(tables.jobs.endFollower(follower.id, leader, shared), follower.id);
  return [job, ...ended].map((row) => concludeJob(tables, row, ending));
}

/** Followers that were promised more time than the failed render had go on: the first renders for the others. */
function handOver({ jobs }: Pick<EndTables, 'jobs'>, from: JobRow, heirs: JobRow[]): void {
  const [first, ...others] = heirs;
  if (first === undefined) return;
  expectOne(jobs.follow(first.id, from.id, null), first.id);
  for (const other of others) expectOne(jobs.follow(other.id, from.id, first.id), other.id);
  if (others.some((other) => other.lane === 'prioritized')) jobs.promote(first.id);
}

function concludeJob(tables: Omit<EndTables, 'jobs' | 'turns'>, row: JobRow, { state, now }: Ending): EndedJob {
  tables.orders.wipe(row.id);
  if (state === 'completed') tables.reservations.settle(row.id);
  else tables.reservations.release(row.id);
  const hasWebhook = row.webhookUrl !== null && tables.deliveries.announce(row.id, eventOf(state), now);
  return { id: row.id, requestId: row.requestId, accountId: row.accountId, state, hasWebhook };
}

function expectOne(changed: boolean, id: string): void {
  if (!changed) throw new Error(`job ${id} did not follow as it was read`);
}
