/**
 * Trial "concurrent": random steps over eight connections to one PostgreSQL at once. What must hold in whatever order they happen: each
 * change of a job's state is a legal one, ended jobs never change, each end and each attempt of a delivery is told once, an idempotency key
 * leads to one job, sums and quotas are exact, nothing is charged without a picture, no follower waits for ever; and no caller sees a
 * deadlock or any other error.
 */
import pg from 'pg';
import { periodOf } from '../../src/contract/pricing.js';
import type { EndedJob, NewJob, Store } from '../../src/store/store.js';
import { createDatabase } from '../fixtures/databases.js';
import { startPostgres } from '../fixtures/postgres.js';
import { NOON, openAt } from '../store/factories.js';
import { Actor, aModelCaller, LEASE_MS, type Stage, type SteppedStore } from './model-steps.js';
import { illegalOf, watchStore } from './model-watch.js';
import type { TrialResult } from './trial-result.js';

const CONNECTIONS = 8;
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
  const stores: Store[] = [];
  for (let i = 0; i < CONNECTIONS; i++) stores.push(await openAt(place));
  const [store = await openAt(place)] = stores;
  const watch = await watchStore(place);
  const books = new Books();
  const callers = await Promise.all(
    ['account 0', 'account 1', 'account with a quota'].map((name) => aModelCaller(store, name)),
  );
  await store.setQuota('account with a quota', QUOTA);
  const options = { stepMs: 10, maxQueue: 60, claimsAtOnce: 4, quotas: false };
  const stage: Stage = { callers, claims: [], deliveries: [], isPaused: false, now: NOON, options };
  const actors = stores.map((each, i) => new Actor(books.keptFor(each), stage, seed * 100 + i));
  let left = operations;
  const act = async (actor: Actor) => {
    while (left-- > 0) await actor.step().catch((error: Error) => books.blame(error.message));
  };
  await Promise.all(actors.map(act));
  await finish(store, actors, stage).catch((error: Error) => books.blame(error.message));
  await books.compare(store, stage);
  const moves = await watch.takeMoves();
  const illegal = illegalOf(moves);
  if (illegal.length > 0) books.blame(`${illegal.length} illegal transitions, such as ${illegal[0]?.move}`);
  const deadlocks = await audit(place, books);
  await watch.close();
  await Promise.all(stores.map((each) => each[Symbol.asyncDispose]()));
  const seen = { transitions: moves.length, illegal: illegal.length, 'deadlocks repeated': deadlocks };
  return { figures: { seed, operations, ...books.counts, ...seen }, problems: [...new Set(books.problems)] };
}

/** Ends everything: what is held is recovered when its lease is over, and captured. */
async function finish(store: Store, actors: readonly Actor[], stage: Stage): Promise<void> {
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
  throw new Error('the jobs did not come to an end');
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
  const found = await client.query<{ n: string }>(
    'SELECT deadlocks AS n FROM pg_stat_database WHERE datname = current_database()',
  );
  await client.end();
  return Number(found.rows[0]?.n ?? 0);
}

/** The answers that all connections received, in any order, and the contradictions among them. */
class Books {
  readonly problems: string[] = [];
  readonly counts = { jobs: 0, ended: 0, claims: 0 };
  /** Accepted jobs, and those of them that were completed by a kept picture. */
  readonly #accepted = new Map<string, NewJob>();
  readonly #cached = new Set<string>();
  readonly #ended = new Map<string, string>();
  /** Claims of a job's attempt, less those that were undone. */
  readonly #claims = new Map<string, number>();
  readonly #attempts = new Set<string>();
  readonly #keys = new Map<string, string>();

  readonly blame = (what: string) => void this.problems.push(what);

  keptFor(store: Store): SteppedStore {
    const ended = (jobs: EndedJob[]) => this.#end(jobs);
    return {
      ...store,
      accept: async (wish, rules) => {
        const answer = await store.accept(wish, rules);
        if (!('job' in answer)) return answer;
        await this.#bind(store, wish, answer.job.id);
        if (answer.kind === 'replayed') return answer;
        this.counts.jobs += 1;
        this.#accepted.set(wish.id, wish);
        if (answer.kind === 'cached') this.#cached.add(wish.id);
        return answer;
      },
      claimNextJobs: async (slots) => {
        const jobs = await store.claimNextJobs(slots);
        for (const { id, attempt } of jobs) this.#claim(`${id} ${attempt}`, 1);
        return jobs;
      },
      release: async (claim) => {
        const isReleased = await store.release(claim);
        if (isReleased) this.#claim(`${claim.id} ${claim.attempt}`, -1);
        return isReleased;
      },
      complete: async (...step) => ended(await store.complete(...step)),
      fail: async (...step) => ended(await store.fail(...step)),
      recover: async (recovery) => {
        const recovered = await store.recover(recovery);
        ended(recovered.ended);
        return recovered;
      },
      endFollowers: async (leaderId) => {
        const slice = await store.endFollowers(leaderId);
        return slice && ended(slice);
      },
      recordAttempt: async (held, outcome, now) => {
        const isCurrent = await store.recordAttempt(held, outcome, now);
        const attempt = `${held.deliveryId} ${held.generation} ${held.attempt}`;
        if (isCurrent && this.#attempts.has(attempt)) this.blame(`attempt ${attempt} was recorded twice`);
        if (isCurrent) this.#attempts.add(attempt);
        return isCurrent;
      },
    };
  }

  async compare(store: Store, { callers, now }: Stage): Promise<void> {
    for (const [attempt, count] of this.#claims)
      if (count > 1) this.blame(`attempt ${attempt} was claimed ${count} times`);
    const wishes = [...this.#accepted.values()];
    for (const { id } of wishes)
      if (!this.#cached.has(id) && !this.#ended.has(id)) this.blame(`nobody was told that job ${id} ended`);
    const charged = wishes.filter(({ id }) => this.#cached.has(id) || this.#ended.get(id) === 'completed');
    for (const { accountId } of callers) {
      const { credits, reserved } = await store.usage(accountId, now);
      const own = charged.filter((wish) => wish.accountId === accountId && periodOf(wish.enqueuedAt) === periodOf(now));
      const expected = own.reduce((sum, { price }) => sum + price, 0);
      if (credits !== expected || reserved !== 0)
        this.blame(`${credits} credits are settled and ${reserved} reserved, instead of ${expected} and 0`);
    }
  }

  #claim(attempt: string, by: number): void {
    this.counts.claims += Math.max(by, 0);
    this.#claims.set(attempt, (this.#claims.get(attempt) ?? 0) + by);
  }

  #end(jobs: EndedJob[]): EndedJob[] {
    for (const { id, state } of jobs) {
      if (this.#ended.has(id)) this.blame(`job ${id} was told to have ended twice`);
      this.#ended.set(id, state);
      this.counts.ended += 1;
    }
    return jobs;
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
