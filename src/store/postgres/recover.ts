import { IS_HELD } from '../rows.js';
import { CRASHED, HORIZON_MS, RENEWED_MS } from '../rules/claims.js';
import { IS_HELD_DELIVERY, MAX_DELIVERY_AGE_MS } from '../rules/deliveries.js';
import type { EndedJob, JobStore, OwnClaims } from '../store.js';
import { putBack } from './claim-job.js';
import { type Database, HAS_LOCK } from './connect.js';
import { endJob } from './end-job.js';

const NONE: OwnClaims = { jobs: [], deliveries: [] };

type Recovery = Parameters<JobStore['recover']>[0];

/** A node's view of itself and of others. */
interface Known {
  nodeId: string;
  lost: readonly string[];
  alive: readonly string[];
}

/**
 * Releases claims of ended nodes, and expired leases except those of live nodes, which renew their own. Active jobs with an attempt left
 * are queued again, others fail, and deliveries are due again. Each step checks the claim, so that several nodes may recover at once.
 */
export async function recover(
  database: Database,
  { nodeId, lost, alive }: Known,
  { now, own = NONE }: Recovery,
): Promise<{ requeued: number; ended: EndedJob[]; failures: unknown[] }> {
  await renewLapsed(database, own, now);
  await forgetLostNodes(database, lost);
  await pullForward(database, now, now + HORIZON_MS);
  await database.run(
    `UPDATE deliveries SET claimed_until = NULL, node_id = NULL
      WHERE claimed_until IS NOT NULL AND ${isAbandoned('claimed_until')}`,
    [now, nodeId, alive],
  );
  const abandoned = await database.all<{ id: string; workerId: string; attempt: number; budget: number }>(
    `SELECT id, worker_id, attempts_made AS attempt, attempt_budget AS budget FROM jobs
      WHERE ended_at IS NULL AND lease_expires_at IS NOT NULL AND ${isAbandoned('lease_expires_at')} ORDER BY seq`,
    [now, nodeId, alive],
  );
  const ended: EndedJob[] = [];
  let requeued = 0;
  const failures: unknown[] = [];
  for (const { budget, ...held } of abandoned) {
    try {
      if (held.attempt < budget) requeued += (await putBack(database, held, held.attempt)) === null ? 0 : 1;
      else ended.push(...(await endJob(database, held, { state: 'failed', now, error: CRASHED })));
    } catch (error) {
      // One job that cannot be ended must not stop the others.
      failures.push(error);
    }
  }
  return { requeued, ended, failures };
}

/** Builds a condition. Its parameters are 1 the time, 2 this node, 3 other nodes that are alive. */
function isAbandoned(until: string): string {
  return `((${until} <= $1 AND node_id <> ALL($3)) OR (node_id <> $2 AND node_id NOT IN (SELECT id FROM nodes)))`;
}

/** Renews the leases of own claims, since own work is not abandoned, whatever the clock says. */
async function renewLapsed(database: Database, own: OwnClaims, now: number): Promise<void> {
  for (const { id, workerId, attempt } of own.jobs) {
    await database.run(`UPDATE jobs SET lease_expires_at = $5::bigint WHERE ${IS_HELD} AND lease_expires_at <= $4`, [
      ...[id, workerId, attempt, now, now + RENEWED_MS],
    ]);
  }
  for (const { deliveryId, generation, attempt } of own.deliveries) {
    await database.run(`UPDATE deliveries SET claimed_until = $5::bigint WHERE ${IS_HELD_DELIVERY} AND claimed_until <= $4`, [
      ...[deliveryId, generation, attempt, now, now + RENEWED_MS],
    ]);
  }
}

/** Deletes the nodes that this node has found without a lock for a while, and that still have none. */
async function forgetLostNodes(database: Database, lost: readonly string[]): Promise<void> {
  if (lost.length === 0) return;
  await database.run(`DELETE FROM nodes WHERE id = ANY($1) AND NOT ${HAS_LOCK}`, [lost]);
}

/** Limits times to the horizon: delayed work beyond it is due now, and leases beyond it end there unless they are renewed. */
async function pullForward(database: Database, now: number, horizon: number): Promise<void> {
  const times = [now, horizon];
  await database.run(
    `WITH entry AS (UPDATE queue_entries SET due_at = $1::bigint WHERE due_at > $2 RETURNING seq)
     UPDATE jobs SET due_at = $1::bigint FROM entry WHERE jobs.seq = entry.seq AND jobs.state = 'delayed'`,
    times,
  );
  await database.run('UPDATE jobs SET lease_expires_at = $1::bigint WHERE ended_at IS NULL AND lease_expires_at > $1', [horizon]);
  await database.run(
    `UPDATE deliveries SET due_at = $1::bigint, next_attempt_at = $1::bigint, expires_at = least(expires_at, $1::bigint + ${MAX_DELIVERY_AGE_MS})
      WHERE due_at > $2`,
    times,
  );
  await database.run('UPDATE deliveries SET claimed_until = $1::bigint WHERE claimed_until > $1', [horizon]);
  await database.run('UPDATE receivers SET paused_until = 0 WHERE paused_until > $1', [horizon]);
}
