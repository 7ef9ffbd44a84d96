import { and, asc, eq, gt, inArray, isNotNull, isNull, lte, sql } from 'drizzle-orm';
import type { SQLiteUpdateSetSource } from 'drizzle-orm/sqlite-core';
import type { WebhookOptions } from '../../contract/capture-request.js';
import type { DeliveryStatus } from '../../contract/delivery.js';
import { newId } from '../../contract/ids.js';
import type { WebhookEvent } from '../../contract/job.js';
import { DELIVERY_EXPIRED, MAX_DELIVERY_AGE_MS } from '../rules.js';
import type { AttemptOutcome, DueDelivery } from '../store.js';
import type { Vault } from '../vault.js';
import { columnsThroughIndex, indexedBy, matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import type { ReceiverKey, ReceiversTable } from './receivers.js';
import { type DeliveryRow, deliveries } from './schema.js';

interface NewDelivery {
  jobId: string;
  accountId: string;
  webhook: WebhookOptions;
  maxAttempts: number;
  now: number;
}

type Held = Pick<DueDelivery, 'deliveryId' | 'generation' | 'attempt'>;

const NOW = sql.placeholder('now');
const RECEIVER = { accountId: deliveries.accountId, origin: deliveries.origin };
/** Condition of a held attempt. Attempts are counted when they are recorded, so a crash may repeat one but never loses one. */
const IS_HELD = and(
  matching(deliveries, 'deliveryId', 'generation'),
  eq(deliveries.attempts, sql`${sql.placeholder('attempt')} - 1`),
  eq(deliveries.state, 'pending'),
  isNotNull(deliveries.dueAt),
);
/** Makes a delivery due now, and until it expires. */
const DUE = { dueAt: sql`${NOW}`, nextAttemptAt: sql`${NOW}`, expiresAt: sql`${NOW} + ${MAX_DELIVERY_AGE_MS}` };
const ENDED = { dueAt: null, nextAttemptAt: null, claimedUntil: null, expiresAt: null };

/** Synchronous statements. The caller owns the transaction. */
export function deliveriesTable(orm: Orm, vault: Vault, receivers: ReceiversTable) {
  return { ...announcing(orm, vault, receivers), ...claiming(orm), ...recording(orm) };
}

function announcing(orm: Orm, vault: Vault, receivers: ReceiversTable) {
  const insert = orm
    .insert(deliveries)
    .values({
      ...parameters(deliveries, 'jobId', 'deliveryId', 'accountId', 'url', 'origin', 'secret', 'maxAttempts'),
      ...{ state: 'pending', generation: 1, attempts: 0 },
    })
    .prepare();
  const announce = orm
    .update(deliveries)
    .set({ ...parameters(deliveries, 'event'), ...DUE })
    .where(and(matching(deliveries, 'jobId'), isNull(deliveries.event)))
    .returning(RECEIVER)
    .prepare();
  const find = orm.select().from(deliveries).where(matching(deliveries, 'jobId')).prepare();
  const place = (jobId: string) => `webhook:${jobId}`;
  return {
    insert({ jobId, accountId, webhook, maxAttempts, now }: NewDelivery): void {
      const secret = vault.seal(webhook.secret, place(jobId));
      const { url } = webhook;
      insert.run({ jobId, accountId, deliveryId: newId('delivery', now), url, origin: new URL(url).origin, secret, maxAttempts });
    },
    /** Makes the delivery due now. */
    announce(jobId: string, event: WebhookEvent, now: number): boolean {
      const receiver = announce.get({ jobId, event, now });
      if (receiver !== undefined) receivers.refresh([receiver]);
      return receiver !== undefined;
    },
    find: (jobId: string): DeliveryRow | null => find.get({ jobId }) ?? null,
    /** Decrypts a secret; null if it can no longer be decrypted. */
    openSecret(row: DeliveryRow): string | null {
      try {
        return vault.open(row.secret, place(row.jobId));
      } catch {
        return null;
      }
    },
  };
}

function claiming(orm: Orm) {
  const next = orm
    .select(columnsThroughIndex(deliveries))
    .from(indexedBy(deliveries, 'deliveries_waiting'))
    .where(
      and(
        matching(deliveries, 'accountId', 'origin'),
        isNotNull(deliveries.dueAt),
        isNull(deliveries.claimedUntil),
        lte(deliveries.dueAt, NOW),
      ),
    )
    .orderBy(asc(deliveries.dueAt))
    .limit(1)
    .prepare();
  const claim = orm
    .update(deliveries)
    .set(parameters(deliveries, 'claimedUntil'))
    .where(and(matching(deliveries, 'jobId', 'generation', 'attempts'), isNotNull(deliveries.dueAt), isNull(deliveries.claimedUntil)))
    .prepare();
  const renewLapsed = orm
    .update(deliveries)
    .set(parameters(deliveries, 'claimedUntil'))
    .where(and(IS_HELD, isNotNull(deliveries.claimedUntil), lte(deliveries.claimedUntil, NOW)))
    .prepare();
  const unclaim = orm
    .update(deliveries)
    .set({ claimedUntil: null })
    .where(and(isNotNull(deliveries.claimedUntil), lte(deliveries.claimedUntil, sql.placeholder('leasedUntil'))))
    .returning(RECEIVER)
    .prepare();
  const horizon = sql.placeholder('horizon');
  const pullDue = orm
    .update(deliveries)
    .set({ ...DUE, expiresAt: sql`min(${deliveries.expiresAt}, ${DUE.expiresAt})` })
    .where(and(isNotNull(deliveries.dueAt), gt(deliveries.dueAt, horizon)))
    .returning(RECEIVER)
    .prepare();
  const pullClaims = orm
    .update(deliveries)
    .set({ claimedUntil: sql`${horizon}` })
    .where(and(isNotNull(deliveries.claimedUntil), gt(deliveries.claimedUntil, horizon)))
    .prepare();
  return {
    /** Finds the most overdue delivery to a receiver. */
    nextAt: ({ accountId, origin }: ReceiverKey, now: number): DeliveryRow | null => next.get({ accountId, origin, now }) ?? null,
    claim: ({ jobId, generation, attempts }: DeliveryRow, until: number): boolean =>
      claim.run({ jobId, generation, attempts, claimedUntil: until }).changes === 1,
    /** Renews only an expired lease. */
    renewLapsed(held: Held, { now, until }: { now: number; until: number }): void {
      renewLapsed.run({ ...held, now, claimedUntil: until });
    },
    /**
     * Releases the claims whose lease has expired by then.
     * @returns the receivers to refresh
     */
    unclaim: (leasedUntil: number): ReceiverKey[] => unclaim.all({ leasedUntil }),
    /** Makes deliveries due that would wait beyond the horizon. @returns the receivers to refresh */
    pullForward(now: number, horizon: number): ReceiverKey[] {
      pullClaims.run({ horizon });
      return pullDue.all({ now, horizon });
    },
  };
}

function recording(orm: Orm) {
  const attempted = {
    attempts: sql`${sql.placeholder('attempt')}`,
    lastStatus: sql`${sql.placeholder('status')}`,
    lastAttemptAt: sql`${NOW}`,
  };
  const lastError = sql`${sql.placeholder('error')}`;
  const record = (values: SQLiteUpdateSetSource<typeof deliveries>) =>
    orm
      .update(deliveries)
      .set({ ...attempted, ...values })
      .where(IS_HELD)
      .returning(RECEIVER)
      .prepare();
  const nextAttemptAt = sql`${sql.placeholder('nextAttemptAt')}`;
  const delivered = record({ ...ENDED, state: 'delivered', lastError: null, deliveredAt: sql`${NOW}` });
  const failed = record({ ...ENDED, state: 'failed', lastError });
  const retry = record({ lastError, dueAt: nextAttemptAt, nextAttemptAt, claimedUntil: null });
  const redeliver = orm
    .update(deliveries)
    .set({
      ...{ state: 'pending', generation: sql`${deliveries.generation} + 1`, attempts: 0, ...DUE },
      ...{ lastStatus: null, lastError: null, lastAttemptAt: null, deliveredAt: null },
    })
    .where(and(matching(deliveries, 'jobId', 'generation'), inArray(deliveries.state, ['delivered', 'failed'])))
    .returning(RECEIVER)
    .prepare();
  const expired = orm
    .select({ jobId: deliveries.jobId })
    .from(deliveries)
    .where(and(isNotNull(deliveries.expiresAt), lte(deliveries.expiresAt, NOW), isNull(deliveries.claimedUntil)))
    .orderBy(asc(deliveries.expiresAt))
    .limit(sql.placeholder('limit'));
  const expire = orm
    .update(deliveries)
    .set({ ...ENDED, state: 'failed', lastError: DELIVERY_EXPIRED })
    .where(inArray(deliveries.jobId, expired))
    .returning(RECEIVER)
    .prepare();
  const statements = { delivered, failed, retry };
  return {
    /**
     * Records an attempt.
     * @returns the receiver to refresh; null if the attempt was recorded already, or the generation has changed
     */
    record: (held: Held, outcome: AttemptOutcome, now: number): ReceiverKey | null =>
      statements[outcome.kind].get({ ...held, ...outcome, now }) ?? null,
    /** Sends again. Of two calls with the same generation, one succeeds and returns the receiver to refresh; the other returns null. */
    redeliver: (jobId: string, generation: number, now: number): ReceiverKey | null => redeliver.get({ jobId, generation, now }) ?? null,
    /**
     * Fails deliveries that are too old and not being attempted.
     * @returns their receivers, to refresh, one per delivery
     */
    expire: (now: number, limit: number): ReceiverKey[] => expire.all({ now, limit }),
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
