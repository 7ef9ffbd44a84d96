import { type Rate, TokenBuckets } from './token-buckets.js';

export type { RateVerdict } from './token-buckets.js';

/** Limit of failed authentications per client address (decisions.md, Keys). */
const FAILURES: Rate = { perMinute: 30, burst: 30 };

export interface RateRules {
  /** Limit per key. */
  submissions: Rate;
  /** Limit per key. */
  reads: Rate;
  /** Limit of renders that signed links start, per key. */
  links: Rate;
  /** Limit per client address; 30 a minute when absent. */
  failures?: Rate;
}

/** The token buckets of this process, in memory; a restart refills them. Servers that share a database each grant an equal part. */
export class RateLimits {
  /** By key id. */
  readonly submissions: TokenBuckets;
  /** By key id. */
  readonly reads: TokenBuckets;
  /** By key id. */
  readonly links: TokenBuckets;
  /** Failed authentications, by client address. */
  readonly failures: TokenBuckets;

  constructor(rules: RateRules, now: () => number = () => performance.now()) {
    this.submissions = new TokenBuckets(rules.submissions, now);
    this.reads = new TokenBuckets(rules.reads, now);
    this.links = new TokenBuckets(rules.links, now);
    this.failures = new TokenBuckets(rules.failures ?? FAILURES, now);
  }

  /** Divides each rate by the number of servers that take requests. */
  shareAmong(servers: number): void {
    for (const buckets of [this.submissions, this.reads, this.links, this.failures]) buckets.shareAmong(servers);
  }
}
