import { periodOf } from '../../src/contract/pricing.js';
import type { Acceptance, EndedJob, NewJob, Store } from '../../src/store/store.js';

/** What trial "concurrent" was told, in whatever order, and what contradicts itself. */
export class Books {
  readonly problems: string[] = [];
  readonly counts = { jobs: 0, ended: 0, claims: 0 };
  /** Accepted jobs that were queued or share a render. */
  readonly #open = new Map<string, NewJob>();
  readonly #ended = new Set<string>();
  /** Claims of a job's attempt, less those that were undone. */
  readonly #claims = new Map<string, number>();
  readonly #attempts = new Set<string>();
  readonly #keys = new Map<string, string>();
  /** Credits by `account period`. */
  readonly #settled = new Map<string, number>();

  blame(what: string): void {
    this.problems.push(what);
  }

  async accepted(store: Store, wish: NewJob, answer: Acceptance): Promise<void> {
    if (!('job' in answer)) return;
    await this.#bind(store, wish, answer.job.id);
    if (answer.kind === 'replayed') return;
    this.counts.jobs += 1;
    if (answer.kind === 'cached') this.#charge(wish);
    else this.#open.set(wish.id, wish);
    // Its render may have ended before this answer was read.
    if (this.#early.delete(wish.id)) this.#charge(wish);
  }

  /** Completed jobs that were told before their acceptance. */
  readonly #early = new Set<string>();

  claimed(attempt: string): void {
    this.counts.claims += 1;
    const count = (this.#claims.get(attempt) ?? 0) + 1;
    this.#claims.set(attempt, count);
  }

  released(attempt: string): void {
    this.#claims.set(attempt, (this.#claims.get(attempt) ?? 0) - 1);
  }

  ended(jobs: readonly EndedJob[]): void {
    for (const { id, state } of jobs) {
      if (this.#ended.has(id)) this.blame(`job ${id} was told to have ended twice`);
      this.#ended.add(id);
      this.counts.ended += 1;
      const wish = this.#open.get(id);
      if (state !== 'completed') continue;
      if (wish === undefined) this.#early.add(id);
      else this.#charge(wish);
    }
  }

  attempted(attempt: string): void {
    if (this.#attempts.has(attempt)) this.blame(`attempt ${attempt} was recorded twice`);
    this.#attempts.add(attempt);
  }

  /** To be called when nothing is under way any more. */
  async compare(store: Store, accountIds: readonly string[], now: number): Promise<void> {
    for (const [attempt, count] of this.#claims) if (count > 1) this.blame(`attempt ${attempt} was claimed ${count} times`);
    for (const id of this.#open.keys()) if (!this.#ended.has(id)) this.blame(`nobody was told that job ${id} ended`);
    for (const accountId of accountIds) {
      const { credits, reserved } = await store.usage(accountId, now);
      const expected = this.#settled.get(`${accountId} ${periodOf(now)}`) ?? 0;
      if (credits !== expected || reserved !== 0)
        this.blame(`${credits} credits are settled and ${reserved} reserved, instead of ${expected} and 0`);
    }
  }

  #charge({ accountId, enqueuedAt, price }: NewJob): void {
    const account = `${accountId} ${periodOf(enqueuedAt)}`;
    this.#settled.set(account, (this.#settled.get(account) ?? 0) + price);
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
