import { type Rate, TokenBuckets } from './token-buckets.js';

export type { RateVerdict } from './token-buckets.js';

/** decisions.md, Keys: failed authentications, per client address. */
const FAILURES: Rate = { perMinute: 30, burst: 30 };

export interface RateRules {
  /** Per key. */
  submissions: Rate;
  /** Per key. */
  reads: Rate;
  /** Renders that signed links start, per key. */
  links: Rate;
  /** Per client address; 30 a minute when absent. */
  failures?: Rate;
}

/** The token buckets of this process, in memory; a restart refills them. Servers that share a database grant an equal part each. */
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

  /** Grants only this server's part of each rate, of so many servers that take requests. */
  shareAmong(servers: number): void {
    for (const buckets of [this.submissions, this.reads, this.links, this.failures]) buckets.shareAmong(servers);
  }
}
