import { isSlotTime } from '../rules.js';
import type { Queries } from './connect.js';
import type { JobRow } from './job-rows.js';

/**
 * For the FROM clause of a statement whose loss in a crash of the database does no harm: its commit does not wait for the disk, so that
 * others do not wait for its row.
 */
export const RELAXED = `(SELECT set_config('synchronous_commit', 'off', true)) relaxed`;

/**
 * To be called when a job has released its slot: corrects the charge of its account to the time that it took.
 *
 * @returns whether other jobs follow its render
 */
export async function settleTurn(
  queries: Queries,
  { id, accountId, claimedAt, bookedMs }: Pick<JobRow, 'id' | 'accountId' | 'claimedAt' | 'bookedMs'>,
  now: number,
): Promise<boolean> {
  const tookMs = claimedAt === null || bookedMs === null ? null : now - claimedAt;
  const isMeasured = tookMs !== null && isSlotTime(tookMs);
  const found = await queries.one<{ followed: boolean }>(
    `WITH settled AS (
      UPDATE turns SET tag = tag + $2::bigint - $3::bigint, typical_ms = (3 * typical_ms + $2::bigint) / 4 FROM ${RELAXED}
        WHERE account_id = $1 AND $2::bigint IS NOT NULL)
     SELECT EXISTS (SELECT 1 FROM jobs WHERE leader_id = $4) AS followed`,
    [accountId, isMeasured ? tookMs : null, bookedMs, id],
  );
  return found?.followed ?? false;
}
