/** Random steps on a store, as the trials "model" and "concurrent" do them. Each gives them a store that judges every answer. */
import type { AttemptOutcome, Claim, DueDelivery, EndedJob, NewJob, Store } from '../../src/store/store.js';
import { aCapture, aKey, aNewJob, NOON, someOptions } from '../store/factories.js';
import { seeded } from './seeded.js';
import { firstOf } from './trial-result.js';

export const LEASE_MS = 2_000;
export const SECRET = 's'.repeat(20);

type JobSteps =
  | 'accept'
  | 'claimNextJobs'
  | 'renewLease'
  | 'announceArtifact'
  | 'complete'
  | 'fail'
  | 'retryLater'
  | 'release'
  | 'recover';
type OtherSteps =
  | 'endFollowers'
  | 'endedLeaders'
  | 'setQueuePaused'
  | 'claimNextDelivery'
  | 'recordAttempt'
  | 'redeliver';
type HouseSteps = 'expireArtifacts' | 'expireDeliveries' | 'deleteJobs' | 'setQuota' | 'usage';
export type SteppedStore = Pick<Store, JobSteps | OtherSteps | HouseSteps>;

export interface ModelCaller {
  accountId: string;
  name: string;
  keyIds: string[];
}

export async function aModelCaller(store: Store, name: string): Promise<ModelCaller> {
  const account = await store.createAccount(name, NOON);
  if (account === null) throw new Error('the name is taken');
  const keyIds = [(await aKey(store, account.id)).keyId, (await aKey(store, account.id)).keyId];
  return { accountId: account.id, name, keyIds };
}

/** State shared by the actors: each may use a claim of another one, as a server would that comes too late. */
export interface Stage {
  callers: readonly ModelCaller[];
  claims: Claim[];
  deliveries: Pick<DueDelivery, 'jobId' | 'deliveryId' | 'generation' | 'attempt'>[];
  isPaused: boolean;
  now: number;
  options: {
    stepMs: number;
    maxQueue: number;
    claimsAtOnce: number;
    quotas: boolean;
    /** Starts the store anew; without it, it never starts. */
    reopen?: () => Promise<unknown>;
  };
}

/** Does random steps over one connection: the same seed, the same steps. */
export class Actor {
  readonly #roll: () => number;
  #made = 0;

  constructor(
    private readonly store: SteppedStore,
    private readonly stage: Stage,
    private readonly seed: number,
  ) {
    this.#roll = seeded(seed);
  }

  async step(): Promise<void> {
    this.stage.now += 1 + this.#below(this.stage.options.stepMs);
    const name = this.#anyOf(NAMES) ?? 'claim';
    await this[name]().catch((error: Error) => Promise.reject(new Error(`${name}: ${error.message}`)));
  }

  /** Several at once, so that they share transactions. */
  async accept(): Promise<void> {
    const rules = { maxQueue: this.stage.options.maxQueue, webhookMaxAttempts: 5 };
    const wishes = firstOf(1 + this.#below(3)).map(() => this.#wish());
    await Promise.all(wishes.map((wish) => this.store.accept(wish, rules)));
  }

  async claim(): Promise<void> {
    const slots = firstOf(1 + this.#below(this.stage.options.claimsAtOnce)).map(
      () => `w-${this.seed}-${this.#made++ % 4}`,
    );
    const jobs = await this.store.claimNextJobs(
      slots.map((workerId) => ({ workerId, now: this.stage.now, leaseMs: LEASE_MS })),
    );
    for (const { id, workerId, attempt } of jobs) this.stage.claims.push({ id, workerId, attempt });
  }

  async renew(claim = this.#anyClaim()): Promise<void> {
    if (claim !== null)
      await this.store.renewLease(claim, { now: this.stage.now, leaseMs: LEASE_MS, progress: this.#below(120) });
  }

  async complete(claim = this.#anyClaim()): Promise<void> {
    if (claim === null) return;
    const capture = aCapture({ bytes: 1 + this.#below(1_000) });
    await this.store.announceArtifact(claim, capture.artifact.name);
    await this.#endFollowers(followed(await this.store.complete(claim, capture, this.stage.now)));
  }

  async fail(claim = this.#anyClaim()): Promise<void> {
    if (claim === null) return;
    // Each its own, as pictures have names of their own: the same claim with the same error is the repetition of a try, which SQLite answers again.
    const error = { code: 'target_error', message: `no ${this.#made++}`, retriable: false, status: 502 } as const;
    await this.#endFollowers(followed(await this.store.fail(claim, error, this.stage.now)));
  }

  async retryLater(claim = this.#anyClaim()): Promise<void> {
    if (claim !== null) await this.store.retryLater(claim, this.stage.now + this.#below(500), this.stage.now);
  }

  async release(claim = this.#anyClaim()): Promise<void> {
    if (claim !== null) await this.store.release(claim);
  }

  async recover(): Promise<void> {
    const starting = this.stage.options.reopen !== undefined && this.#chance(0.1);
    if (starting) await this.stage.options.reopen?.();
    await this.store.recover({ now: this.stage.now, starting });
    await this.#endFollowers(await this.store.endedLeaders());
  }

  async pause(): Promise<void> {
    this.stage.isPaused = !this.stage.isPaused && this.#chance(0.3);
    await this.store.setQueuePaused(this.stage.isPaused);
  }

  async claimDelivery(): Promise<void> {
    const due = await this.store.claimNextDelivery({ now: this.stage.now, leaseMs: LEASE_MS, perReceiver: 2 });
    if (due !== null) this.stage.deliveries.push(due);
  }

  async recordAttempt(): Promise<void> {
    const due = this.#anyOf(this.#chance(0.9) ? this.stage.deliveries.slice(-8) : this.stage.deliveries);
    if (due !== null) await this.store.recordAttempt(due, this.#outcome(), this.stage.now);
  }

  /** Redelivers a delivery that was claimed once, or that of any job. */
  async redeliver(): Promise<void> {
    const due = this.#chance(0.7) ? this.#anyOf(this.stage.deliveries.slice(-20)) : null;
    const jobId = due?.jobId ?? this.#anyClaim()?.id;
    if (jobId !== undefined) await this.store.redeliver(jobId, (due?.generation ?? 1) + this.#below(2), this.stage.now);
  }

  async keepHouse(): Promise<void> {
    const { now } = this.stage;
    await this.store.expireArtifacts({ before: now - 60_000, maxBytes: 20_000, limit: 1_000, now });
    await this.store.expireDeliveries({ now, limit: 100 });
    await this.store.deleteJobs({ before: now - this.#below(120_000), limit: 1_000_000 });
  }

  async setQuota(): Promise<void> {
    const caller = this.#anyOf(this.stage.callers);
    if (caller === null || !this.stage.options.quotas) return;
    const { credits } = await this.store.usage(caller.accountId, this.stage.now);
    await this.store.setQuota(caller.name, this.#chance(0.7) ? null : credits + this.#below(20));
  }

  /** Those that share the renders which have ended. */
  async #endFollowers(leaderIds: string[]): Promise<void> {
    for (const leaderId of leaderIds)
      for (let slice: EndedJob[] | null = []; slice !== null; ) slice = await this.store.endFollowers(leaderId);
  }

  /** A submission that often equals an earlier one, in its idempotency key or its picture. */
  #wish(): NewJob {
    const caller = this.#anyOf(this.stage.callers);
    if (caller === null) throw new Error('no caller');
    return aNewJob(
      { accountId: caller.accountId, keyId: caller.keyIds[this.#chance(0.9) ? 0 : 1] ?? '' },
      {
        mode: this.#chance(0.5) ? 'sync' : 'async',
        idempotencyKey: this.#chance(0.4) ? `k${this.#below(200)}` : null,
        identity: `identity ${this.#below(2)}`,
        cacheIdentity: this.#chance(0.2) ? null : `page ${this.#below(30)}`,
        cacheTtl: this.#chance(0.2) ? 0 : 1 + this.#below(20),
        options: someOptions({ timeout: 1_000 * (1 + this.#below(4)) }),
        webhook: this.#chance(0.4) ? { url: `https://r${this.#below(5)}.example/`, secret: SECRET } : null,
        price: 1 + this.#below(3),
        enqueuedAt: ++this.stage.now,
      },
    );
  }

  #outcome(): AttemptOutcome {
    const roll = this.#roll();
    if (roll < 0.6) return { kind: 'delivered', status: 200 };
    if (roll < 0.75) return { kind: 'failed', status: 400, error: 'answered 400' };
    return { kind: 'retry', status: null, error: 'reset', nextAttemptAt: this.stage.now + this.#below(1_000) };
  }

  /** Mostly a fresh one, now and then one long lost. */
  #anyClaim(): Claim | null {
    return this.#anyOf(
      this.#chance(0.9) ? this.stage.claims.slice(-6 * this.stage.options.claimsAtOnce) : this.stage.claims,
    );
  }

  #below(limit: number): number {
    return Math.floor(this.#roll() * limit);
  }

  #chance(probability: number): boolean {
    return this.#roll() < probability;
  }

  #anyOf<T>(items: readonly T[]): T | null {
    return items[this.#below(items.length)] ?? null;
  }
}

const followed = (ended: EndedJob[]): string[] => ended.flatMap(({ id, isFollowed }) => (isFollowed ? [id] : []));

const STEPS = {
  accept: 22,
  claim: 24,
  renew: 4,
  complete: 18,
  fail: 4,
  retryLater: 3,
  release: 2,
  recover: 2,
  pause: 2,
  claimDelivery: 10,
  recordAttempt: 8,
  redeliver: 2,
  keepHouse: 2,
  setQuota: 1,
};
const NAMES = Object.entries(STEPS).flatMap(([name, weight]) => firstOf(weight).map(() => name as keyof typeof STEPS));
