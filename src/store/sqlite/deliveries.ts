import type { WebhookOptions } from '../../contract/capture-request.js';
import type { DeliveryStatus } from '../../contract/delivery.js';
import { newId } from '../../contract/ids.js';
import type { WebhookEvent } from '../../contract/job.js';
import type { AttemptOutcome, DueDelivery } from '../store.js';
import { selectList } from './columns.js';
import type { Db } from './connect.js';
import type { ReceiverKey, ReceiversTable } from './receivers.js';
import { type DeliveryRow, deliveries } from './schema.js';
import type { Vault } from './vault.js';

interface NewDelivery {
  jobId: string;
  accountId: string;
  webhook: WebhookOptions;
  maxAttempts: number;
  now: number;
}

type Recorded = Held & { status: number | null; error?: string; nextAttemptAt?: number; now: number };
type Held = Pick<DueDelivery, 'deliveryId' | 'generation' | 'attempt'>;

/** A delivery is given up so long after its event, whatever attempts are left: a dead receiver's backlog must end. */
const MAX_AGE_MS = 24 * 3_600_000;
const EXPIRED = 'It could not be delivered within 24 hours.';

const COLUMNS = selectList(deliveries, 'd');
const KEY = 'account_id AS accountId, origin';
/** Attempts are counted when they are recorded: a crash in between repeats one, and never loses one. */
const HELD = `delivery_id = @deliveryId AND generation = @generation AND attempts = @attempt - 1 AND state = 'pending' AND due_at IS NOT NULL`;

/** Synchronous statements; the caller owns the transaction. */
export function deliveriesTable(db: Db, vault: Vault, receivers: ReceiversTable) {
  return { ...announcing(db, vault, receivers), ...claiming(db), ...recording(db) };
}

function announcing(db: Db, vault: Vault, receivers: ReceiversTable) {
  const insert = db.prepare(
    `INSERT INTO deliveries (job_id, delivery_id, account_id, url, origin, secret, state, generation, attempts, max_attempts)
     VALUES (@jobId, @deliveryId, @accountId, @url, @origin, @secret, 'pending', 1, 0, @maxAttempts)`,
  );
  const announce = db.prepare<{ jobId: string; event: WebhookEvent; now: number }, ReceiverKey>(
    `UPDATE deliveries SET event = @event, due_at = @now, next_attempt_at = @now, expires_at = @now + ${MAX_AGE_MS}
     WHERE job_id = @jobId AND event IS NULL RETURNING ${KEY}`,
  );
  const find = db.prepare<[string], DeliveryRow>(`SELECT ${COLUMNS} FROM deliveries d WHERE d.job_id = ?`);
  const place = (jobId: string) => `webhook:${jobId}`;
  return {
    insert({ jobId, accountId, webhook, maxAttempts, now }: NewDelivery): void {
      const secret = vault.seal(webhook.secret, place(jobId));
      const { url } = webhook;
      insert.run({ jobId, accountId, deliveryId: newId('delivery', now), url, origin: new URL(url).origin, secret, maxAttempts });
    },
    /** Due from now on. */
    announce(jobId: string, event: WebhookEvent, now: number): boolean {
      const receiver = announce.get({ jobId, event, now });
      if (receiver !== undefined) receivers.refresh([receiver]);
      return receiver !== undefined;
    },
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
  const next = db.prepare<ReceiverKey & { now: number }, DeliveryRow>(
    `SELECT ${COLUMNS} FROM deliveries d INDEXED BY deliveries_waiting
     WHERE d.account_id = @accountId AND d.origin = @origin AND d.due_at IS NOT NULL AND d.claimed_until IS NULL AND d.due_at <= @now
     ORDER BY d.due_at LIMIT 1`,
  );
  const claim = db.prepare<{ jobId: string; generation: number; attempts: number; until: number }>(
    `UPDATE deliveries SET claimed_until = @until
     WHERE job_id = @jobId AND generation = @generation AND attempts = @attempts AND due_at IS NOT NULL AND claimed_until IS NULL`,
  );
  const renewLapsed = db.prepare<Held & { now: number; until: number }>(
    `UPDATE deliveries SET claimed_until = @until WHERE ${HELD} AND claimed_until IS NOT NULL AND claimed_until <= @now`,
  );
  const unclaim = db.prepare<[number], ReceiverKey>(
    `UPDATE deliveries SET claimed_until = NULL WHERE claimed_until IS NOT NULL AND claimed_until <= ? RETURNING ${KEY}`,
  );
  const pullDue = db.prepare<{ now: number; horizon: number }, ReceiverKey>(
    `UPDATE deliveries SET due_at = @now, next_attempt_at = @now, expires_at = min(expires_at, @now + ${MAX_AGE_MS})
     WHERE due_at IS NOT NULL AND due_at > @horizon RETURNING ${KEY}`,
  );
  const pullClaims = db.prepare<[number, number]>(
    'UPDATE deliveries SET claimed_until = ? WHERE claimed_until IS NOT NULL AND claimed_until > ?',
  );
  return {
    /** The one longest due at a receiver. */
    nextAt: ({ accountId, origin }: ReceiverKey, now: number): DeliveryRow | null => next.get({ accountId, origin, now }) ?? null,
    claim: ({ jobId, generation, attempts }: DeliveryRow, until: number): boolean =>
      claim.run({ jobId, generation, attempts, until }).changes === 1,
    /** Only where the lease ran out. */
    renewLapsed(held: Held, { now, until }: { now: number; until: number }): void {
      renewLapsed.run({ ...pick(held), now, until });
    },
    /** Takes back the claims whose lease ran out by then. @returns whom to refresh */
    unclaim: (leasedUntil: number): ReceiverKey[] => unclaim.all(leasedUntil),
    /** Nothing waits beyond the horizon. @returns whom to refresh */
    pullForward(now: number, horizon: number): ReceiverKey[] {
      pullClaims.run(horizon, horizon);
      return pullDue.all({ now, horizon });
    },
  };
}

function recording(db: Db) {
  const delivered = db.prepare<Recorded, ReceiverKey>(
    `UPDATE deliveries SET state = 'delivered', attempts = @attempt, last_status = @status, last_error = NULL, last_attempt_at = @now,
       delivered_at = @now, due_at = NULL, next_attempt_at = NULL, claimed_until = NULL, expires_at = NULL WHERE ${HELD} RETURNING ${KEY}`,
  );
  const failed = db.prepare<Recorded, ReceiverKey>(
    `UPDATE deliveries SET state = 'failed', attempts = @attempt, last_status = @status, last_error = @error, last_attempt_at = @now,
       due_at = NULL, next_attempt_at = NULL, claimed_until = NULL, expires_at = NULL WHERE ${HELD} RETURNING ${KEY}`,
  );
  const retry = db.prepare<Recorded, ReceiverKey>(
    `UPDATE deliveries SET attempts = @attempt, last_status = @status, last_error = @error, last_attempt_at = @now,
       due_at = @nextAttemptAt, next_attempt_at = @nextAttemptAt, claimed_until = NULL WHERE ${HELD} RETURNING ${KEY}`,
  );
  const redeliver = db.prepare<{ jobId: string; generation: number; now: number }, ReceiverKey>(
    `UPDATE deliveries SET state = 'pending', generation = generation + 1, attempts = 0, last_status = NULL, last_error = NULL,
       last_attempt_at = NULL, delivered_at = NULL, due_at = @now, next_attempt_at = @now, expires_at = @now + ${MAX_AGE_MS}
     WHERE job_id = @jobId AND generation = @generation AND state IN ('delivered', 'failed') RETURNING ${KEY}`,
  );
  const expire = db.prepare<{ now: number; limit: number; error: string }, ReceiverKey>(
    `UPDATE deliveries SET state = 'failed', last_error = @error, due_at = NULL, next_attempt_at = NULL, expires_at = NULL
     WHERE job_id IN (
       SELECT job_id FROM deliveries WHERE expires_at IS NOT NULL AND expires_at <= @now AND claimed_until IS NULL
       ORDER BY expires_at LIMIT @limit) RETURNING ${KEY}`,
  );
  const statements = { delivered, failed, retry };
  return {
    /** null when that attempt was recorded before, or the generation has changed; else whom to refresh */
    record: (held: Held, outcome: AttemptOutcome, now: number): ReceiverKey | null =>
      statements[outcome.kind].get({ ...pick(held), ...outcome, now }) ?? null,
    /** Of two with the same generation one wins: null for the other, else whom to refresh. */
    redeliver: (jobId: string, generation: number, now: number): ReceiverKey | null => redeliver.get({ jobId, generation, now }) ?? null,
    /** Gives up what is too old and not under way. @returns whom to refresh, one for each */
    expire: (now: number, limit: number): ReceiverKey[] => expire.all({ now, limit, error: EXPIRED }),
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
