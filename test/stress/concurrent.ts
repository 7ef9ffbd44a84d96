/**
 * Trial "concurrent": random steps over eight connections to one PostgreSQL at once. What must hold in whatever order they happen: each
 * change of a job's state is a legal one, ended jobs never change, each end and each attempt of a delivery is told once, an idempotency key
 * leads to one job, sums and quotas are exact, nothing is charged without a picture, no follower waits for ever; and no caller sees a
 * deadlock or any other error.
 */

import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { periodOf } from '../../src/contract/pricing.js';
import type { Acceptance, Claim, DueDelivery, EndedJob, NewJob, Store } from '../../src/store/store.js';
import { createDatabase, startPostgres } from '../fixtures/postgres.js';
import { aCapture, NOON, openAt } from '../store/factories.js';
import { isLegalMove } from './model-comparison.js';
import { aModelCaller, Dice, type ModelCaller } from './model-dice.js';
import { watchStore } from './model-watch.js';
import { firstOf, type TrialResult } from './trial-result.js';

const CONNECTIONS = 8;
/** The quota of one of three accounts. */
const QUOTA = 500;

export interface ConcurrentOptions {
  operations?: number;
  seed?: number;
  /** URL of a database, removed by the caller; a server of its own without one. */
  place?: string;
}

export async function run({ place, ...options }: ConcurrentOptions): Promise<TrialResult> {
  if (place !== undefined) return await runAt(place, options);
  await using server = await startPostgres({ fsync: 'off' });
  return await runAt(await createDatabase(server.adminUrl), options);
}

async function runAt(place: string, { operations = 50_000, seed = 1 }: ConcurrentOptions): Promise<TrialResult> {
  const stores: Store[] = [await openAt(place)];
  for (let i = 1; i < CONNECTIONS; i++) stores.push(await openAt(place));
  const [store = await openAt(place)] = stores;
  const watch = await watchStore(place);
  const books = new Books();
  const callers = await Promise.all(['account 0', 'account 1', 'account with a quota'].map((name) => aModelCaller(store, name)));
  await store.setQuota('account with a quota', QUOTA);
  const stage: Stage = { callers, claims: [], deliveries: [], now: NOON };
  const actors = stores.map((each, i) => new Actor(each, stage, books, seed * 100 + i));
  let left = operations;
  const act = async (actor: Actor) => {
    while (left-- > 0) await actor.step();
  };
  await Promise.all(actors.map(act));
  await finish(store, actors, stage, books);
  const ids = stage.callers.map(({ accountId }) => accountId);
  await books.compare(store, ids, stage.now);
  const moves = await watch.takeMoves();
  const illegal = moves.filter((move) => !isLegalMove(move));
  if (illegal.length > 0) books.blame(`${illegal.length} illegal transitions, such as ${illegal[0]?.move}`);
  const deadlocks = await audit(place, books);
  await watch.close();
  await Promise.all(stores.map((each) => each[Symbol.asyncDispose]()));
  const seen = { transitions: moves.length, illegal: illegal.length, 'deadlocks repeated': deadlocks };
  return { figures: { seed, operations, ...books.counts, ...seen }, problems: [...new Set(books.problems)] };
}

/** Ends everything: what is held is recovered when its lease is over, and captured. */
async function finish(store: Store, actors: readonly Actor[], stage: Stage, books: Books): Promise<void> {
  await store.setQueuePaused(false);
  for (let round = 0; round < 1_000; round++) {
    stage.now += LEASE_MS + 1;
    for (const actor of actors) await actor.recover();
    const { waiting, prioritized, delayed, active } = await store.queueStatus();
    if (waiting + prioritized + delayed + active === 0) return;
    const before = stage.claims.length;
    for (const actor of actors) await actor.claim();
    await Promise.all(stage.claims.slice(before).map((claim, i) => actors[i % actors.length]?.complete(claim)));
  }
  books.blame('the jobs did not come to an end');
}

async function audit(place: string, books: Books): Promise<number> {
  const client = new pg.Client({ connectionString: place });
  await client.connect();
  const { rows } = await client.query<{ what: string; n: string }>(`
    SELECT 'followers that wait for an ended job' AS what, count(*) AS n FROM jobs WHERE leader_id IS NOT NULL
    UNION ALL SELECT 'queue entries', count(*) FROM queue_entries
    UNION ALL SELECT 'orders', count(*) FROM orders
    UNION ALL SELECT 'completed jobs that were not charged, or failed ones that were', count(*) FROM jobs JOIN reservations ON job_id = jobs.id
      WHERE (jobs.state = 'completed') <> (reservations.state = 'settled')
    UNION ALL SELECT 'charges without a picture', count(*) FROM jobs WHERE state = 'completed' AND artifact_name NOT IN (SELECT name FROM artifacts)
    UNION ALL SELECT 'credits beyond a quota', greatest(0, sum(settled) - ${QUOTA}) FROM sums
      WHERE account_id = (SELECT id FROM accounts WHERE quota IS NOT NULL)`);
  for (const { what, n } of rows) if (Number(n) !== 0) books.blame(`${n} ${what}`);
  const found = await client.query<{ n: string }>('SELECT deadlocks AS n FROM pg_stat_database WHERE datname = current_database()');
  await client.end();
  return Number(found.rows[0]?.n ?? 0);
}

const MAX_QUEUE = 60;
const LEASE_MS = 2_000;
const FAILURE = { code: 'target_error', message: 'no', retriable: false, status: 502 } as const;

/** State shared by the actors: each may use a claim of another one, as a server would that comes too late. */
interface Stage {
  callers: readonly ModelCaller[];
  claims: Claim[];
  deliveries: DueDelivery[];
  /** Moves on with each step of anybody. */
  now: number;
}

/** One of the connections: does random steps, and tells the books what the store answered. */
class Actor {
  readonly #dice: Dice;
  #claimed = 0;

  constructor(
    private readonly store: Store,
    private readonly stage: Stage,
    private readonly books: Books,
    private readonly seed: number,
  ) {
    this.#dice = new Dice(seed);
  }

  async step(): Promise<void> {
    this.stage.now += 1 + this.#dice.below(10);
    const [name] = this.#dice.byWeight(WEIGHTS);
    await this[name]().catch((error: Error) => this.books.blame(`${name}: ${error.message}`));
  }

  async accept(): Promise<void> {
    const wishes = firstOf(1 + this.#dice.below(3)).map(() => this.#dice.wish(this.stage.callers, this.stage.now));
    const rules = { maxQueue: MAX_QUEUE, webhookMaxAttempts: 5 };
    await Promise.all(wishes.map(async (wish) => this.books.accepted(this.store, wish, await this.store.accept(wish, rules))));
  }

  async claim(): Promise<void> {
    const slots = Array.from({ length: 1 + this.#dice.below(4) }, () => `w-${this.seed}-${this.#claimed++}`);
    const jobs = await this.store.claimNextJobs(slots.map((workerId) => ({ workerId, now: this.stage.now, leaseMs: LEASE_MS })));
    for (const { id, workerId, attempt } of jobs) {
      this.books.claimed(`${id} ${attempt}`);
      this.stage.claims.push({ id, workerId, attempt });
    }
  }

  async renew(): Promise<void> {
    const claim = this.#anyClaim();
    if (claim !== null) await this.store.renewLease(claim, { now: this.stage.now, leaseMs: LEASE_MS, progress: this.#dice.below(100) });
  }

  async complete(claim = this.#anyClaim()): Promise<void> {
    if (claim === null) return;
    const capture = aCapture({ bytes: 1 + this.#dice.below(1_000) });
    if (await this.store.announceArtifact(claim, capture.artifact.name))
      await this.#end(await this.store.complete(claim, capture, this.stage.now));
  }

  async fail(): Promise<void> {
    const claim = this.#anyClaim();
    if (claim !== null) await this.#end(await this.store.fail(claim, FAILURE, this.stage.now));
  }

  async retryLater(): Promise<void> {
    const claim = this.#anyClaim();
    if (claim !== null) await this.store.retryLater(claim, this.stage.now + this.#dice.below(200), this.stage.now);
  }

  async release(): Promise<void> {
    const claim = this.#anyClaim();
    if (claim !== null && (await this.store.release(claim))) this.books.claimed(`${claim.id} ${claim.attempt}`, -1);
  }

  async recover(): Promise<void> {
    const { ended } = await this.store.recover({ now: this.stage.now, starting: false });
    this.books.ended(ended);
    for (const leaderId of await this.store.endedLeaders()) await this.#endFollowers(leaderId);
  }

  async pause(): Promise<void> {
    await this.store.setQueuePaused(true);
    await pause(this.#dice.below(5));
    await this.store.setQueuePaused(false);
  }

  async deliver(): Promise<void> {
    const due = await this.store.claimNextDelivery({ now: this.stage.now, leaseMs: LEASE_MS, perReceiver: 2 });
    if (due !== null) this.stage.deliveries.push(due);
    const any = this.#dice.anyOf(this.stage.deliveries.slice(-8));
    if (any !== null && (await this.store.recordAttempt(any, this.#dice.outcome(this.stage.now), this.stage.now)))
      this.books.attempted(`${any.deliveryId} ${any.generation} ${any.attempt}`);
  }

  async redeliver(): Promise<void> {
    const any = this.#dice.anyOf(this.stage.deliveries.slice(-20));
    if (any !== null) await this.store.redeliver(any.jobId, any.generation, this.stage.now);
  }

  async keepHouse(): Promise<void> {
    const before = this.stage.now - 20_000;
    await this.store.expireArtifacts({ before, maxBytes: 20_000, limit: 1_000, now: this.stage.now });
    await this.store.expireDeliveries({ now: this.stage.now, limit: 100 });
    await this.store.deleteJobs({ before, limit: 1_000 });
  }

  async #end(ended: EndedJob[]): Promise<void> {
    this.books.ended(ended);
    if (ended[0]?.isFollowed === true) await this.#endFollowers(ended[0].id);
  }

  async #endFollowers(leaderId: string): Promise<void> {
    for (let slice: EndedJob[] | null = []; slice !== null; slice = await this.store.endFollowers(leaderId)) this.books.ended(slice);
  }

  #anyClaim(): Claim | null {
    return this.#dice.anyOf(this.#dice.chance(0.9) ? this.stage.claims.slice(-20) : this.stage.claims);
  }
}

/** How often each step is done. */
const STEPS = {
  ...{ accept: 24, claim: 18, renew: 4, complete: 30, fail: 4, retryLater: 3, release: 3, recover: 3 },
  ...{ pause: 1, deliver: 8, redeliver: 2, keepHouse: 1 },
};
const WEIGHTS = Object.entries(STEPS) as [keyof typeof STEPS, number][];

/** The answers that trial "concurrent" received, in any order, and the contradictions among them. */
class Books {
  readonly problems: string[] = [];
  readonly counts = { jobs: 0, ended: 0, claims: 0 };
  /** Accepted jobs, and those of them that were completed by a kept picture. */
  readonly #accepted = new Map<string, NewJob>();
  readonly #cached = new Set<string>();
  /** The reported ends. */
  readonly #ended = new Map<string, string>();
  /** Claims of a job's attempt, less those that were undone. */
  readonly #claims = new Map<string, number>();
  readonly #attempts = new Set<string>();
  readonly #keys = new Map<string, string>();

  readonly blame = (what: string) => void this.problems.push(what);

  async accepted(store: Store, wish: NewJob, answer: Acceptance): Promise<void> {
    if (!('job' in answer)) return;
    await this.#bind(store, wish, answer.job.id);
    if (answer.kind === 'replayed') return;
    this.counts.jobs += 1;
    this.#accepted.set(wish.id, wish);
    if (answer.kind === 'cached') this.#cached.add(wish.id);
  }

  /** @param by 1, or -1 for a claim that was undone */
  claimed(attempt: string, by = 1): void {
    this.counts.claims += Math.max(by, 0);
    this.#claims.set(attempt, (this.#claims.get(attempt) ?? 0) + by);
  }

  ended(jobs: readonly EndedJob[]): void {
    for (const { id, state } of jobs) {
      if (this.#ended.has(id)) this.blame(`job ${id} was told to have ended twice`);
      this.#ended.set(id, state);
      this.counts.ended += 1;
    }
  }

  attempted(attempt: string): void {
    if (this.#attempts.has(attempt)) this.blame(`attempt ${attempt} was recorded twice`);
    this.#attempts.add(attempt);
  }

  /** To be called when nothing is under way any more. */
  async compare(store: Store, accountIds: readonly string[], now: number): Promise<void> {
    for (const [attempt, count] of this.#claims) if (count > 1) this.blame(`attempt ${attempt} was claimed ${count} times`);
    const wishes = [...this.#accepted.values()];
    for (const { id } of wishes) if (!this.#cached.has(id) && !this.#ended.has(id)) this.blame(`nobody was told that job ${id} ended`);
    const charged = wishes.filter(({ id }) => this.#cached.has(id) || this.#ended.get(id) === 'completed');
    for (const accountId of accountIds) {
      const { credits, reserved } = await store.usage(accountId, now);
      const own = charged.filter((wish) => wish.accountId === accountId && periodOf(wish.enqueuedAt) === periodOf(now));
      const expected = own.reduce((sum, { price }) => sum + price, 0);
      if (credits !== expected || reserved !== 0)
        this.blame(`${credits} credits are settled and ${reserved} reserved, instead of ${expected} and 0`);
    }
  }

  /** A key leads to one job, until that is deleted. */
  async #bind(store: Store, { accountId, idempotencyKey }: NewJob, jobId: string): Promise<void> {
    if (idempotencyKey === null) return;
    const key = `${accountId} ${idempotencyKey}`;
    const known = this.#keys.get(key);
    this.#keys.set(key, jobId);
    if (known === undefined || known === jobId) return;
    const [before, after] = [await store.findJob(known), await store.findJob(jobId)];
    if (before !== null && after !== null) this.blame(`key ${key} leads to two jobs`);
  }
}
