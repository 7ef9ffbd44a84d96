/**
 * Trial "model" (Durability): random operations on the store and on a model of it, the outcomes compared one by one. Every change of
 * a job's state is written down by a trigger and judged against the table of legal ones.
 *
 * Sabotage: with `sabotage` (or STILLFRAME_TRIAL_SABOTAGE=1) the store's `release` updates by id alone, without naming the state,
 * worker and attempt that it expects, and the database's own guard is dropped: the trial must turn red.
 */
import { deepStrictEqual } from 'node:assert';
import { rmSync } from 'node:fs';
import { periodOf } from '../../src/contract/pricing.js';
import type { Acceptance, Claim, DueDelivery, EndedJob, NewJob, Store } from '../../src/store/store.js';
import { createDatabase, startPostgres } from '../fixtures/postgres.js';
import { aCapture, aDataDir, claimOne, NOON, openAt } from '../store/factories.js';
import { compareJob, compareSums, compareUsage, isLegalMove, type Sides } from './model-comparison.js';
import { aModelCaller, Dice, type ModelCaller, SECRET } from './model-dice.js';
import { ModelState } from './model-state.js';
import { type ModelWatch, watchStore } from './model-watch.js';
import { firstOf, type TrialResult } from './trial-result.js';

const MAX_QUEUE = 25;
const LEASE_MS = 2_000;
const PER_RECEIVER = 2;
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
  const trial = await ModelTrial.begin(place, seed, sabotage);
  try {
    for (let i = 0; i < operations && trial.problem === null; i++) await trial.step(i);
    await trial.compareAll();
  } catch (error) {
    trial.problem ??= error instanceof Error ? error.message : String(error);
  } finally {
    await trial.end();
  }
  return {
    figures: { seed, ...trial.figures() },
    problems: trial.problem === null ? [] : [trial.problem],
  };
}

class ModelTrial {
  problem: string | null = null;
  readonly #sides: Sides;
  readonly #callers: ModelCaller[] = [];
  readonly #counts = { operations: 0, accepted: 0, jobs: 0, restarts: 0, transitions: 0, illegal: 0, lostClaims: 0 };
  readonly #claims: Claim[] = [];
  readonly #deliveries: DueDelivery[] = [];
  readonly #dice: Dice;
  #now = NOON;

  get #store(): Store {
    return this.#sides.store;
  }

  get #model(): ModelState {
    return this.#sides.model;
  }

  private constructor(
    seed: number,
    private readonly place: string,
    store: Store,
    private readonly watch: ModelWatch,
    private readonly sabotage: boolean,
  ) {
    this.#dice = new Dice(seed);
    this.#sides = { store, model: new ModelState(), told: new Map() };
  }

  static async begin(place: string, seed: number, sabotage: boolean): Promise<ModelTrial> {
    const store = await openAt(place);
    const watch = await watchStore(place);
    if (sabotage) await watch.unguard();
    const trial = new ModelTrial(seed, place, store, watch, sabotage);
    for (let i = 0; i < 3; i++) trial.#callers.push(await aModelCaller(store, `account ${i}`));
    return trial;
  }

  async end(): Promise<void> {
    await this.watch.close();
    await this.#sides.store[Symbol.asyncDispose]();
  }

  figures() {
    return { ...this.#counts, completed: this.#model.count('completed'), failed: this.#model.count('failed') };
  }

  async step(i: number): Promise<void> {
    this.#counts.operations += 1;
    this.#now += 1 + this.#dice.below(40);
    const [name] = this.#dice.byWeight(WEIGHTS);
    try {
      await this[name]();
      if (i % ROUND === ROUND - 1) await this.compareAll();
    } catch (error) {
      this.problem = `operation ${i} (${name}): ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  /** Several at once, so that they share transactions; the store takes them in this order. */
  async accept(): Promise<void> {
    const wishes = firstOf(1 + this.#dice.below(3)).map(() => this.#dice.wish(this.#callers, ++this.#now));
    const expected = wishes.map((wish) => this.#model.accept(wish, MAX_QUEUE));
    const answers = await this.#acceptAll(wishes);
    const told = answers.map((answer) => (answer.kind === 'replayed' ? `replayed ${answer.job.id}` : answer.kind));
    deepStrictEqual(told, expected);
    this.#counts.accepted += answers.filter((answer) => 'job' in answer).length;
    for (const wish of wishes) await compareJob(this.#sides, wish.id);
  }

  /** At once, where the store decides in the order of the calls; several connections decide in any order. */
  async #acceptAll(wishes: readonly NewJob[]): Promise<Acceptance[]> {
    const { store } = this.#sides;
    const accept = (wish: NewJob) => store.accept(wish, { maxQueue: MAX_QUEUE, webhookMaxAttempts: 5 });
    if (!store.shared) return await Promise.all(wishes.map(accept));
    const answers: Acceptance[] = [];
    for (const wish of wishes) answers.push(await accept(wish));
    return answers;
  }

  async claim(): Promise<void> {
    const claim = { workerId: `w-${this.#dice.below(4)}`, now: this.#now, leaseMs: LEASE_MS };
    const allowed = this.#model.nextInTurn(this.#now);
    const claimed = await claimOne(this.#sides.store, claim);
    const job = allowed.find((candidate) => candidate.wish.id === claimed?.id);
    deepStrictEqual(claimed?.id ?? null, job?.wish.id ?? (allowed.length === 0 ? null : `one of ${allowed.map((each) => each.wish.id)}`));
    if (claimed === null || job === undefined) return;
    this.#model.take(job, claim);
    deepStrictEqual([claimed.attempt, claimed.firstClaimedAt, claimed.options], [job.attempts, job.firstClaimedAt, job.wish.options]);
    this.#claims.push({ id: claimed.id, workerId: claimed.workerId, attempt: claimed.attempt });
  }

  async renew(): Promise<void> {
    const claim = this.#anyClaim();
    if (claim === null) return;
    const kept = await this.#store.renewLease(claim, { now: this.#now, leaseMs: LEASE_MS, progress: this.#dice.below(120) });
    deepStrictEqual(kept, this.#model.renew(claim, this.#now + LEASE_MS));
  }

  async complete(): Promise<void> {
    const claim = this.#anyClaim();
    if (claim === null) return;
    const capture = aCapture({ bytes: 1 + this.#dice.below(1_000) });
    const ended = await this.#store.complete(claim, capture, this.#now);
    await this.#compareEnded(ended, this.#model.complete(claim, capture.artifact, this.#now));
  }

  async fail(): Promise<void> {
    const claim = this.#anyClaim();
    if (claim === null) return;
    // Each its own, as pictures have names of their own: the same claim with the same error is the repetition of a try, which SQLite answers again.
    const error = { code: 'target_error', message: `no ${this.#counts.operations}`, retriable: false, status: 502 } as const;
    await this.#compareEnded(await this.#store.fail(claim, error, this.#now), this.#model.fail(claim, error.code, this.#now));
  }

  async #compareEnded(first: EndedJob[], expected: string[]): Promise<void> {
    const ids = (await this.#withFollowers(first)).map((job) => job.id);
    deepStrictEqual(ids, expected);
    for (const id of ids) await compareJob(this.#sides, id);
  }

  /** The slices that are left of those that share a render. */
  async #withFollowers(ended: EndedJob[]): Promise<EndedJob[]> {
    const all = [...ended];
    for (const leaderId of await this.#store.endedLeaders()) {
      for (let slice: EndedJob[] | null = []; slice !== null; slice = await this.#store.endFollowers(leaderId)) all.push(...slice);
    }
    return all;
  }

  async retryLater(): Promise<void> {
    const claim = this.#anyClaim();
    if (claim === null) return;
    const dueAt = this.#now + this.#dice.below(500);
    deepStrictEqual(await this.#store.retryLater(claim, dueAt, this.#now), this.#model.retryLater(claim, dueAt, this.#now));
  }

  async release(): Promise<void> {
    const claim = this.#anyClaim();
    if (claim === null) return;
    const expected = this.#model.release(claim);
    if (this.sabotage) {
      await this.watch.putBack(claim.id);
    } else deepStrictEqual(await this.#store.release(claim), expected);
    await compareJob(this.#sides, claim.id);
  }

  async recover(): Promise<void> {
    const restart = this.#dice.chance(0.1);
    if (restart) {
      this.#counts.restarts += 1;
      await this.#sides.store[Symbol.asyncDispose]();
      this.#sides.store = await openAt(this.place);
    }
    const { requeued, ended: crashed } = await this.#store.recover({ now: this.#now, starting: restart });
    const ended = await this.#withFollowers(crashed);
    const expected = this.#model.recover(this.#now, restart);
    deepStrictEqual({ requeued, ended: ended.map((job) => job.id).sort() }, { ...expected, ended: expected.ended.sort() });
  }

  async pause(): Promise<void> {
    this.#model.paused = !this.#model.paused && this.#dice.chance(0.3);
    await this.#store.setQueuePaused(this.#model.paused);
  }

  async claimDelivery(): Promise<void> {
    const due = await this.#store.claimNextDelivery({ now: this.#now, leaseMs: LEASE_MS, perReceiver: PER_RECEIVER });
    const allowed = this.#model.dueDeliveries(this.#now, PER_RECEIVER);
    const job = allowed.find((candidate) => candidate.wish.id === due?.jobId);
    deepStrictEqual(due?.jobId ?? null, job?.wish.id ?? (allowed.length === 0 ? null : `one of ${allowed.map((each) => each.wish.id)}`));
    const delivery = job?.delivery;
    if (due === null || !delivery) return;
    deepStrictEqual([due.generation, due.attempt, due.secret], [delivery.generation, delivery.attempts + 1, SECRET]);
    delivery.claimedUntil = this.#now + LEASE_MS;
    this.#deliveries.push(due);
  }

  async recordAttempt(): Promise<void> {
    const due = this.#dice.anyOf(this.#dice.chance(0.9) ? this.#deliveries.slice(-8) : this.#deliveries);
    if (due === null) return;
    const outcome = this.#dice.outcome(this.#now);
    const job = this.#model.jobs.get(due.jobId);
    const delivery = job?.delivery;
    const current = delivery?.state === 'pending' && delivery.generation === due.generation && delivery.attempts === due.attempt - 1;
    deepStrictEqual(await this.#store.recordAttempt(due, outcome, this.#now), current);
    if (!current || !delivery || !job) return;
    this.#model.judgeReceiver(job, outcome.status, this.#now);
    const again = outcome.kind === 'retry' ? { dueAt: outcome.nextAttemptAt } : { state: outcome.kind, dueAt: null };
    Object.assign(delivery, { attempts: due.attempt, claimedUntil: null, ...again });
    this.#model.forgetReceiver(job);
    if (outcome.kind !== 'delivered') this.#model.totals.errors += 1;
    if (outcome.kind !== 'retry') this.#model.totals[outcome.kind] += 1;
  }

  async redeliver(): Promise<void> {
    const job = this.#dice.anyOf([...this.#model.jobs.values()]);
    if (job === null) return;
    const { delivery } = job;
    const generation = (delivery?.generation ?? 1) - this.#dice.below(2);
    const answer = await this.#store.redeliver(job.wish.id, generation, this.#now);
    if (delivery === null) deepStrictEqual(answer.kind, 'delivery_unavailable');
    else if (delivery.generation !== generation) deepStrictEqual(answer.kind, 'generation_changed');
    else if (delivery.state === 'pending') deepStrictEqual(answer.kind, 'delivery_pending');
    else {
      deepStrictEqual(answer.kind, 'accepted');
      Object.assign(delivery, { state: 'pending', generation: generation + 1, attempts: 0, dueAt: this.#now });
    }
  }

  async keepHouse(): Promise<void> {
    const rules = { before: this.#now - 60_000, maxBytes: 20_000, limit: 1_000, now: this.#now };
    deepStrictEqual(await this.#store.expireArtifacts(rules), this.#model.expire(rules.before, rules.maxBytes));
    const before = this.#now - this.#dice.below(120_000);
    deepStrictEqual(await this.#store.deleteJobs({ before, limit: 1_000_000 }), this.#model.deleteBefore(before));
  }

  async setQuota(): Promise<void> {
    const caller = this.#dice.anyOf(this.#callers);
    if (caller === null) return;
    const used = this.#model.settled.get(`${caller.accountId} ${periodOf(this.#now)}`) ?? 0;
    const quota = this.#dice.chance(0.7) ? null : used + this.#dice.below(20);
    this.#model.quotas.set(caller.accountId, quota);
    await this.#store.setQuota(caller.name, quota);
  }

  /** Everything the store tells against everything the model holds, and all moves since against the legal ones. */
  async compareAll(): Promise<void> {
    const moves = await this.watch.takeMoves();
    const illegal = moves.filter((move) => !isLegalMove(move));
    this.#counts.transitions += moves.length;
    this.#counts.illegal += illegal.length;
    if (illegal[0] !== undefined) throw new Error(`illegal transition: ${illegal[0].move} of ${illegal[0].id}`);
    for (const id of this.#model.jobs.keys()) await compareJob(this.#sides, id);
    await compareSums(this.#sides, this.#now);
    for (const { accountId } of this.#callers) await compareUsage(this.#sides, accountId, this.#now);
    this.#counts.jobs = await this.watch.jobsEver();
    deepStrictEqual(await this.watch.brokenReferences(), []);
  }

  /** Mostly a fresh one, now and then one long lost. */
  #anyClaim(): Claim | null {
    const recent = this.#claims.slice(-6);
    const from = this.#dice.chance(0.9) ? recent : this.#claims;
    const claim = this.#dice.anyOf(from);
    if (claim !== null && this.#model.held(claim) === null) this.#counts.lostClaims += 1;
    return claim;
  }
}

/** How often each operation is done. */
const STEPS = {
  ...{ accept: 22, claim: 24, renew: 4, complete: 18, fail: 4, retryLater: 3, release: 2, recover: 2, pause: 2 },
  ...{ claimDelivery: 10, recordAttempt: 8, redeliver: 2, keepHouse: 2, setQuota: 1 },
};
const WEIGHTS = Object.entries(STEPS) as [keyof typeof STEPS, number][];
