/** Limit of failed authentications per client address (decisions.md, Keys). */
const FAILURES: Rate = { perMinute: 30, burst: 30 };

export interface RateRules {
  /** Limit per key; renders that signed links start have the same, apart from these. */
  submissions: Rate;
  /** Limit per key. */
  reads: Rate;
}

/** The token buckets of this process, in memory; a restart refills them. Servers that share a database each grant an equal part. */
export class RateLimits {
  /** By key id. */
  readonly submissions: TokenBuckets;
  readonly reads: TokenBuckets;
  /** Renders that signed links start, by key id. */
  readonly links: TokenBuckets;
  /** Failed authentications, by client address. */
  readonly failures: TokenBuckets;

  constructor(rules: RateRules, now: () => number = () => performance.now()) {
    this.submissions = new TokenBuckets(rules.submissions, now);
    this.reads = new TokenBuckets(rules.reads, now);
    this.links = new TokenBuckets(rules.submissions, now);
    this.failures = new TokenBuckets(FAILURES, now);
  }

  /** Divides each rate by the number of servers that take requests. */
  shareAmong(servers: number): void {
    for (const buckets of [this.submissions, this.reads, this.links, this.failures]) buckets.shareAmong(servers);
  }
}

/** A rate: requests per minute on average, and requests in one burst. */
export interface Rate {
  /** 0 switches the limit off. */
  perMinute: number;
  burst: number;
}

/** The state of a bucket. A `limit` of 0 means that the limit is switched off. */
export interface RateVerdict {
  allowed: boolean;
  /** Requests per minute. */
  limit: number;
  /** Requests that would be allowed right now. */
  remaining: number;
  /** Whole seconds until the bucket is full again. */
  resetSeconds: number;
  /** Whole seconds until the next request is allowed, at least 1; 0 when one is allowed now. */
  retryAfterSeconds: number;
}

/** Maximum number of buckets. Beyond it, the least recently used one is dropped, and its subject starts with a full one. */
const BUCKETS_LIMIT = 100_000;
const MINUTE_MS = 60_000;

/**
 * A token bucket per subject, stored as one number (GCRA): the time at which the bucket will be full. Full buckets are not stored.
 * The package `rate-limiter-flexible` counts in fixed windows, which let twice the rate pass where two of them meet.
 */
export class TokenBuckets {
  /** The part of the rate that this server grants. */
  #rate: Rate;
  readonly #fullAt = new Map<string, number>();

  /** @param now a clock in ms, monotonic or not: a clock jump costs at most one full bucket */
  constructor(
    private readonly total: Rate,
    private readonly now: () => number,
  ) {
    this.#rate = total;
  }

  /**
   * Grants this server an equal part of the rate.
   * @param servers that grant one each
   */
  shareAmong(servers: number): void {
    const { perMinute, burst } = this.total;
    this.#rate = { perMinute: perMinute / servers, burst: Math.max(1, Math.ceil(burst / servers)) };
  }

  /** Takes a token if there is one. */
  take(subject: string): RateVerdict {
    if (this.#rate.perMinute === 0) return UNLIMITED;
    const now = this.now();
    const fullAt = this.#fullAtOf(subject, now);
    const allowed = this.#tokens(fullAt, now) >= 1;
    if (allowed) this.#keep(subject, fullAt + this.#tokenMs, now);
    return this.#verdict(allowed, allowed ? fullAt + this.#tokenMs : fullAt, now);
  }

  /** Returns the state without taking a token. */
  peek(subject: string): RateVerdict {
    if (this.#rate.perMinute === 0) return UNLIMITED;
    const now = this.now();
    const fullAt = this.#fullAtOf(subject, now);
    return this.#verdict(this.#tokens(fullAt, now) >= 1, fullAt, now);
  }

  get size(): number {
    return this.#fullAt.size;
  }

  get #tokenMs(): number {
    return MINUTE_MS / this.#rate.perMinute;
  }

  /** Returns a time no later than that of an empty bucket, even after the clock was set back. */
  #fullAtOf(subject: string, now: number): number {
    const fullAt = this.#fullAt.get(subject) ?? now;
    const empty = now + this.#rate.burst * this.#tokenMs;
    if (fullAt > empty) this.#fullAt.set(subject, empty);
    return Math.min(empty, Math.max(now, fullAt));
  }

  #tokens(fullAt: number, now: number): number {
    // Rounded to a millionth, so that rounding errors do not delay a token.
    return Math.round((this.#rate.burst - (fullAt - now) / this.#tokenMs) * 1e6) / 1e6;
  }

  #keep(subject: string, fullAt: number, now: number): void {
    this.#fullAt.delete(subject);
    this.#fullAt.set(subject, fullAt);
    // Insertion order is the order of last use, so full buckets are at the front.
    for (const [oldest, oldestFullAt] of this.#fullAt) {
      if (oldestFullAt > now && this.#fullAt.size <= BUCKETS_LIMIT) break;
      this.#fullAt.delete(oldest);
    }
  }

  #verdict(allowed: boolean, fullAt: number, now: number): RateVerdict {
    const tokens = this.#tokens(fullAt, now);
    return {
      allowed,
      limit: this.total.perMinute,
      remaining: Math.max(0, Math.floor(tokens)),
      resetSeconds: Math.ceil((fullAt - now) / 1000),
      retryAfterSeconds: tokens >= 1 ? 0 : Math.max(1, Math.ceil(((1 - tokens) * this.#tokenMs) / 1000)),
    };
  }
}

const UNLIMITED: RateVerdict = { allowed: true, limit: 0, remaining: 0, resetSeconds: 0, retryAfterSeconds: 0 };
