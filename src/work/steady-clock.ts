/** A clock that jumped by no more than this, or drifts, is followed at once. */
const TOLERANCE_MS = 60_000;
/** The wall clock is believed again when it has gone on evenly for so long after a jump. */
const BELIEVED_AFTER_MS = 24 * 3_600_000;

/**
 * Unix time beside a wall clock that may jump: carried on by the monotonic clock from a time that the wall clock told before. It cannot
 * tell which of the two is right, so its callers ask for the one that does no harm.
 */
export class SteadyClock {
  /** Wall minus monotonic, as it is believed. */
  #offset: number;
  /** A jump that is not believed yet. */
  #jump: { offset: number; since: number } | null = null;

  constructor(
    private readonly wall: () => number = Date.now,
    private readonly monotonic: () => number = () => performance.now(),
  ) {
    this.#offset = wall() - monotonic();
  }

  /** For dates and leases: it never falls behind, so that nothing made now looks old once the wall clock is right again. */
  readonly now = (): number => Math.round(Math.max(this.wall(), this.#steady()));

  /** For ages: nothing is older than both clocks say, so that nothing is deleted early. */
  readonly cautious = (): number => Math.round(Math.min(this.wall(), this.#steady()));

  #steady(): number {
    const monotonic = this.monotonic();
    const offset = this.wall() - monotonic;
    if (isNear(offset, this.#offset)) {
      this.#offset = offset;
      this.#jump = null;
    } else if (this.#jump === null || !isNear(offset, this.#jump.offset)) this.#jump = { offset, since: monotonic };
    else if (monotonic - this.#jump.since >= BELIEVED_AFTER_MS) {
      this.#offset = offset;
      this.#jump = null;
    }
    return monotonic + this.#offset;
  }
}

function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= TOLERANCE_MS;
}
