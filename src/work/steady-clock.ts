import { GAP_MS, type KeptClock } from '../contract/kept-clock.js';

/** Clock jumps up to this size, and drift, are followed at once. */
const TOLERANCE_MS = 60_000;
/** After a jump, the wall clock is trusted again once it has run evenly for this long. */
const TRUSTED_AFTER_MS = 24 * 3_600_000;
/** Between two calls, `now` goes on by the monotonic clock but for so much, or has jumped. */
const EVEN_MS = 50;
/** The number of jumps of `now` that are remembered. */
const STRETCHES_MAX = 100;

/** The times that `now` has returned between two of its jumps. */
interface Stretch {
  first: number;
  last: number;
  /** Difference to the monotonic clock, in ms. */
  offset: number;
}

/**
 * Unix time that withstands jumps of the wall clock: the monotonic clock carries it on from an earlier wall time. It is unknown which of
 * the two is right, so callers ask for the one that does no harm.
 */
export class SteadyClock {
  /** Trusted difference between wall and monotonic time, in ms. */
  #offset: number;
  /** A jump that is not trusted yet. */
  #jump: { offset: number; since: number } | null = null;
  /** The newest last. */
  readonly #stretches: Stretch[] = [];

  /** @param kept state of the last run; a wall clock that is far from it is treated like one that has just jumped */
  constructor(
    private readonly wall: () => number = Date.now,
    private readonly monotonic: () => number = () => performance.now(),
    kept: KeptClock | null = null,
  ) {
    const now = monotonic();
    this.#offset = wall() - now;
    const aheadMs = kept === null ? 0 : wall() - kept.trusted;
    if (kept === null || Math.abs(aheadMs) <= GAP_MS) return;
    const isSameDoubt = kept.doubt !== null && Math.abs(aheadMs - kept.doubt.aheadMs) <= GAP_MS;
    this.#jump = { offset: this.#offset, since: now - (isSameDoubt ? (kept.doubt?.forMs ?? 0) : 0) };
    this.#offset -= aheadMs;
  }

  /** Returns the state that the next run starts from. */
  keep(): KeptClock {
    const trusted = Math.round(this.#steady());
    if (this.#jump === null) return { trusted, doubt: null };
    const { offset, since } = this.#jump;
    return {
      trusted,
      doubt: { aheadMs: Math.round(offset - this.#offset), forMs: Math.round(this.monotonic() - since) },
    };
  }

  /** Trusts the wall clock as it is. */
  accept(): void {
    this.#offset = this.wall() - this.monotonic();
    this.#jump = null;
  }

  /** The time for dates and leases: the later of the two, so that nothing created now looks old once the wall clock is right again. */
  readonly now = (): number => {
    const now = Math.round(Math.max(this.wall(), this.#steady()));
    const offset = now - this.monotonic();
    const latest = this.#stretches.at(-1);
    if (latest !== undefined && Math.abs(offset - latest.offset) <= EVEN_MS)
      Object.assign(latest, { last: Math.max(now, latest.last), offset });
    else this.#stretches.push({ first: now, last: now, offset });
    if (this.#stretches.length > STRETCHES_MAX) this.#stretches.shift();
    return now;
  };

  /** The number of ms that have passed since a time that `now` has returned, by the monotonic clock: jumps of the wall clock do not count. */
  readonly since = (time: number): number => {
    const now = this.now();
    const [oldest = { offset: now - this.monotonic() }] = this.#stretches;
    const stretch = this.#stretches.findLast(({ first, last }) => first <= time && time <= last) ?? oldest;
    return Math.max(0, Math.round(this.monotonic() + stretch.offset - time));
  };

  /** The time for expiry: the earlier of the two, so that nothing is deleted early. */
  readonly cautious = (): number => Math.round(Math.min(this.wall(), this.#steady()));

  #steady(): number {
    const monotonic = this.monotonic();
    const offset = this.wall() - monotonic;
    if (isNear(offset, this.#offset)) {
      this.#offset = offset;
      this.#jump = null;
    } else if (this.#jump === null || !isNear(offset, this.#jump.offset)) this.#jump = { offset, since: monotonic };
    else if (monotonic - this.#jump.since >= TRUSTED_AFTER_MS) {
      this.#offset = offset;
      this.#jump = null;
    }
    return monotonic + this.#offset;
  }
}

function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= TOLERANCE_MS;
}
