/**
 * Trial "model" (Durability): random operations on the store and on a model of it, the outcomes compared one by one. Every change of
 * a job's state is written down by a trigger and judged against the table of legal ones.
 *
 * Sabotage: with `sabotage` (or STILLFRAME_TRIAL_SABOTAGE=1) the store's `release` updates by id alone, without naming the state,
 * worker and attempt that it expects, and the database's own guard is dropped: the trial must turn red.
 */
import { deepStrictEqual } from 'node:assert';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { isTerminal } from '../../src/contract/job.js';
import { periodOf } from '../../src/contract/pricing.js';
import type { AttemptOutcome, Claim, DueDelivery, NewJob, Store } from '../../src/store/store.js';
import { aCapture, aDataDir, aKey, aNewJob, NOON, openAt, someOptions } from '../store/factories.js';
import { type ModelJob, ModelState } from './model-state.js';

const LEGAL = new Set([
  ...['waiting>active', 'waiting>prioritized', 'waiting>completed', 'waiting>failed'],
  ...['prioritized>active', 'prioritized>completed', 'prioritized>failed', 'delayed>active'],
  ...['active>waiting', 'active>prioritized', 'active>delayed', 'active>completed', 'active>failed'],
]);
const MAX_QUEUE = 25;
const LEASE_MS = 2_000;
const PER_RECEIVER = 2;
/** Between comparisons of everything with everything. */
const ROUND = 250;
const SECRET = 's'.repeat(20);

export interface ModelTrialArgs {
  operations: number;
  seed: number;
  sabotage?: boolean;
}

export interface TrialOutcome {
  ok: boolean;
  figures: Record<string, number | string>;
}

export function run(args: ModelTrialArgs): Promise<TrialOutcome> {
  return runModelTrial({ sabotage: process.env.STILLFRAME_TRIAL_SABOTAGE === '1', ...args });
}

export async function runModelTrial({ operations, seed, sabotage = false }: ModelTrialArgs): Promise<TrialOutcome> {
  const trial = await ModelTrial.begin(seed, sabotage);
  try {
    for (let i = 0; i < operations && trial.problem === null; i++) await trial.step(i);
    await trial.compareAll();
  } catch (error) {
    trial.problem ??= error instanceof Error ? error.message : String(error);
  } finally {
    await trial.end();
  }
  return {
    ok: trial.problem === null,
    figures: { seed, ...trial.figures(), ...(trial.problem === null ? {} : { problem: trial.problem }) },
  };
}

class ModelTrial {
  problem: string | null = null;
  readonly #model = new ModelState();
  readonly #callers: { accountId: string; name: string; keyIds: string[] }[] = [];
  readonly #counts = { operations: 0, accepted: 0, jobs: 0, restarts: 0, transitions: 0, illegal: 0, lostClaims: 0 };
  readonly #claims: Claim[] = [];
  readonly #deliveries: DueDelivery[] = [];
  readonly #random: () => number;
  readonly #ended = new Map<string, string>();
  #now = NOON;

  private constructor(
    seed: number,
    private readonly dataDir: string,
    private store: Store,
    private readonly watch: Database.Database,
    private readonly sabotage: boolean,
  ) {
    this.#random = generator(seed);
  }

  static async begin(seed: number, sabotage: boolean): Promise<ModelTrial> {
    const dataDir = aDataDir();
    const store = await openAt(dataDir);
    const watch = new Database(join(dataDir, 'stillframe.db'), { timeout: 5_000 });
    watch.exec(`CREATE TABLE trial_moves (id TEXT, move TEXT);
      CREATE TRIGGER trial_watch AFTER UPDATE OF state ON jobs WHEN old.state <> new.state
        BEGIN INSERT INTO trial_moves VALUES (new.id, old.state || '>' || new.state); END;`);
    if (sabotage) watch.exec('DROP TRIGGER jobs_end_for_good');
    const trial = new ModelTrial(seed, dataDir, store, watch, sabotage);
    for (let i = 0; i < 3; i++) await trial.#addCaller(`account ${i}`);
    return trial;
  }

  async end(): Promise<void> {
    this.watch.close();
    await this.store[Symbol.asyncDispose]();
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  figures() {
    return { ...this.#counts, completed: this.#model.count('completed'), failed: this.#model.count('failed') };
  }

  async step(i: number): Promise<void> {
    this.#counts.operations += 1;
    this.#now += 1 + this.#below(40);
    const pick = this.#random();
    const step = STEPS.find((candidate) => pick < candidate.until) ?? STEPS[0];
    if (step === undefined) throw new Error('no step');
    try {
      await step.run(this);
      if (i % ROUND === ROUND - 1) await this.compareAll();
    } catch (error) {
      this.problem = `operation ${i} (${step.name}): ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  /** Several at once, so that they share transactions; the store takes them in this order. */
  async accept(): Promise<void> {
    const wishes = Array.from({ length: 1 + this.#below(3) }, () => this.#wish());
    const expected = wishes.map((wish) => this.#model.accept(wish, MAX_QUEUE));
    const answers = await Promise.all(wishes.map((wish) => this.store.accept(wish, { maxQueue: MAX_QUEUE, webhookMaxAttempts: 5 })));
    const told = answers.map((answer) => (answer.kind === 'replayed' ? `replayed ${answer.job.id}` : answer.kind));
    deepStrictEqual(told, expected);
    this.#counts.accepted += answers.filter((answer) => 'job' in answer).length;
    for (const wish of wishes) await this.#compareJob(wish.id);
  }

  async claim(): Promise<void> {
    const claim = { workerId: `w-${this.#below(4)}`, now: this.#now, leaseMs: LEASE_MS };
    const allowed = this.#model.nextInTurn(this.#now);
    const claimed = await this.store.claimNextJob(claim);
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
    const kept = await this.store.renewLease(claim, { now: this.#now, leaseMs: LEASE_MS, progress: this.#below(120) });
    deepStrictEqual(kept, this.#model.renew(claim, this.#now + LEASE_MS));
  }

  async complete(): Promise<void> {
    const claim = this.#anyClaim();
    if (claim === null) return;
    const capture = aCapture({ bytes: 1 + this.#below(1_000) });
    const ended = await this.store.complete(claim, capture, this.#now);
    deepStrictEqual(
      ended.map((job) => job.id),
      this.#model.complete(claim, capture.artifact, this.#now),
    );
    for (const job of ended) await this.#compareJob(job.id);
  }

  async fail(): Promise<void> {
    const claim = this.#anyClaim();
    if (claim === null) return;
    const error = { code: 'target_error', message: 'no', retriable: false, status: 502 } as const;
    const ended = await this.store.fail(claim, error, this.#now);
    deepStrictEqual(
      ended.map((job) => job.id),
      this.#model.fail(claim, error.code, this.#now),
    );
    for (const job of ended) await this.#compareJob(job.id);
  }

  async retryLater(): Promise<void> {
    const claim = this.#anyClaim();
    if (claim === null) return;
    const dueAt = this.#now + this.#below(500);
    deepStrictEqual(await this.store.retryLater(claim, dueAt), this.#model.retryLater(claim, dueAt));
  }

  async release(): Promise<void> {
    const claim = this.#anyClaim();
    if (claim === null) return;
    const expected = this.#model.release(claim);
    if (this.sabotage) {
      const unguarded = `UPDATE jobs SET state = lane, lease_expires_at = NULL, due_at = NULL, ended_at = NULL, data = NULL, error = NULL,
        artifact_name = NULL, leader_id = NULL WHERE id = ?`;
      this.watch.prepare(unguarded).run(claim.id);
    } else deepStrictEqual(await this.store.release(claim), expected);
    await this.#compareJob(claim.id);
  }

  async recover(): Promise<void> {
    const restart = this.#random() < 0.1;
    if (restart) {
      this.#counts.restarts += 1;
      await this.store[Symbol.asyncDispose]();
      this.store = await openAt(this.dataDir);
    }
    const { requeued, ended } = await this.store.recover({ now: this.#now, all: restart });
    const expected = this.#model.recover(this.#now, restart);
    deepStrictEqual({ requeued, ended: ended.map((job) => job.id).sort() }, { ...expected, ended: expected.ended.sort() });
  }

  async pause(): Promise<void> {
    this.#model.paused = !this.#model.paused && this.#random() < 0.3;
    await this.store.setQueuePaused(this.#model.paused);
  }

  async claimDelivery(): Promise<void> {
    const due = await this.store.claimNextDelivery({ now: this.#now, leaseMs: LEASE_MS, perReceiver: PER_RECEIVER });
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
    const due = this.#deliveries[this.#below(this.#deliveries.length)];
    if (due === undefined) return;
    const outcome = this.#outcome();
    const delivery = this.#model.jobs.get(due.jobId)?.delivery;
    const current = delivery?.state === 'pending' && delivery.generation === due.generation && delivery.attempts === due.attempt - 1;
    deepStrictEqual(await this.store.recordAttempt(due, outcome, this.#now), current);
    if (!current || !delivery) return;
    const again = outcome.kind === 'retry' ? { dueAt: outcome.nextAttemptAt } : { state: outcome.kind, dueAt: null };
    Object.assign(delivery, { attempts: due.attempt, claimedUntil: null, ...again });
    if (outcome.kind !== 'delivered') this.#model.totals.errors += 1;
    if (outcome.kind !== 'retry') this.#model.totals[outcome.kind] += 1;
  }

  async redeliver(): Promise<void> {
    const job = this.#anyJob();
    if (job === null) return;
    const { delivery } = job;
    const generation = (delivery?.generation ?? 1) - this.#below(2);
    const answer = await this.store.redeliver(job.wish.id, generation, this.#now);
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
    deepStrictEqual(await this.store.expireArtifacts(rules), this.#model.expire(rules.before, rules.maxBytes));
    const before = this.#now - this.#below(120_000);
    deepStrictEqual(await this.store.deleteJobs({ before, limit: 1_000_000 }), this.#model.deleteBefore(before));
  }

  async setQuota(): Promise<void> {
    const caller = this.#callers[this.#below(this.#callers.length)];
    if (caller === undefined) return;
    const used = this.#model.settled.get(`${caller.accountId} ${periodOf(this.#now)}`) ?? 0;
    const quota = this.#random() < 0.7 ? null : used + this.#below(20);
    this.#model.quotas.set(caller.accountId, quota);
    await this.store.setQuota(caller.name, quota);
  }

  /** Everything the store tells against everything the model holds, and all moves since against the legal ones. */
  async compareAll(): Promise<void> {
    this.#judgeMoves();
    for (const id of this.#model.jobs.keys()) await this.#compareJob(id);
    this.#counts.jobs = Number(this.watch.prepare('SELECT max(seq) FROM jobs').pluck().get() ?? 0);
    const of = (...states: Parameters<ModelState['count']>) => this.#model.count(...states);
    deepStrictEqual(await this.store.queueStatus(), {
      ...{ waiting: of('waiting'), active: of('active'), prioritized: of('prioritized'), delayed: of('delayed') },
      ...{ completed: of('completed'), failed: of('failed'), paused: this.#model.paused },
    });
    const { settled, released, ...webhooks } = this.#model.totals;
    const pending = this.#model.pendingCredits(null, null);
    const oldest = Math.min(this.#now, ...pending.map((job) => job.wish.enqueuedAt));
    deepStrictEqual(await this.store.settlement(this.#now), {
      ...{ pending: pending.length, settled, released, oldestPendingMs: this.#now - oldest },
    });
    deepStrictEqual(await this.store.webhookTotals(), webhooks);
    for (const { accountId } of this.#callers) await this.#compareUsage(accountId);
    const kept = [...this.#model.artifacts].filter(([, artifact]) => !artifact.gone).map(([name]) => name);
    deepStrictEqual((await this.store.keptArtifacts([...this.#model.artifacts.keys()])).size, kept.length);
    deepStrictEqual(this.watch.pragma('foreign_key_check'), []);
  }

  #judgeMoves(): void {
    const moves = this.watch.prepare<[], { id: string; move: string }>('SELECT id, move FROM trial_moves').all();
    this.watch.exec('DELETE FROM trial_moves');
    this.#counts.transitions += moves.length;
    const illegal = moves.filter(({ move }) => !LEGAL.has(move));
    this.#counts.illegal += illegal.length;
    if (illegal[0] !== undefined) throw new Error(`illegal transition ${illegal[0].move} of ${illegal[0].id}`);
  }

  async #compareJob(id: string): Promise<void> {
    const job = this.#model.jobs.get(id);
    const told = await this.store.findJob(id);
    if (job === undefined) {
      deepStrictEqual(told, null);
      return;
    }
    const outcome = told?.result?.outcome;
    deepStrictEqual(
      [told?.state, told?.attemptsMade, told?.result?.completedAt ?? null, told?.result?.workerId ?? null],
      [this.#model.toldState(job), job.attempts, job.endedAt, job.endedAt === null ? null : job.worker],
      `job ${id}`,
    );
    deepStrictEqual(
      outcome?.ok === true ? [outcome.data.artifact, outcome.data.cached] : [null, false],
      [job.artifact, job.cached],
      `result of ${id}`,
    );
    deepStrictEqual(outcome?.ok === false ? outcome.error.code : null, job.error, `error of ${id}`);
    this.#compareEnd(id, told);
    const delivery = await this.store.findDelivery(id);
    const expected = job.delivery && [job.delivery.state, job.delivery.event, job.delivery.generation, job.delivery.attempts];
    deepStrictEqual(delivery && [delivery.state, delivery.event, delivery.generation, delivery.attempts], expected, `delivery of ${id}`);
  }

  /** What was told of an ended job once is told for ever. */
  #compareEnd(id: string, told: Awaited<ReturnType<Store['findJob']>>): void {
    if (told === null || !isTerminal(told.state)) return;
    const text = JSON.stringify(told);
    deepStrictEqual(text, this.#ended.get(id) ?? text, `terminal job ${id} changed`);
    this.#ended.set(id, text);
  }

  async #compareUsage(accountId: string): Promise<void> {
    const period = periodOf(this.#now);
    const { credits, reserved } = await this.store.usage(accountId, this.#now);
    const pending = this.#model.pendingCredits(accountId, period).reduce((sum, job) => sum + job.wish.price, 0);
    deepStrictEqual([credits, reserved], [this.#model.settled.get(`${accountId} ${period}`) ?? 0, pending], 'usage');
  }

  async #addCaller(name: string): Promise<void> {
    const account = await this.store.createAccount(name, NOON);
    if (account === null) throw new Error('the name is taken');
    const keyIds = [(await aKey(this.store, account.id)).keyId, (await aKey(this.store, account.id)).keyId];
    this.#callers.push({ accountId: account.id, name, keyIds });
  }

  #wish(): NewJob {
    const caller = this.#callers[this.#below(this.#callers.length)];
    if (caller === undefined) throw new Error('no caller');
    const page = this.#below(30);
    const idempotent = this.#random() < 0.4;
    return aNewJob(
      { accountId: caller.accountId, keyId: caller.keyIds[this.#random() < 0.9 ? 0 : 1] ?? '' },
      {
        mode: this.#random() < 0.5 ? 'sync' : 'async',
        idempotencyKey: idempotent ? `k${this.#below(200)}` : null,
        identity: `identity ${this.#below(2)}`,
        cacheIdentity: this.#random() < 0.2 ? null : `page ${page}`,
        cacheTtl: this.#random() < 0.2 ? 0 : 1 + this.#below(20),
        options: someOptions({ timeout: 1_000 * (1 + this.#below(4)) }),
        webhook: this.#random() < 0.4 ? { url: `https://r${this.#below(5)}.example/`, secret: SECRET } : null,
        price: 1 + this.#below(3),
        enqueuedAt: ++this.#now,
      },
    );
  }

  #outcome(): AttemptOutcome {
    const pick = this.#random();
    if (pick < 0.6) return { kind: 'delivered', status: 200 };
    if (pick < 0.75) return { kind: 'failed', status: 400, error: 'answered 400' };
    return { kind: 'retry', status: null, error: 'reset', nextAttemptAt: this.#now + this.#below(1_000) };
  }

  /** Mostly a fresh one, now and then one long lost. */
  #anyClaim(): Claim | null {
    const recent = this.#claims.slice(-6);
    const from = this.#random() < 0.9 ? recent : this.#claims;
    const claim = from[this.#below(from.length)] ?? null;
    if (claim !== null && this.#model.held(claim) === null) this.#counts.lostClaims += 1;
    return claim;
  }

  #anyJob(): ModelJob | null {
    const jobs = [...this.#model.jobs.values()];
    return jobs[this.#below(jobs.length)] ?? null;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

const WEIGHTS: [keyof ModelTrial & string, number, (trial: ModelTrial) => Promise<void>][] = [
  ['accept', 22, (trial) => trial.accept()],
  ['claim', 24, (trial) => trial.claim()],
  ['renew', 4, (trial) => trial.renew()],
  ['complete', 18, (trial) => trial.complete()],
  ['fail', 4, (trial) => trial.fail()],
  ['retryLater', 3, (trial) => trial.retryLater()],
  ['release', 2, (trial) => trial.release()],
  ['recover', 2, (trial) => trial.recover()],
  ['pause', 2, (trial) => trial.pause()],
  ['claimDelivery', 10, (trial) => trial.claimDelivery()],
  ['recordAttempt', 8, (trial) => trial.recordAttempt()],
  ['redeliver', 2, (trial) => trial.redeliver()],
  ['keepHouse', 2, (trial) => trial.keepHouse()],
  ['setQuota', 1, (trial) => trial.setQuota()],
];

const STEPS = cumulate(WEIGHTS);

function cumulate(weights: typeof WEIGHTS) {
  const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
  let until = 0;
  return weights.map(([name, weight, step]) => {
    until += weight / total;
    return { name, until, run: step };
  });
}

/** mulberry32: the same seed, the same trial. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
