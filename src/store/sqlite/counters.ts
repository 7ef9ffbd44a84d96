import type { QueueStatus } from '../store.js';
import type { Db } from './connect.js';

/** Counts of jobs and bytes are moved by triggers (drizzle/0001_triggers.sql), the others by the steps that make them. */
type CountedEvent =
  | 'credits/pending'
  | 'credits/settled'
  | 'credits/released'
  | 'webhooks/delivered'
  | 'webhooks/failed'
  | 'webhooks/errors';

export type CountersTable = ReturnType<typeof countersTable>;

/** Synchronous statements; the caller owns the transaction. */
export function countersTable(db: Db) {
  const all = db.prepare<[], [string, number]>('SELECT name, value FROM counters').raw();
  const add = db.prepare<[number, string]>('UPDATE counters SET value = value + ? WHERE name = ?');
  const turn = db.prepare<[], number>(`SELECT value FROM counters WHERE name = 'turn'`).pluck();
  const raiseTurn = db.prepare<[number]>(`UPDATE counters SET value = max(value, ?) WHERE name = 'turn'`);
  const queued = db.prepare<[], number>(`SELECT sum(value) FROM counters WHERE name IN ('waiting', 'prioritized', 'delayed')`).pluck();
  const unfinished = db
    .prepare<[], number>(`SELECT sum(value) FROM counters WHERE name IN ('waiting', 'prioritized', 'delayed', 'active')`)
    .pluck();
  const waiting = db
    .prepare<[], number>(
      `SELECT sum(value) FROM counters WHERE name IN ('waiting', 'prioritized', 'delayed', 'waiting/following', 'prioritized/following')`,
    )
    .pluck();
  const bytes = db.prepare<[], number>(`SELECT value FROM counters WHERE name = 'artifacts/bytes'`).pluck();
  const paused = db.prepare<[], number>('SELECT paused FROM queue').pluck();
  const setPaused = db.prepare<[number]>('UPDATE queue SET paused = ?');

  return {
    add(name: CountedEvent, by: number): void {
      add.run(by, name);
    },
    all(): Map<string, number> {
      return new Map(all.all());
    },
    /** Virtual time of the queue (turns.ts): the tag of the latest claim. It never goes back. */
    turn: (): number => turn.get() ?? 0,
    raiseTurn(to: number): void {
      raiseTurn.run(to);
    },
    /** Jobs queued or running, followers of a shared render left out. */
    unfinished: (): number => unfinished.get() ?? 0,
    /** Jobs that wait, followers of a shared render too. */
    waiting: (): number => waiting.get() ?? 0,
    /** Jobs that can be claimed now or later: followers of a shared render cannot. */
    queued: (): number => queued.get() ?? 0,
    artifactBytes: (): number => bytes.get() ?? 0,
    isPaused: (): boolean => paused.get() === 1,
    setPaused(value: boolean): void {
      setPaused.run(value ? 1 : 0);
    },
  };
}

/** Jobs by state, of those that are still kept. */
export function queueStatusOf(counters: CountersTable): QueueStatus {
  const counts = counters.all();
  const of = (name: string) => counts.get(name) ?? 0;
  return {
    waiting: of('waiting') + of('waiting/following'),
    active: of('active'),
    prioritized: of('prioritized') + of('prioritized/following'),
    delayed: of('delayed'),
    completed: of('completed'),
    failed: of('failed'),
    paused: counters.isPaused(),
  };
}
