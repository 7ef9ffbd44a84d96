/**
 * Trial "model" (Durability): random operations on the store and on a model of it, the outcomes compared one by one. Every change of
 * a job's state is written down by a trigger and judged against the table of legal ones.
 *
 * Sabotage: with `sabotage` (or STILLFRAME_TRIAL_SABOTAGE=1) the store's `release` updates by id alone, without naming the state,
 * worker and attempt that it expects, and the database's own guard is dropped: the trial must turn red.
 */
import { deepStrictEqual } from 'node:assert';
import { rmSync } from 'node:fs';
import { isTerminal, type JobSnapshot, type StoredJobState } from '../../src/contract/job.js';
import type { EndedJob, Store } from '../../src/store/store.js';
import { createDatabase } from '../fixtures/databases.js';
import { startPostgres } from '../fixtures/postgres.js';
import { aDataDir, claimOne, NOON, openAt } from '../store/factories.js';
import { type ModelJob, ModelState } from './model-state.js';
import { Actor, aModelCaller, type ModelCaller, SECRET, type Stage, type SteppedStore } from './model-steps.js';
import { illegalOf, type ModelWatch, watchStore } from './model-watch.js';
import type { TrialResult } from './trial-result.js';

/** Between comparisons of everything with everything. */
const ROUND = 250;
const ASKED_TO_FAIL = process.env.STILLFRAME_TRIAL_SABOTAGE === '1';

export interface ModelOptions {
  operations?: number;
  seed?: number;
  sabotage?: boolean;
  /** `postgres`: on a server of its own. */
  engine?: 'sqlite' | 'postgres';
  /** The store to use instead: a data directory or the URL of a database, removed by the caller. */
  place?: string;
}

export async function run({ engine = 'sqlite', place, ...options }: ModelOptions): Promise<TrialResult<number>> {
  if (place !== undefined) return await runAt(place, options);
  if (engine === 'postgres') {
    await using server = await startPostgres({ fsync: 'off' });
    return await runAt(await createDatabase(server.adminUrl), options);
  }
  const dataDir = aDataDir();
  try {
    return await runAt(dataDir, options);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function runAt(place: string, options: Omit<ModelOptions, 'engine' | 'place'>): Promise<TrialResult<number>> {
  const { operations = 100_000, seed = 1, sabotage = ASKED_TO_FAIL } = options;
  const first = await openAt(place);
  const watch = await watchStore(place);
  if (sabotage) await watch.unguard();
  const callers: ModelCaller[] = [];
  for (const name of ['account 0', 'account 1', 'account 2']) callers.push(await aModelCaller(first, name));
  const sides = new Sides(first, sabotage ? watch : null);
  for (const { name, accountId } of callers) sides.model.accountIds.set(name, accountId);
  const restarting = { stepMs: 40, maxQueue: 25, claimsAtOnce: 1, quotas: true, reopen: () => sides.reopen(place) };
  const stage: Stage = { callers, claims: [], deliveries: [], isPaused: false, now: NOON, options: restarting };
  const actor = new Actor(sides.steps, stage, seed);
  const figures = { seed, operations: 0, jobs: 0, transitions: 0, illegal: 0 };
  const problems: string[] = [];
  try {
    for (; figures.operations < operations; figures.operations++) {
      await actor.step();
      await sides.compareTouched();
      if (figures.operations % ROUND < ROUND - 1 && figures.operations < operations - 1) continue;
      const moves = await watch.takeMoves();
      const illegal = illegalOf(moves);
      figures.transitions += moves.length;
      figures.illegal += illegal.length;
      deepStrictEqual([illegal, await watch.brokenReferences()], [[], []], 'transitions and references');
      await sides.compareAll(stage);
    }
    figures.jobs = await watch.jobsEver();
  } catch (error) {
    problems.push(`operation ${figures.operations}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await watch.close();
    await sides.store[Symbol.asyncDispose]();
  }
  return {
    figures: { ...figures, completed: sides.model.count('completed'), failed: sides.model.count('failed') },
    problems,
  };
}

/** The store and the model. Every method throws at the first difference. */
class Sides {
  readonly model = new ModelState();
  readonly steps: SteppedStore;
  /** Jobs that a step has changed, and the ends that it should have told and has told. */
  readonly #touched = new Set<string>();
  readonly #ends = { expected: [] as string[], told: [] as string[] };
  readonly #told = new Map<string, string>();

  constructor(
    public store: Store,
    sabotage: ModelWatch | null,
  ) {
    this.steps = this.#bothDo(sabotage);
  }

  async reopen(place: string): Promise<void> {
    await this.store[Symbol.asyncDispose]();
    this.store = await openAt(place);
  }

  #bothDo(sabotage: ModelWatch | null): SteppedStore {
    const { model } = this;
    /** The last submission: over several connections they would be decided in any order. */
    let turn: Promise<unknown> = Promise.resolve();
    const alike = <Name extends Alike>(name: Name) =>
      (async (...given: [never, never, never]) => {
        const expected = (model[name] as (...given: unknown[]) => unknown)(...given);
        const answer = await (this.store[name] as (...given: unknown[]) => Promise<unknown>)(...given);
        deepStrictEqual(answer, expected);
        return answer;
      }) as unknown as Store[Name];
    const hear = (ended: EndedJob[]): EndedJob[] => {
      for (const { id } of ended) this.#touched.add(id);
      this.#ends.told.push(...ended.map(({ id }) => id));
      return ended;
    };
    return {
      accept: async (wish, rules) => {
        this.#touched.add(wish.id);
        const expected = model.accept(wish, rules.maxQueue);
        const accept = () => this.store.accept(wish, rules);
        const accepted = this.store.shared ? turn.then(accept) : accept();
        turn = accepted;
        const answer = await accepted;
        deepStrictEqual(answer.kind === 'replayed' ? `replayed ${answer.job.id}` : answer.kind, expected);
        return answer;
      },
      claimNextJobs: async ([claim]) => {
        if (claim === undefined) return [];
        const claimed = await claimOne(this.store, claim);
        const job = oneOf(model.nextInTurn(claim.now), claimed?.id ?? null);
        if (claimed === null || job === null) return [];
        model.take(job, claim);
        deepStrictEqual(
          [claimed.attempt, claimed.firstClaimedAt, claimed.options],
          [job.attempts, job.firstClaimedAt, job.wish.options],
        );
        return [claimed];
      },
      complete: async (claim, capture, now) => {
        if ('artifact' in capture) this.#ends.expected.push(...model.complete(claim, capture.artifact, now));
        return hear(await this.store.complete(claim, capture, now));
      },
      fail: async (claim, error, now) => {
        this.#ends.expected.push(...model.fail(claim, error.code, now));
        return hear(await this.store.fail(claim, error, now));
      },
      release: async (claim) => {
        this.#touched.add(claim.id);
        if (sabotage === null) return await alike('release')(claim);
        await sabotage.putBack(claim.id);
        return model.release(claim);
      },
      recover: async (recovery) => {
        const expected = model.recover(recovery.now, recovery.starting);
        this.#ends.expected.push(...expected.ended);
        const { requeued, ended } = await this.store.recover(recovery);
        deepStrictEqual(requeued, expected.requeued);
        return { requeued, ended: hear(ended) };
      },
      endedLeaders: () => this.store.endedLeaders(),
      endFollowers: async (leaderId) => {
        const slice = await this.store.endFollowers(leaderId);
        return slice && hear(slice);
      },
      claimNextDelivery: async (claim) => {
        const due = await this.store.claimNextDelivery(claim);
        const delivery = oneOf(model.dueDeliveries(claim.now, claim.perReceiver), due?.jobId ?? null)?.delivery;
        if (due === null || !delivery) return null;
        deepStrictEqual(
          [due.generation, due.attempt, due.secret],
          [delivery.generation, delivery.attempts + 1, SECRET],
        );
        delivery.claimedUntil = claim.now + claim.leaseMs;
        return due;
      },
      redeliver: async (...given) => {
        const answer = await this.store.redeliver(...given);
        deepStrictEqual(answer.kind, model.redeliver(...given));
        return answer;
      },
      usage: async (accountId, now) => {
        const usage = await this.store.usage(accountId, now);
        deepStrictEqual([usage.credits, usage.reserved], model.usage(accountId, now), 'usage');
        return usage;
      },
      setQueuePaused: async (isPaused) => {
        model.paused = isPaused;
        await this.store.setQueuePaused(isPaused);
      },
      renewLease: alike('renewLease'),
      announceArtifact: alike('announceArtifact'),
      retryLater: alike('retryLater'),
      recordAttempt: alike('recordAttempt'),
      expireArtifacts: alike('expireArtifacts'),
      deleteJobs: alike('deleteJobs'),
      expireDeliveries: alike('expireDeliveries'),
      setQuota: alike('setQuota'),
    };
  }

  async compareTouched(): Promise<void> {
    const { expected, told } = this.#ends;
    deepStrictEqual(told.splice(0).sort(), expected.splice(0).sort(), 'ended jobs');
    for (const id of this.#touched) await this.#compareJob(id);
    this.#touched.clear();
  }

  /** Everything the store tells against everything the model holds. */
  async compareAll({ callers, now }: Stage): Promise<void> {
    const { store, model } = this;
    for (const id of model.jobs.keys()) await this.#compareJob(id);
    for (const { accountId } of callers) await this.steps.usage(accountId, now);
    const status = await store.queueStatus();
    const states = Object.keys(status).filter((state) => state !== 'paused') as StoredJobState[];
    deepStrictEqual(status, {
      ...Object.fromEntries(states.map((state) => [state, model.count(state)])),
      paused: model.paused,
    });
    const { settled, released, ...webhooks } = model.totals;
    const pending = model.pendingCredits(null, null);
    const oldest = Math.min(now, ...pending.map((job) => job.wish.enqueuedAt));
    deepStrictEqual(await store.settlement(now), {
      pending: pending.length,
      settled,
      released,
      oldestPendingMs: now - oldest,
    });
    deepStrictEqual(await store.webhookTotals(), webhooks);
    const kept = [...model.artifacts.values()].filter(({ gone }) => !gone).length;
    deepStrictEqual((await store.keptArtifacts([...model.artifacts.keys()])).size, kept, 'kept artifacts');
  }

  async #compareJob(id: string): Promise<void> {
    const job = this.model.jobs.get(id);
    const found = await this.store.findJob(id);
    deepStrictEqual(found === null, job === undefined, `whether ${id} is there`);
    if (job === undefined || found === null) return;
    const { state, attemptsMade, result } = found;
    const worker = job.endedAt === null ? null : job.worker;
    const told = [state, attemptsMade, result?.completedAt ?? null, result?.workerId ?? null, ...outcomeOf(found)];
    deepStrictEqual(
      told,
      [this.model.toldState(job), job.attempts, job.endedAt, worker, job.artifact, job.cached, job.error],
      `job ${id}`,
    );
    const delivery = await this.store.findDelivery(id);
    const expected = job.delivery && [
      job.delivery.state,
      job.delivery.event,
      job.delivery.generation,
      job.delivery.attempts,
    ];
    deepStrictEqual(
      delivery && [delivery.state, delivery.event, delivery.generation, delivery.attempts],
      expected,
      `delivery of ${id}`,
    );
    if (!isTerminal(state)) return;
    const text = JSON.stringify(found);
    deepStrictEqual(text, this.#told.get(id) ?? text, `ended job ${id} changed`);
    this.#told.set(id, text);
  }
}

/** The steps of which the model takes and answers the same as the store. */
type Alike =
  | ('renewLease' | 'announceArtifact' | 'retryLater' | 'release' | 'recordAttempt')
  | ('expireArtifacts' | 'expireDeliveries' | 'deleteJobs' | 'setQuota');

/** The one that the store has chosen of those that it may choose; null when it may choose none, and has. */
function oneOf(allowed: readonly ModelJob[], id: string | null): ModelJob | null {
  const job = allowed.find(({ wish }) => wish.id === id) ?? null;
  deepStrictEqual(id, job?.wish.id ?? (allowed.length === 0 ? null : `one of ${allowed.map(({ wish }) => wish.id)}`));
  return job;
}

function outcomeOf(found: JobSnapshot) {
  const outcome = found.result?.outcome;
  if (outcome === undefined) return [null, false, null];
  return outcome.ok ? [outcome.data.artifact, outcome.data.cached, null] : [null, false, outcome.error.code];
}
