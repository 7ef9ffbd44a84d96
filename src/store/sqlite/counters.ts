import { eq, inArray, sql, sum } from 'drizzle-orm';
import type { QueueStatus } from '../store.js';
import { matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import { counters, queue } from './schema.js';

/** Counters that steps update; triggers (drizzle/0001_triggers.sql) update the counts of jobs and bytes. */
type CountedEvent =
  | 'credits/pending'
  | 'credits/settled'
  | 'credits/released'
  | 'webhooks/delivered'
  | 'webhooks/failed'
  | 'webhooks/errors';

export type CountersTable = ReturnType<typeof countersTable>;

/** Synchronous statements. The caller owns the transaction. */
export function countersTable(orm: Orm) {
  const { name, value } = counters;
  const all = orm.select({ name, value }).from(counters).prepare();
  const one = orm.select({ value }).from(counters).where(matching(counters, 'name')).prepare();
  const sumOf = (names: string[]) =>
    orm
      .select({ value: sum(value).mapWith(Number) })
      .from(counters)
      .where(inArray(name, names))
      .prepare();
  const queued = sumOf(['waiting', 'prioritized', 'delayed']);
  const unfinished = sumOf(['waiting', 'prioritized', 'delayed', 'active']);
  const waiting = sumOf(['waiting', 'prioritized', 'delayed', 'waiting/following', 'prioritized/following']);
  const add = orm
    .update(counters)
    .set({ value: sql`${value} + ${sql.placeholder('by')}` })
    .where(matching(counters, 'name'))
    .prepare();
  const raiseTurn = orm
    .update(counters)
    .set({ value: sql`max(${value}, ${sql.placeholder('to')})` })
    .where(eq(name, 'turn'))
    .prepare();
  const paused = orm.select({ paused: queue.paused }).from(queue).prepare();
  const setPaused = orm.update(queue).set(parameters(queue, 'paused')).prepare();

  return {
    add(name: CountedEvent, by: number): void {
      add.run({ name, by });
    },
    all(): Map<string, number> {
      return new Map(all.all().map(({ name, value }) => [name, value]));
    },
    /** Returns the virtual time of the queue (turns.ts): the tag of the latest claim. It never decreases. */
    turn: (): number => one.get({ name: 'turn' })?.value ?? 0,
    raiseTurn(to: number): void {
      raiseTurn.run({ to });
    },
    /** Counts queued and running jobs, without followers of a shared render. */
    unfinished: (): number => unfinished.get()?.value ?? 0,
    /** Counts waiting jobs, including followers of a shared render. */
    waiting: (): number => waiting.get()?.value ?? 0,
    /** Counts jobs that can be claimed now or later, that is, without followers of a shared render. */
    queued: (): number => queued.get()?.value ?? 0,
    artifactBytes: (): number => one.get({ name: 'artifacts/bytes' })?.value ?? 0,
    isPaused: (): boolean => paused.get()?.paused === true,
    setPaused(value: boolean): void {
      setPaused.run({ paused: value });
    },
  };
}

/** Counts stored jobs by state. */
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
