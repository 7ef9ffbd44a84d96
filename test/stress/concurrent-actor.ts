/** One of the connections of trial "concurrent": does random steps, and tells the books what the store answered. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Claim, DueDelivery, EndedJob, Store } from '../../src/store/store.js';
import { aCapture } from '../store/factories.js';
import type { Books } from './concurrent-books.js';
import { Dice, type ModelCaller } from './model-dice.js';

const MAX_QUEUE = 60;
export const LEASE_MS = 2_000;
const FAILURE = { code: 'target_error', message: 'no', retriable: false, status: 502 } as const;

/** What the actors share: each may use what another one claimed, as a server would that comes too late. */
export interface Stage {
  callers: readonly ModelCaller[];
  claims: Claim[];
  deliveries: DueDelivery[];
  /** Moves on with each step of anybody. */
  now: number;
}

export class Actor {
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
    const [name, , run] = this.#dice.byWeight(STEPS);
    try {
      await run(this);
    } catch (error) {
      this.books.blame(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async accept(): Promise<void> {
    const wishes = Array.from({ length: 1 + this.#dice.below(3) }, () => {
      const caller = this.#dice.anyOf(this.stage.callers);
      if (caller === null) throw new Error('no caller');
      return this.#dice.wish(caller, this.stage.now);
    });
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
    if (claim !== null && (await this.store.release(claim))) this.books.released(`${claim.id} ${claim.attempt}`);
  }

  async recover(): Promise<void> {
    const { ended } = await this.store.recover({ now: this.stage.now, starting: false });
    this.books.ended(ended);
    for (const leaderId of await this.store.endedLeaders()) {
      for (let slice: EndedJob[] | null = []; slice !== null; slice = await this.store.endFollowers(leaderId)) this.books.ended(slice);
    }
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
    const [own] = ended;
    if (own?.isFollowed !== true) return;
    for (let slice: EndedJob[] | null = []; slice !== null; slice = await this.store.endFollowers(own.id)) this.books.ended(slice);
  }

  #anyClaim(): Claim | null {
    return this.#dice.anyOf(this.#dice.chance(0.9) ? this.stage.claims.slice(-20) : this.stage.claims);
  }
}

const STEPS: [keyof Actor & string, number, (actor: Actor) => Promise<void>][] = [
  ['accept', 24, (actor) => actor.accept()],
  ['claim', 18, (actor) => actor.claim()],
  ['renew', 4, (actor) => actor.renew()],
  ['complete', 30, (actor) => actor.complete()],
  ['fail', 4, (actor) => actor.fail()],
  ['retryLater', 3, (actor) => actor.retryLater()],
  ['release', 3, (actor) => actor.release()],
  ['recover', 3, (actor) => actor.recover()],
  ['pause', 1, (actor) => actor.pause()],
  ['deliver', 8, (actor) => actor.deliver()],
  ['redeliver', 2, (actor) => actor.redeliver()],
  ['keepHouse', 1, (actor) => actor.keepHouse()],
];
