import type { WebhookOptions } from '../../contract/capture-request.js';
import type { DeliveryStatus } from '../../contract/delivery.js';
import { newId } from '../../contract/ids.js';
import type { WebhookEvent } from '../../contract/job.js';
import type { AttemptOutcome, DueDelivery } from '../store.js';
import { selectList } from './columns.js';
import type { Db } from './connect.js';
import { type DeliveryRow, deliveries } from './schema.js';
import type { Vault } from './vault.js';

interface NewDelivery {
  jobId: string;
  webhook: WebhookOptions;
  maxAttempts: number;
  now: number;
}

type Held = Pick<DueDelivery, 'deliveryId' | 'generation' | 'attempt'>;

const COLUMNS = selectList(deliveries, 'd');
/** Attempts are counted when they are recorded: a crash in between repeats one, and never loses one. */
const HELD = `delivery_id = @deliveryId AND generation = @generation AND attempts = @attempt - 1 AND state = 'pending' AND due_at IS NOT NULL`;

/** Synchronous statements; the caller owns the transaction. */
export function deliveriesTable(db: Db, vault: Vault) {
  return { ...announcing(db, vault), ...claiming(db), ...recording(db) };
}

function announcing(db: Db, vault: Vault) {
  const insert = db.prepare(
    `INSERT INTO deliveries (job_id, delivery_id, url, origin, secret, state, generation, attempts, max_attempts)
     VALUES (@jobId, @deliveryId, @url, @origin, @secret, 'pending', 1, 0, @maxAttempts)`,
  );
  const announce = db.prepare<{ jobId: string; event: WebhookEvent; now: number }>(
    `UPDATE deliveries SET event = @event, due_at = @now, next_attempt_at = @now WHERE job_id = @jobId AND event IS NULL`,
  );
  const find = db.prepare<[string], DeliveryRow>(`SELECT ${COLUMNS} FROM deliveries d WHERE d.job_id = ?`);
  const place = (jobId: string) => `webhook:${jobId}`;
  return {
    insert({ jobId, webhook, maxAttempts, now }: NewDelivery): void {
      const secret = vault.seal(webhook.secret, place(jobId));
      insert.run({ jobId, deliveryId: newId('delivery', now), url: webhook.url, origin: new URL(webhook.url).origin, secret, maxAttempts });
    },
    /** Due from now on. */
    announce: (jobId: string, event: WebhookEvent, now: number): boolean => announce.run({ jobId, event, now }).changes === 1,
    find: (jobId: string): DeliveryRow | null => find.get(jobId) ?? null,
    /** null when it cannot be opened any more */
    openSecret(row: DeliveryRow): string | null {
      try {
        return vault.open(row.secret, place(row.jobId));
      } catch {
        return null;
      }
    },
  };
}

function claiming(db: Db) {
  const due = db.prepare<{ now: number; perReceiver: number }, DeliveryRow>(
    `SELECT ${COLUMNS} FROM deliveries d WHERE d.due_at <= @now AND d.due_at IS NOT NULL AND d.origin NOT IN (
       SELECT origin FROM deliveries WHERE claimed_until IS NOT NULL AND claimed_until > @now GROUP BY origin HAVING count(*) >= @perReceiver)
     ORDER BY d.due_at LIMIT 1`,
  );
  const anyDue = db.prepare<[number], number>('SELECT 1 FROM deliveries WHERE due_at IS NOT NULL AND due_at <= ? LIMIT 1').pluck();
  const claim = db.prepare<{ jobId: string; generation: number; attempts: number; until: number }>(
    `UPDATE deliveries SET due_at = @until, claimed_until = @until
     WHERE job_id = @jobId AND generation = @generation AND attempts = @attempts AND state = 'pending' AND due_at IS NOT NULL`,
  );
  const unclaim = db.prepare('UPDATE deliveries SET due_at = next_attempt_at, claimed_until = NULL WHERE claimed_until IS NOT NULL');
  const pullForward = db.prepare<{ now: number; horizon: number }>(
    'UPDATE deliveries SET due_at = @now, next_attempt_at = @now, claimed_until = NULL WHERE due_at IS NOT NULL AND due_at > @horizon',
  );
  // A receiver at work frees its place by an event, not by time: its waiting deliveries must not keep a loop spinning.
  const nextDue = db
    .prepare<[], number | null>(
      `SELECT min(d.due_at) FROM deliveries d WHERE d.due_at IS NOT NULL AND NOT EXISTS (
         SELECT 1 FROM deliveries c WHERE c.origin = d.origin AND c.claimed_until IS NOT NULL AND c.claimed_until > d.due_at)`,
    )
    .pluck();
  return {
    anyDue: (now: number): boolean => anyDue.get(now) === 1,
    /** The one longest due whose receiver has a place free. */
    nextClaimable: (now: number, perReceiver: number): DeliveryRow | null => due.get({ now, perReceiver }) ?? null,
    claim: ({ jobId, generation, attempts }: DeliveryRow, until: number): boolean =>
      claim.run({ jobId, generation, attempts, until }).changes === 1,
    /** Forgets all claims: those of a process that is gone. */
    unclaimAll: (): number => unclaim.run().changes,
    /** Nothing waits beyond the horizon. */
    pullForward(now: number, horizon: number): void {
      pullForward.run({ now, horizon });
    },
    nextDueAt: (): number | null => nextDue.get() ?? null,
  };
}

function recording(db: Db) {
  const delivered = db.prepare(
    `UPDATE deliveries SET state = 'delivered', attempts = @attempt, last_status = @status, last_error = NULL, last_attempt_at = @now,
       delivered_at = @now, due_at = NULL, next_attempt_at = NULL, claimed_until = NULL WHERE ${HELD}`,
  );
  const failed = db.prepare(
    `UPDATE deliveries SET state = 'failed', attempts = @attempt, last_status = @status, last_error = @error, last_attempt_at = @now,
       due_at = NULL, next_attempt_at = NULL, claimed_until = NULL WHERE ${HELD}`,
  );
  const retry = db.prepare(
    `UPDATE deliveries SET attempts = @attempt, last_status = @status, last_error = @error, last_attempt_at = @now,
       due_at = @nextAttemptAt, next_attempt_at = @nextAttemptAt, claimed_until = NULL WHERE ${HELD}`,
  );
  const redeliver = db.prepare<{ jobId: string; generation: number; now: number }>(
    `UPDATE deliveries SET state = 'pending', generation = generation + 1, attempts = 0, last_status = NULL, last_error = NULL,
       last_attempt_at = NULL, delivered_at = NULL, due_at = @now, next_attempt_at = @now
     WHERE job_id = @jobId AND generation = @generation AND state IN ('delivered', 'failed')`,
  );
  const statements = { delivered, failed, retry };
  return {
    /** false when that attempt was recorded before, or the generation has changed */
    record: (held: Held, outcome: AttemptOutcome, now: number): boolean =>
      statements[outcome.kind].run({ ...pick(held), ...outcome, now }).changes === 1,
    /** Of two with the same generation one wins. */
    redeliver: (jobId: string, generation: number, now: number): boolean => redeliver.run({ jobId, generation, now }).changes === 1,
  };
}

export function toDeliveryStatus(row: DeliveryRow): DeliveryStatus {
  const { jobId, deliveryId, event, url, state, attempts, maxAttempts, generation, lastStatus, lastError } = row;
  const { lastAttemptAt, nextAttemptAt, deliveredAt } = row;
  return {
    ...{ jobId, deliveryId, event, url, state, attempts, maxAttempts, generation, lastStatus, lastError },
    ...{ lastAttemptAt, nextAttemptAt, deliveredAt },
  };
}

function pick({ deliveryId, generation, attempt }: Held) {
  return { deliveryId, generation, attempt };
}
