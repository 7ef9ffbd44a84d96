/** How many requests a minute in the long run, and how many at once. */
export interface Rate {
  /** 0 switches the limit off. */
  perMinute: number;
  burst: number;
}

/** How a bucket stands. `limit` 0 means that the limit is switched off. */
export interface RateVerdict {
  allowed: boolean;
  /** Requests a minute. */
  limit: number;
  /** Requests that would be allowed right now. */
  remaining: number;
  /** Whole seconds until the bucket is full again. */
  resetSeconds: number;
  /** Whole seconds until the next request is allowed, at least 1; 0 when it is now. */
  retryAfterSeconds: number;
}

/** Buckets kept at most; beyond, the one touched longest ago goes (its owner starts with a full one). */
const BUCKETS_LIMIT = 100_000;
const MINUTE_MS = 60_000;

/**
 * A token bucket per subject, as one number each (GCRA): the time at which the bucket will be full. Full buckets are not kept.
 */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #now: () => number;
  readonly #fullAt = new Map<string, number>();

  /** @param now a clock in ms; monotonic or not, a jump costs nobody more than one full bucket */
  constructor(rate: Rate, now: () => number) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Takes a token when there is one. */
  take(subject: string): RateVerdict {
    if (this.#rate.perMinute === 0) return UNLIMITED;
    const now = this.#now();
    const fullAt = this.#fullAtOf(subject, now);
    const allowed = this.#tokens(fullAt, now) >= 1;
    if (allowed) this.#keep(subject, fullAt + this.#tokenMs, now);
    return this.#verdict(allowed, allowed ? fullAt + this.#tokenMs : fullAt, now);
  }

  /** As it stands, without taking. */
  peek(subject: string): RateVerdict {
    if (this.#rate.perMinute === 0) return UNLIMITED;
    const now = this.#now();
    const fullAt = this.#fullAtOf(subject, now);
    return this.#verdict(this.#tokens(fullAt, now) >= 1, fullAt, now);
  }

  /** Subjects whose bucket is kept. */
  get size(): number {
    return this.#fullAt.size;
  }

  get #tokenMs(): number {
    return MINUTE_MS / this.#rate.perMinute;
  }

  /** Never further off than an empty bucket's, also after the clock was set back. */
  #fullAtOf(subject: string, now: number): number {
    const fullAt = this.#fullAt.get(subject) ?? now;
    const empty = now + this.#rate.burst * this.#tokenMs;
    if (fullAt > empty) this.#fullAt.set(subject, empty);
    return Math.min(empty, Math.max(now, fullAt));
  }

  #tokens(fullAt: number, now: number): number {
    // Rounded to a millionth: a sum of fractions must not hold back a token that is due.
    return Math.round((this.#rate.burst - (fullAt - now) / this.#tokenMs) * 1e6) / 1e6;
  }

  #keep(subject: string, fullAt: number, now: number): void {
    this.#fullAt.delete(subject);
    this.#fullAt.set(subject, fullAt);
    // Insertion order is order of last use: full buckets gather at the front.
    for (const [oldest, oldestFullAt] of this.#fullAt) {
      if (oldestFullAt > now && this.#fullAt.size <= BUCKETS_LIMIT) break;
      this.#fullAt.delete(oldest);
    }
  }

  #verdict(allowed: boolean, fullAt: number, now: number): RateVerdict {
    const tokens = this.#tokens(fullAt, now);
    return {
      allowed,
      limit: this.#rate.perMinute,
      remaining: Math.max(0, Math.floor(tokens)),
      resetSeconds: Math.ceil((fullAt - now) / 1000),
      retryAfterSeconds: tokens >= 1 ? 0 : Math.max(1, Math.ceil(((1 - tokens) * this.#tokenMs) / 1000)),
    };
  }
}

const UNLIMITED: RateVerdict = { allowed: true, limit: 0, remaining: 0, resetSeconds: 0, retryAfterSeconds: 0 };
