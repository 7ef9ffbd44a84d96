/** Batches, for both engines. */
import type { BatchSnapshot } from '../contract/batch.js';
import type * as postgres from './postgres/schema.js';
import { FOUND_JOB, type FoundJob, IS_SHOWN, type Queries, toSnapshot } from './rows.js';
import { CANCELED } from './rules/jobs.js';
import type * as sqlite from './sqlite/schema.js';
import type { BatchStore } from './store.js';

type Row = typeof sqlite.batches.$inferSelect | typeof postgres.batches.$inferSelect;
export type BatchRow = Row & BatchSnapshot['counts'];

const IS_CANCELED = `error = '${CANCELED.replaceAll("'", "''")}'`;
const sum = (condition: string) => `coalesce(sum(CASE WHEN ${condition} THEN 1 ELSE 0 END), 0)`;
const COUNTS = `SELECT ${sum("state IN ('waiting', 'prioritized', 'delayed')")} AS waiting, ${sum("state = 'active'")} AS active,
    ${sum("state = 'completed'")} AS completed, ${sum(`state = 'failed' AND NOT ${IS_CANCELED}`)} AS failed, ${sum(IS_CANCELED)} AS canceled`;
const ITS_JOBS = 'FROM jobs WHERE batch_id = batch.id';

/** Finds a batch by its id ($1), removed or not. */
export const BATCH_BY_ID = batchWhere('batch.id = $1');
/** Finds a batch by its id ($1), or else by the idempotency key ($3) of an account ($2). */
export const ANSWERED_BATCH = batchWhere('batch.id = $1 OR (batch.account_id = $2 AND batch.idempotency_key = $3)');

function batchWhere(condition: string): string {
  const one = (name: string) => `(SELECT ${name} FROM (${COUNTS} ${ITS_JOBS}) counts) AS ${name}`;
  const names = ['waiting', 'active', 'completed', 'failed', 'canceled'].map(one).join(', ');
  return `SELECT batch.*, ${names} FROM batches batch WHERE ${condition}`;
}

/** Completes, at a time ($1), a batch ($2) or all ('') whose jobs have ended. @returns their ids */
export const COMPLETED_BATCHES = `UPDATE batches SET completed_at = $1 WHERE completed_at IS NULL AND ($2 = '' OR id = $2)
  AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.batch_id = batches.id AND jobs.ended_at IS NULL) RETURNING id`;

export function toBatch(row: BatchRow): BatchSnapshot {
  const { id, accountId, keyId, requestId, total, webhookUrl, createdAt, completedAt } = row;
  const [waiting, active, completed, failed, canceled] = [
    row.waiting,
    row.active,
    row.completed,
    row.failed,
    row.canceled,
  ].map(Number) as [number, number, number, number, number];
  const counts = { waiting, active, completed, failed, canceled };
  return { id, accountId, keyId, requestId, total, counts, webhookUrl, createdAt, completedAt };
}

const LAST_ID = 'bat_Z';
/** The rank of a job: failed ones come first. */
const RANK = 'CASE WHEN job.error IS NULL THEN 1 ELSE 0 END';

export function batchSteps(
  queries: Queries,
): Pick<BatchStore, 'findBatch' | 'listBatches' | 'batchCaptures' | 'jobsToClear' | 'deleteBatches'> {
  return {
    async findBatch(id) {
      const row = await queries.one<BatchRow>(`${BATCH_BY_ID} AND batch.removed_at IS NULL`, [id]);
      return row === null ? null : toBatch(row);
    },
    async listBatches({ before, limit }) {
      const rows = await queries.all<BatchRow>(
        `${batchWhere('batch.id < $1 AND batch.removed_at IS NULL')} ORDER BY batch.id DESC LIMIT $2`,
        [before ?? LAST_ID, limit],
      );
      return rows.map(toBatch);
    },
    async batchCaptures(id, { after, limit }) {
      const rows = await queries.all<FoundJob>(
        `${FOUND_JOB} WHERE job.batch_id = $1 AND ${IS_SHOWN} AND (${RANK} > $2 OR (${RANK} = $2 AND job.batch_index > $3))
          ORDER BY ${RANK}, job.batch_index LIMIT $4`,
        [id, after === null || after.isFailed ? 0 : 1, after?.index ?? -1, limit],
      );
      return rows.map((row) => ({ index: row.batchIndex ?? 0, isFailed: row.error !== null, job: toSnapshot(row) }));
    },
    async jobsToClear(limit, now) {
      await queries.run(
        `UPDATE batches SET cleared_at = $1 WHERE removed_at IS NOT NULL AND cleared_at IS NULL
          AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.batch_id = batches.id AND jobs.removed_at IS NULL)`,
        [now],
      );
      const rows = await queries.all<{ id: string }>(
        `SELECT job.id FROM batches JOIN jobs job ON job.batch_id = batches.id
          WHERE batches.removed_at IS NOT NULL AND batches.cleared_at IS NULL AND ${IS_SHOWN}
          ORDER BY CASE WHEN job.ended_at IS NULL THEN 0 ELSE 1 END, job.seq LIMIT $1`,
        [limit],
      );
      return rows.map(({ id }) => id);
    },
    async deleteBatches(before) {
      await queries.run(
        `DELETE FROM batches WHERE completed_at < $1 AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.batch_id = batches.id)
          AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.job_id = batches.id AND deliveries.state = 'pending')`,
        [before],
      );
      await queries.run(
        `DELETE FROM deliveries WHERE job_id LIKE 'bat!_%' ESCAPE '!' AND state <> 'pending'
          AND NOT EXISTS (SELECT 1 FROM batches WHERE batches.id = deliveries.job_id)`,
      );
    },
  };
}
