import type { Db } from './connect.js';

/** Attempts in a row without an answer, after which a receiver is left alone for a while. */
const SILENCES_BEFORE_PAUSE = 8;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 300_000;

/** Where an account's deliveries go: accounts share neither places nor pauses, also at the same origin. */
export interface ReceiverKey {
  accountId: string;
  origin: string;
}

export type ReceiversTable = ReturnType<typeof receiversTable>;

/**
 * The queue of receivers: a claim looks at one row for each origin, never at the backlog behind it. A receiver that does not answer is
 * paused (a circuit breaker): first for 5 s, then twice as long each time up to 5 min, with one attempt in between, until it answers.
 * Synchronous statements; the caller owns the transaction.
 */
export function receiversTable(db: Db) {
  return { ...choosing(db), ...following(db), ...pausing(db) };
}

const HAS_PLACE = `in_hand < iif(silences >= ${SILENCES_BEFORE_PAUSE}, 1, @perReceiver)`;

function choosing(db: Db) {
  const busy = db
    .prepare<[], [string, number]>('SELECT account_id, count(*) FROM deliveries WHERE claimed_until IS NOT NULL GROUP BY account_id')
    .raw();
  // One look-up for each account, however many receivers it has.
  const waiting = db
    .prepare<[], string>(
      `WITH RECURSIVE holder(id) AS (
         SELECT min(account_id) FROM receivers WHERE ready_at IS NOT NULL
         UNION ALL SELECT (SELECT min(account_id) FROM receivers WHERE ready_at IS NOT NULL AND account_id > holder.id)
           FROM holder WHERE holder.id IS NOT NULL)
       SELECT id FROM holder WHERE id IS NOT NULL`,
    )
    .pluck();
  const ready = db.prepare<{ accountId: string; now: number; perReceiver: number }, ReceiverKey & { readyAt: number }>(
    `SELECT account_id AS accountId, origin, ready_at AS readyAt FROM receivers INDEXED BY receivers_of
     WHERE account_id = @accountId AND ready_at IS NOT NULL AND ready_at <= @now AND ${HAS_PLACE} ORDER BY ready_at LIMIT 1`,
  );
  const nextReady = db
    .prepare<{ perReceiver: number }, number>(
      `SELECT ready_at FROM receivers INDEXED BY receivers_next WHERE ready_at IS NOT NULL AND ${HAS_PLACE} ORDER BY ready_at LIMIT 1`,
    )
    .pluck();
  return {
    /** The receiver whose turn it is: of the account with the fewest attempts under way, which leaves as many places free as it takes. */
    next({ now, perReceiver, places }: { now: number; perReceiver: number; places: number }): ReceiverKey | null {
      const held = new Map(busy.all());
      const free = places - [...held.values()].reduce((sum, count) => sum + count, 0);
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
    /** When a receiver with a free place will be ready, null when none. */
    nextReadyAt: (perReceiver: number): number | null => nextReady.get({ perReceiver }) ?? null,
  };
}

function following(db: Db) {
  const update = db.prepare<ReceiverKey>(
    `INSERT INTO receivers (account_id, origin, ready_at, in_hand)
     SELECT @accountId, @origin,
       (SELECT min(due_at) FROM deliveries
        WHERE account_id = @accountId AND origin = @origin AND due_at IS NOT NULL AND claimed_until IS NULL),
       (SELECT count(*) FROM deliveries WHERE account_id = @accountId AND origin = @origin AND claimed_until IS NOT NULL)
     WHERE true
     ON CONFLICT DO UPDATE SET ready_at = max(excluded.ready_at, paused_until), in_hand = excluded.in_hand`,
  );
  const forget = db.prepare<ReceiverKey>(
    'DELETE FROM receivers WHERE account_id = @accountId AND origin = @origin AND ready_at IS NULL AND in_hand = 0',
  );
  return {
    /** After any change of these receivers' deliveries. */
    refresh(keys: readonly ReceiverKey[]): void {
      for (const { accountId, origin } of new Map(keys.map((key) => [`${key.accountId} ${key.origin}`, key])).values()) {
        update.run({ accountId, origin });
        forget.run({ accountId, origin });
      }
    },
  };
}

function pausing(db: Db) {
  const find = db.prepare<ReceiverKey, { silences: number; pausedUntil: number }>(
    'SELECT silences, paused_until AS pausedUntil FROM receivers WHERE account_id = @accountId AND origin = @origin',
  );
  const set = db.prepare<ReceiverKey & { silences: number; pausedUntil: number }>(
    'UPDATE receivers SET silences = @silences, paused_until = @pausedUntil WHERE account_id = @accountId AND origin = @origin',
  );
  const unpause = db.prepare<[number], ReceiverKey>(
    `UPDATE receivers SET paused_until = 0 WHERE ready_at IS NOT NULL AND ready_at > ? RETURNING account_id AS accountId, origin`,
  );
  return {
    /** An attempt had an answer, whatever it was. */
    answered({ accountId, origin }: ReceiverKey): void {
      set.run({ accountId, origin, silences: 0, pausedUntil: 0 });
    },
    /** An attempt had no answer. Those that were under way when the pause began do not prolong it. */
    silent({ accountId, origin }: ReceiverKey, now: number): void {
      const known = find.get({ accountId, origin });
      if (known === undefined || known.pausedUntil > now) return;
      const silences = known.silences + 1;
      const pauses = silences - SILENCES_BEFORE_PAUSE;
      const pausedUntil = pauses < 0 ? 0 : now + Math.min(FIRST_PAUSE_MS * 2 ** pauses, LONGEST_PAUSE_MS);
      set.run({ accountId, origin, silences, pausedUntil });
    },
    /** Nobody is paused beyond the horizon. @returns whom to refresh */
    unpauseBeyond: (horizon: number): ReceiverKey[] => unpause.all(horizon),
  };
}
