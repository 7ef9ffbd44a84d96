/**
 * The promises of the store, written a second time and as simply as possible: plain objects, linear searches, no SQL. The model trial
 * does everything twice, here and in the store, and compares.
 */
import type { JobState, StoredJobState } from '../../src/contract/job.js';
import { periodOf } from '../../src/contract/pricing.js';
import { JOB_BYTES } from '../../src/store/rules/retention.js';
import type { AttemptOutcome, Claim, HeldDelivery, NewJob, Redelivery } from '../../src/store/store.js';

const QUEUED: readonly StoredJobState[] = ['waiting', 'prioritized', 'delayed'];

type Ended = 'completed' | 'failed';

export type ModelJob = ReturnType<typeof newJob>;

function newJob(order: number, wish: NewJob, leader: string | null) {
  const lane: 'prioritized' | 'waiting' = wish.mode === 'sync' ? 'prioritized' : 'waiting';
  const [nobody, never, nothing] = [null as string | null, null as number | null, null as string | null];
  const state = 'pending' as 'pending' | 'delivered' | 'failed';
  const attempt = { event: nothing, state, generation: 1, attempts: 0, dueAt: never, claimedUntil: never };
  const delivery = wish.webhook && { ...attempt, origin: new URL(wish.webhook.url).origin };
  return {
    order,
    wish,
    lane,
    leader,
    attempts: 0,
    dueAt: 0,
    leaseUntil: 0,
    claimedAt: 0,
    bookedMs: 0,
    worker: nobody,
    firstClaimedAt: never,
    endedAt: never,
    renderedAt: never,
    artifact: nothing,
    error: nothing,
    cached: false,
    delivery,
    state: lane as StoredJobState,
    credits: 'pending' as 'pending' | 'settled' | 'released',
  };
}

interface ModelArtifact {
  bytes: number;
  createdAt: number;
  accountId: string;
  gone: boolean;
}

export class ModelState {
  paused = false;
  readonly jobs = new Map<string, ModelJob>();
  readonly artifacts = new Map<string, ModelArtifact>();
  readonly accountIds = new Map<string, string>();
  readonly #quotas = new Map<string, number | null>();
  /** Credits by `account period`. */
  readonly settled = new Map<string, number>();
  readonly totals = { settled: 0, released: 0, delivered: 0, failed: 0, errors: 0 };
  /** By account: slot time in virtual ms, and what a job lately took. */
  readonly #tags = new Map<string, number>();
  readonly #typicalMs = new Map<string, number>();
  readonly #receivers = new Map<string, { silences: number; pausedUntil: number }>();
  #turn = 0;
  #order = 0;

  accept(wish: NewJob, maxQueue: number): string {
    const known = this.#all().find(
      (job) => job.wish.accountId === wish.accountId && isSame(job.wish.idempotencyKey, wish.idempotencyKey),
    );
    if (known !== undefined) {
      return known.wish.keyId === wish.keyId && known.wish.identity === wish.identity
        ? `replayed ${known.wish.id}`
        : 'conflict';
    }
    const kept = this.#kept(wish);
    const leader = kept === null ? this.#inFlight(wish) : null;
    if (kept === null && this.#all().filter((job) => QUEUED.includes(job.state)).length >= maxQueue)
      return 'queue_full';
    const quota = this.#quotas.get(wish.accountId) ?? null;
    const [settled, reserved] = this.usage(wish.accountId, wish.enqueuedAt);
    if (quota !== null && settled + reserved + wish.price > quota) return 'quota_exceeded';
    if (kept === null && leader === null) this.#joinTurns(wish.accountId);
    const job = newJob(++this.#order, wish, leader?.wish.id ?? null);
    this.jobs.set(wish.id, job);
    if (kept !== null) {
      this.#end(job, {
        state: 'completed',
        now: wish.enqueuedAt,
        worker: kept.worker,
        artifact: kept.artifact,
        cached: true,
        error: null,
      });
      return 'cached';
    }
    if (leader === null) return 'queued';
    if (wish.mode === 'sync') promote(leader);
    return 'shared';
  }

  /** The jobs of which the next one may be any: one of each account with the smallest tag. */
  nextInTurn(now: number): ModelJob[] {
    if (this.paused) return [];
    const due = this.#claimable(now);
    const turnOf = (job: ModelJob) => this.#tagOf(job.wish.accountId);
    const first = Math.min(...due.map(turnOf));
    const accounts = new Set(due.filter((job) => turnOf(job) === first).map((job) => job.wish.accountId));
    return [...accounts].flatMap((accountId) => {
      const own = due.filter((job) => job.wish.accountId === accountId);
      return own.sort((a, b) => a.lane.localeCompare(b.lane) || a.order - b.order).slice(0, 1);
    });
  }

  take(job: ModelJob, claim: { workerId: string; now: number; leaseMs: number }): void {
    const { accountId } = job.wish;
    const bookedMs = this.#typicalMs.get(accountId) ?? 1_000;
    this.#turn = Math.max(this.#turn, this.#tagOf(accountId));
    this.#tags.set(accountId, this.#tagOf(accountId) + bookedMs);
    const { workerId: worker, now, leaseMs } = claim;
    const [firstClaimedAt, attempts] = [job.firstClaimedAt ?? now, job.attempts + 1];
    Object.assign(job, {
      state: 'active',
      worker,
      leaseUntil: now + leaseMs,
      firstClaimedAt,
      claimedAt: now,
      bookedMs,
      attempts,
    });
  }

  held(claim: Claim): ModelJob | null {
    const job = this.jobs.get(claim.id);
    const held = job?.state === 'active' && job.worker === claim.workerId && job.attempts === claim.attempt;
    return held ? job : null;
  }

  renewLease(claim: Claim, { now, leaseMs }: { now: number; leaseMs: number }): boolean {
    const job = this.held(claim);
    if (job !== null) job.leaseUntil = now + leaseMs;
    return job !== null;
  }

  announceArtifact(claim: Claim): boolean {
    return this.held(claim) !== null;
  }

  complete(claim: Claim, artifact: { name: string; bytes: number }, now: number): string[] {
    const job = this.held(claim);
    if (job === null) return [];
    this.#settleTurn(job, now);
    this.artifacts.set(artifact.name, {
      bytes: artifact.bytes,
      createdAt: now,
      gone: false,
      accountId: job.wish.accountId,
    });
    const followers = this.#followers(job);
    const ending = { state: 'completed', now, worker: claim.workerId, artifact: artifact.name, error: null } as const;
    this.#end(job, { ...ending, cached: false });
    job.renderedAt = now;
    for (const follower of followers) this.#end(follower, { ...ending, cached: true });
    return [job, ...followers].map((ended) => ended.wish.id);
  }

  fail(claim: Claim, error: string, now: number): string[] {
    const job = this.held(claim);
    if (job === null) return [];
    this.#settleTurn(job, now);
    const followers = this.#followers(job);
    const heirs = followers.filter((follower) => follower.wish.options.timeout > job.wish.options.timeout);
    const ended = [job, ...followers.filter((follower) => !heirs.includes(follower))];
    for (const each of ended)
      this.#end(each, { state: 'failed', now, worker: claim.workerId, artifact: null, cached: false, error });
    for (const heir of heirs) {
      const next = this.#inFlight(heir.wish);
      heir.leader = next?.wish.id ?? null;
      if (next !== null && heir.lane === 'prioritized') promote(next);
    }
    return ended.map((each) => each.wish.id);
  }

  retryLater(claim: Claim, dueAt: number, now: number): boolean {
    const job = this.held(claim);
    if (job === null || job.attempts >= job.wish.attemptBudget) return false;
    this.#settleTurn(job, now);
    Object.assign(job, { state: 'delayed', dueAt, worker: null });
    return true;
  }

  release(claim: Claim): boolean {
    const job = this.held(claim);
    if (job === null) return false;
    this.#tags.set(job.wish.accountId, this.#tagOf(job.wish.accountId) - job.bookedMs);
    Object.assign(job, { state: job.lane, worker: null, attempts: job.attempts - 1 });
    if (job.attempts === 0) job.firstClaimedAt = null;
    return true;
  }

  recover(now: number, all: boolean): { requeued: number; ended: string[] } {
    const ended: string[] = [];
    let requeued = 0;
    for (const job of this.#all()) {
      if (job.delivery !== null && (all || (job.delivery.claimedUntil ?? 0) <= now)) job.delivery.claimedUntil = null;
      if (job.state !== 'active' || (!all && job.leaseUntil > now)) continue;
      if (job.attempts < job.wish.attemptBudget) {
        Object.assign(job, { state: job.lane, worker: null });
        requeued += 1;
      } else
        ended.push(
          ...this.fail({ id: job.wish.id, workerId: job.worker ?? '', attempt: job.attempts }, 'render_crashed', now),
        );
    }
    return { requeued, ended };
  }

  /** Any of those that may be next: of an account with the fewest under way, at the receiver that is ready longest. */
  dueDeliveries(now: number, perReceiver: number): ModelJob[] {
    const open = this.#all().filter((job) => job.delivery?.state === 'pending' && job.delivery.dueAt !== null);
    const isHeld = (job: ModelJob) => job.delivery?.claimedUntil !== null;
    const held = open.filter(isHeld);
    const heldBy = countBy(held, (job) => job.wish.accountId);
    const heldAt = countBy(held, receiverOf);
    const pauseOf = (job: ModelJob) => this.#receivers.get(receiverOf(job)) ?? { silences: 0, pausedUntil: 0 };
    const readyAt = (job: ModelJob) => Math.max(job.delivery?.dueAt ?? 0, pauseOf(job).pausedUntil);
    const due = open.filter((job) => {
      const places = pauseOf(job).silences >= 8 ? 1 : perReceiver;
      return !isHeld(job) && readyAt(job) <= now && (heldAt.get(receiverOf(job)) ?? 0) < places;
    });
    const heldByOwner = (job: ModelJob) => heldBy.get(job.wish.accountId) ?? 0;
    const fewest = Math.min(...due.map(heldByOwner));
    const inTurn = due.filter((job) => heldByOwner(job) === fewest);
    const first = Math.min(...inTurn.map(readyAt));
    const receivers = new Set(inTurn.filter((job) => readyAt(job) === first).map(receiverOf));
    return [...receivers].flatMap((receiver) => {
      const own = inTurn.filter((job) => receiverOf(job) === receiver);
      const longest = Math.min(...own.map((job) => job.delivery?.dueAt ?? 0));
      return own.filter((job) => job.delivery?.dueAt === longest);
    });
  }

  recordAttempt(due: HeldDelivery & { jobId: string }, outcome: AttemptOutcome, now: number): boolean {
    const job = this.jobs.get(due.jobId);
    const delivery = job?.delivery;
    const isCurrent =
      delivery?.state === 'pending' && delivery.generation === due.generation && delivery.attempts === due.attempt - 1;
    if (!isCurrent || job === undefined) return false;
    this.#judgeReceiver(job, outcome.status, now);
    const again = outcome.kind === 'retry' ? { dueAt: outcome.nextAttemptAt } : { state: outcome.kind, dueAt: null };
    Object.assign(delivery, { attempts: due.attempt, claimedUntil: null, ...again });
    // A receiver to which nothing is to be delivered is forgotten.
    const isWanted = this.#all().some((each) => each.delivery?.dueAt != null && receiverOf(each) === receiverOf(job));
    if (!isWanted) this.#receivers.delete(receiverOf(job));
    if (outcome.kind !== 'delivered') this.totals.errors += 1;
    if (outcome.kind !== 'retry') this.totals[outcome.kind] += 1;
    return true;
  }

  redeliver(jobId: string, generation: number, now: number): Redelivery['kind'] {
    const delivery = this.jobs.get(jobId)?.delivery ?? null;
    if (delivery === null) return 'delivery_unavailable';
    if (delivery.generation !== generation) return 'generation_changed';
    if (delivery.state === 'pending') return 'delivery_pending';
    Object.assign(delivery, { state: 'pending', generation: generation + 1, attempts: 0, dueAt: now });
    return 'accepted';
  }

  #judgeReceiver(job: ModelJob, status: number | null, now: number): void {
    const known = this.#receivers.get(receiverOf(job)) ?? { silences: 0, pausedUntil: 0 };
    if (status !== null) this.#receivers.delete(receiverOf(job));
    else if (known.pausedUntil <= now) {
      const silences = known.silences + 1;
      const pausedUntil = silences < 8 ? 0 : now + Math.min(5_000 * 2 ** (silences - 8), 300_000);
      this.#receivers.set(receiverOf(job), { silences, pausedUntil });
    }
  }

  expireArtifacts({ before, maxBytes }: { before: number; maxBytes: number }): string[] {
    const expired: string[] = [];
    for (let next = this.#nextToExpire(before, maxBytes); next !== null; next = this.#nextToExpire(before, maxBytes)) {
      Object.assign(this.artifacts.get(next) ?? {}, { gone: true });
      expired.push(next);
    }
    return expired;
  }

  #nextToExpire(before: number, maxBytes: number): string | null {
    const kept = [...this.artifacts]
      .filter(([, artifact]) => !artifact.gone)
      .sort((a, b) => a[1].createdAt - b[1].createdAt);
    const [oldest] = kept;
    if (oldest !== undefined && oldest[1].createdAt < before) return oldest[0];
    const bytesOf = (accountId: string) => sum(kept.filter(([, artifact]) => artifact.accountId === accountId));
    if (sum(kept) <= maxBytes) return null;
    const holders = [...new Set(kept.map(([, artifact]) => artifact.accountId))].sort();
    const useOf = (accountId: string) =>
      bytesOf(accountId) + this.#all().filter((job) => job.wish.accountId === accountId).length * JOB_BYTES;
    const largest = holders.reduce((most, one) => (useOf(one) > useOf(most) ? one : most), holders[0] ?? '');
    return kept.find(([, artifact]) => artifact.accountId === largest)?.[0] ?? null;
  }

  /** None is ever as old as that. */
  expireDeliveries(): number {
    return 0;
  }

  deleteJobs({ before }: { before: number }): number {
    const old = this.#all().filter(
      (job) => job.endedAt !== null && job.endedAt < before && job.delivery?.state !== 'pending',
    );
    for (const job of old) this.jobs.delete(job.wish.id);
    return old.length;
  }

  toldState(job: ModelJob): JobState {
    return this.paused && (job.state === 'waiting' || job.state === 'prioritized') ? 'paused' : job.state;
  }

  count(state: StoredJobState): number {
    return this.#all().filter((job) => job.state === state).length;
  }

  setQuota(name: string, quota: number | null): boolean {
    this.#quotas.set(this.accountIds.get(name) ?? '', quota);
    return true;
  }

  usage(accountId: string, now: number): [number, number] {
    const pending = this.pendingCredits(accountId, periodOf(now)).reduce((sum, job) => sum + job.wish.price, 0);
    return [this.settled.get(`${accountId} ${periodOf(now)}`) ?? 0, pending];
  }

  pendingCredits(accountId: string | null, period: string | null): ModelJob[] {
    const pending = this.#all().filter(
      (job) => job.credits === 'pending' && (accountId === null || job.wish.accountId === accountId),
    );
    return pending.filter((job) => period === null || periodOf(job.wish.enqueuedAt) === period);
  }

  #all(): ModelJob[] {
    return [...this.jobs.values()];
  }

  #tagOf(accountId: string): number {
    return this.#tags.get(accountId) ?? 0;
  }

  #joinTurns(accountId: string): void {
    const unfinished = this.#all().filter((job) => job.endedAt === null && job.leader === null);
    if (unfinished.length === 0) this.#turn = Math.max(this.#turn, ...this.#tags.values());
    if (this.#claimable(Infinity).some((job) => job.wish.accountId === accountId)) return;
    this.#tags.set(accountId, Math.max(this.#tagOf(accountId), this.#turn));
  }

  /** The booked time is replaced by the time for which the slot was held. */
  #settleTurn({ wish: { accountId }, claimedAt, bookedMs }: ModelJob, now: number): void {
    const took = now - claimedAt;
    if (took > 180_000) return;
    this.#tags.set(accountId, this.#tagOf(accountId) + took - bookedMs);
    this.#typicalMs.set(accountId, Math.trunc((3 * (this.#typicalMs.get(accountId) ?? 1_000) + took) / 4));
  }

  #claimable(now: number): ModelJob[] {
    return this.#all().filter(
      (job) => QUEUED.includes(job.state) && job.leader === null && (job.state !== 'delayed' || job.dueAt <= now),
    );
  }

  #followers(leader: ModelJob): ModelJob[] {
    return this.#all().filter((job) => job.leader === leader.wish.id);
  }

  #kept(wish: NewJob): ModelJob | null {
    if (wish.cacheTtl === 0) return null;
    const renders = this.#all().filter((job) => job.renderedAt !== null && this.#samePicture(job, wish));
    const newest = renders.sort((a, b) => (b.renderedAt ?? 0) - (a.renderedAt ?? 0))[0];
    if (newest === undefined || newest.renderedAt === null) return null;
    const fresh = wish.enqueuedAt - newest.renderedAt <= wish.cacheTtl * 1000;
    return fresh && this.artifacts.get(newest.artifact ?? '')?.gone === false ? newest : null;
  }

  #inFlight(wish: NewJob): ModelJob | null {
    if (wish.cacheTtl === 0) return null;
    return (
      this.#all().find((job) => job.endedAt === null && job.leader === null && this.#samePicture(job, wish)) ?? null
    );
  }

  #samePicture(job: ModelJob, wish: NewJob): boolean {
    return job.wish.accountId === wish.accountId && isSame(job.wish.cacheIdentity, wish.cacheIdentity);
  }

  #end(
    job: ModelJob,
    ending: Pick<ModelJob, 'worker' | 'artifact' | 'cached' | 'error'> & { state: Ended; now: number },
  ): void {
    const { state, now, ...rest } = ending;
    Object.assign(job, rest, {
      state,
      endedAt: now,
      leader: null,
      credits: state === 'completed' ? 'settled' : 'released',
    });
    this.totals[job.credits === 'settled' ? 'settled' : 'released'] += 1;
    const book = `${job.wish.accountId} ${periodOf(job.wish.enqueuedAt)}`;
    if (state === 'completed') this.settled.set(book, (this.settled.get(book) ?? 0) + job.wish.price);
    if (job.delivery !== null) Object.assign(job.delivery, { event: `capture.${state}`, dueAt: now });
  }
}

function sum(artifacts: readonly [string, ModelArtifact][]): number {
  return artifacts.reduce((bytes, [, artifact]) => bytes + artifact.bytes, 0);
}

function countBy(jobs: readonly ModelJob[], keyOf: (job: ModelJob) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const job of jobs) counts.set(keyOf(job), (counts.get(keyOf(job)) ?? 0) + 1);
  return counts;
}

function receiverOf(job: ModelJob): string {
  return `${job.wish.accountId} ${job.delivery?.origin}`;
}

function promote(job: ModelJob): void {
  job.lane = 'prioritized';
  if (job.state === 'waiting') job.state = 'prioritized';
}

function isSame(a: string | null, b: string | null): boolean {
  return a !== null && a === b;
}
