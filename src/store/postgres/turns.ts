import { isSlotTime } from '../rules.js';
import type { Queries } from './connect.js';
import type { JobRow } from './job-rows.js';

/**
 * For the FROM clause of a statement whose loss in a crash of the database does no harm: its commit does not wait for the disk, so that
 * others do not wait for its row.
 */
export const RELAXED = `(SELECT set_config('synchronous_commit', 'off', true)) relaxed`;

/**
 * Corrects the charges of accounts to the actual time, when jobs have released their slots.
 * @returns the ids of jobs that others follow
 */
export async function correctTurns(queries: Queries, ended: readonly ReleasedSlot[]): Promise<Set<string>> {
  if (ended.length === 0) return new Set();
  const took = ended.map(({ claimedAt, bookedMs, now }) => {
    const ms = claimedAt === null || bookedMs === null ? null : now - claimedAt;
    return ms !== null && isSlotTime(ms) ? ms : null;
  });
  // Both calls stand in the select list: in a WITH or FROM clause, a function is not called where the plan first finds no follower.
  const found = await queries.one<{ followed: string[] }>(
    `SELECT stillframe_settle_1($1, $2, $3),
        array(SELECT ended.id FROM unnest($4::text[]) AS ended(id) WHERE EXISTS (SELECT 1 FROM jobs WHERE leader_id = ended.id)) AS followed
      FROM ${RELAXED}`,
    [ended.map((job) => job.accountId), took, ended.map((job) => job.bookedMs), ended.map((job) => job.id)],
  );
  return new Set(found?.followed);
}

interface ReleasedSlot extends Pick<JobRow, 'id' | 'accountId' | 'claimedAt' | 'bookedMs'> {
  /** When the slot was released, in Unix ms. */
  now: number;
}
