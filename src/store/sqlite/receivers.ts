import { and, asc, count, eq, gt, isNotNull, isNull, lte, min, sql } from 'drizzle-orm';
import { FIRST_PAUSE_MS, LONGEST_PAUSE_MS, SILENCES_BEFORE_PAUSE } from '../rules.js';
import { columnsThroughIndex, indexedBy, matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import { deliveries, receivers } from './schema.js';

/** An account's receiver. Accounts share neither slots nor pauses, even for the same origin. */
export interface ReceiverKey {
  accountId: string;
  origin: string;
}

export type ReceiversTable = ReturnType<typeof receiversTable>;

/**
 * The queue of receivers: a claim reads one row per origin, never its backlog. A receiver that does not respond is paused (a circuit
 * breaker) for 5 s, then twice as long each time up to 5 min, with one attempt in between, until it responds.
 */
export function receiversTable(orm: Orm) {
  return { ...choosing(orm), ...following(orm), ...pausing(orm) };
}

const IS_READY = isNotNull(receivers.readyAt);
const HAS_PLACE = sql`${receivers.inHand} < iif(${receivers.silences} >= ${SILENCES_BEFORE_PAUSE}, 1, ${sql.placeholder('perReceiver')})`;

function choosing(orm: Orm) {
  const busy = orm
    .select({ accountId: deliveries.accountId, attempts: count() })
    .from(deliveries)
    .where(isNotNull(deliveries.claimedUntil))
    .groupBy(deliveries.accountId)
    .prepare();
  // This needs one look-up per account, however many receivers it has. It is raw SQL, since drizzle has no recursive WITH.
  const waiting = orm.$client
    .prepare<[], string>(
      `WITH RECURSIVE holder(id) AS (
         SELECT min(account_id) FROM receivers WHERE ready_at IS NOT NULL
         UNION ALL SELECT (SELECT min(account_id) FROM receivers WHERE ready_at IS NOT NULL AND account_id > holder.id)
           FROM holder WHERE holder.id IS NOT NULL)
       SELECT id FROM holder WHERE id IS NOT NULL`,
    )
    .pluck();
  const columns = columnsThroughIndex(receivers);
  const ready = orm
    .select({ accountId: columns.accountId, origin: columns.origin, readyAt: sql<number>`${receivers.readyAt}` })
    .from(indexedBy(receivers, 'receivers_of'))
    .where(and(matching(receivers, 'accountId'), IS_READY, lte(receivers.readyAt, sql.placeholder('now')), HAS_PLACE))
    .orderBy(asc(receivers.readyAt))
    .limit(1)
    .prepare();
  const nextReady = orm
    .select({ readyAt: columns.readyAt })
    .from(indexedBy(receivers, 'receivers_next'))
    .where(and(IS_READY, HAS_PLACE))
    .orderBy(asc(receivers.readyAt))
    .limit(1)
    .prepare();
  return {
    /** Finds the next receiver: one of the account with the fewest running attempts, which must leave as many slots free as it uses. */
    next({ now, perReceiver, places }: { now: number; perReceiver: number; places: number }): ReceiverKey | null {
      const held = new Map(busy.all().map((account) => [account.accountId, account.attempts]));
      const free = places - [...held.values()].reduce((sum, attempts) => sum + attempts, 0);
      let best: (ReceiverKey & { readyAt: number; held: number }) | null = null;
      for (const accountId of waiting.all()) {
        const own = held.get(accountId) ?? 0;
        if (own >= free || (best !== null && own > best.held)) continue;
        const found = ready.get({ accountId, now, perReceiver });
        if (found === undefined || (best !== null && own === best.held && found.readyAt >= best.readyAt)) continue;
        best = { ...found, held: own };
      }
      return best;
    },
    /** Returns when a receiver with a free slot will be ready; null if none will. */
    nextReadyAt: (perReceiver: number): number | null => nextReady.get({ perReceiver })?.readyAt ?? null,
  };
}

function following(orm: Orm) {
  const ofReceiver = matching(deliveries, 'accountId', 'origin');
  const { dueAt, claimedUntil } = deliveries;
  const due = orm
    .select({ at: min(dueAt) })
    .from(deliveries)
    .where(and(ofReceiver, isNotNull(dueAt), isNull(claimedUntil)));
  const claimed = orm
    .select({ attempts: count() })
    .from(deliveries)
    .where(and(ofReceiver, isNotNull(claimedUntil)));
  const update = orm
    .insert(receivers)
    .values({ ...parameters(receivers, 'accountId', 'origin'), readyAt: sql`${due}`, inHand: sql`${claimed}` })
    .onConflictDoUpdate({
      target: [receivers.accountId, receivers.origin],
      set: { readyAt: sql`max(excluded.ready_at, ${receivers.pausedUntil})`, inHand: sql`excluded.in_hand` },
    })
    .prepare();
  const forget = orm
    .delete(receivers)
    .where(and(matching(receivers, 'accountId', 'origin'), isNull(receivers.readyAt), eq(receivers.inHand, 0)))
    .prepare();
  return {
    /** Updates receivers after any change of their deliveries. */
    refresh(keys: readonly ReceiverKey[]): void {
      for (const { accountId, origin } of new Map(keys.map((key) => [`${key.accountId} ${key.origin}`, key])).values()) {
        update.run({ accountId, origin });
        forget.run({ accountId, origin });
      }
    },
  };
}

function pausing(orm: Orm) {
  const ofReceiver = matching(receivers, 'accountId', 'origin');
  const find = orm.select({ silences: receivers.silences, pausedUntil: receivers.pausedUntil }).from(receivers).where(ofReceiver).prepare();
  const set = orm
    .update(receivers)
    .set(parameters(receivers, 'silences', 'pausedUntil'))
    .where(ofReceiver)
    .prepare();
  const unpause = orm
    .update(receivers)
    .set({ pausedUntil: 0 })
    .where(and(IS_READY, gt(receivers.readyAt, sql.placeholder('horizon'))))
    .returning({ accountId: receivers.accountId, origin: receivers.origin })
    .prepare();
  return {
    /** Resets a receiver's pause after an attempt with a response, whatever its status. */
    recordResponse({ accountId, origin }: ReceiverKey): void {
      set.run({ accountId, origin, silences: 0, pausedUntil: 0 });
    },
    /** Counts an attempt without a response. Attempts that were running when the pause began do not prolong it. */
    recordSilence({ accountId, origin }: ReceiverKey, now: number): void {
      const known = find.get({ accountId, origin });
      if (known === undefined || known.pausedUntil > now) return;
      const silences = known.silences + 1;
      const pauses = silences - SILENCES_BEFORE_PAUSE;
      const pausedUntil = pauses < 0 ? 0 : now + Math.min(FIRST_PAUSE_MS * 2 ** pauses, LONGEST_PAUSE_MS);
      set.run({ accountId, origin, silences, pausedUntil });
    },
    /** Ends pauses beyond the horizon. @returns the receivers to refresh */
    unpauseBeyond: (horizon: number): ReceiverKey[] => unpause.all({ horizon }),
  };
}
