/** The two sides of the model trial, and whether they agree. Every function throws at the first difference. */
import { deepStrictEqual } from 'node:assert';
import { isTerminal, type JobSnapshot } from '../../src/contract/job.js';
import { periodOf } from '../../src/contract/pricing.js';
import type { Store } from '../../src/store/store.js';
import type { ModelState } from './model-state.js';
import type { Move } from './model-watch.js';

export interface Sides {
  store: Store;
  model: ModelState;
  /** The reported ends of jobs, by id. */
  told: Map<string, string>;
}

/** Every change of state that a job may make. */
const LEGAL_MOVES = new Set([
  ...['waiting>active', 'waiting>prioritized', 'waiting>completed', 'waiting>failed'],
  ...['prioritized>active', 'prioritized>completed', 'prioritized>failed', 'delayed>active'],
  ...['active>waiting', 'active>prioritized', 'active>delayed', 'active>completed', 'active>failed'],
]);

export function isLegalMove({ move }: Move): boolean {
  return LEGAL_MOVES.has(move);
}

export async function compareJob({ store, model, told }: Sides, id: string): Promise<void> {
  const job = model.jobs.get(id);
  const found = await store.findJob(id);
  if (job === undefined || found === null) {
    deepStrictEqual([found === null, job === undefined], [true, true], `whether ${id} is there`);
    return;
  }
  const state = [found.state, found.attemptsMade, found.result?.completedAt ?? null, found.result?.workerId ?? null];
  deepStrictEqual(state, [model.toldState(job), job.attempts, job.endedAt, job.endedAt === null ? null : job.worker], `job ${id}`);
  deepStrictEqual(outcomeOf(found), [job.artifact, job.cached, job.error], `outcome of ${id}`);
  const delivery = await store.findDelivery(id);
  const expected = job.delivery && [job.delivery.state, job.delivery.event, job.delivery.generation, job.delivery.attempts];
  deepStrictEqual(delivery && [delivery.state, delivery.event, delivery.generation, delivery.attempts], expected, `delivery of ${id}`);
  if (!isTerminal(found.state)) return;
  const text = JSON.stringify(found);
  deepStrictEqual(text, told.get(id) ?? text, `ended job ${id} changed`);
  told.set(id, text);
}

export async function compareSums({ store, model }: Sides, now: number): Promise<void> {
  const of = (...states: Parameters<ModelState['count']>) => model.count(...states);
  deepStrictEqual(await store.queueStatus(), {
    ...{ waiting: of('waiting'), active: of('active'), prioritized: of('prioritized'), delayed: of('delayed') },
    ...{ completed: of('completed'), failed: of('failed'), paused: model.paused },
  });
  const { settled, released, ...webhooks } = model.totals;
  const pending = model.pendingCredits(null, null);
  const oldest = Math.min(now, ...pending.map((job) => job.wish.enqueuedAt));
  deepStrictEqual(await store.settlement(now), { pending: pending.length, settled, released, oldestPendingMs: now - oldest });
  deepStrictEqual(await store.webhookTotals(), webhooks);
  const kept = [...model.artifacts].filter(([, artifact]) => !artifact.gone).map(([name]) => name);
  deepStrictEqual((await store.keptArtifacts([...model.artifacts.keys()])).size, kept.length, 'kept artifacts');
}

export async function compareUsage({ store, model }: Sides, accountId: string, now: number): Promise<void> {
  const period = periodOf(now);
  const { credits, reserved } = await store.usage(accountId, now);
  const pending = model.pendingCredits(accountId, period).reduce((sum, job) => sum + job.wish.price, 0);
  deepStrictEqual([credits, reserved], [model.settled.get(`${accountId} ${period}`) ?? 0, pending], 'usage');
}

function outcomeOf(found: JobSnapshot) {
  const outcome = found.result?.outcome;
  if (outcome === undefined) return [null, false, null];
  return outcome.ok ? [outcome.data.artifact, outcome.data.cached, null] : [null, false, outcome.error.code];
}
