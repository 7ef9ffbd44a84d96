import type { Queries } from './connect.js';
import type { JobRow } from './job-rows.js';

/** Longer than any capture holds its slot: a longer measurement means that the clock jumped. */
const LONGEST_SLOT_MS = 180_000;

/**
 * For the FROM clause of a statement whose loss in a crash of the database does no harm: its commit does not wait for the disk, so that
 * others do not wait for its row.
 */
export const RELAXED = `(SELECT set_config('synchronous_commit', 'off', true)) relaxed`;

/** To be called when a job has released its slot: corrects the charge of its account to the time that it took. */
export async function settleTurn(
  queries: Queries,
  { accountId, claimedAt, bookedMs }: Pick<JobRow, 'accountId' | 'claimedAt' | 'bookedMs'>,
  now: number,
): Promise<void> {
  if (claimedAt === null || bookedMs === null) return;
  const tookMs = now - claimedAt;
  if (tookMs < 0 || tookMs > LONGEST_SLOT_MS) return;
  await queries.run(
    `UPDATE turns SET tag = tag + $2::bigint - $3::bigint, typical_ms = (3 * typical_ms + $2::bigint) / 4 FROM ${RELAXED} WHERE account_id = $1`,
    [accountId, tookMs, bookedMs],
  );
}
