import { setTimeout as sleep } from 'node:timers/promises';
import { CaptureError } from '../../contract/capture-error.js';
import { CAPTURE_GRACE_MS } from '../../contract/limits.js';
import { waitAtMost } from '../../egress/wait-at-most.js';
import { abortable } from '../abortable.js';
import { monotonicNow } from '../monotonic-now.js';

/** What `within` answers when the time is up. */
export const TIMED_OUT = Symbol('late');

export interface DeadlineOptions {
  /** ms: navigation, waits and checks. */
  timeout: number;
  /** ms, on top of it. */
  delay: number;
  /** ms by `monotonicNow`; now when absent. */
  began?: number;
}

/**
 * The two clocks of one capture (decisions.md, Jobs): the budget of `timeout`, which stands still during `delay`, scrolling and a scrolled page's picture, and the
 * end by force at `timeout + delay + CAPTURE_GRACE_MS`. Times are ms by `monotonicNow`.
 */
export class Deadlines implements Disposable {
  /** When the whole is ended by force. */
  readonly endsAt: number;
  /** Aborted, with a CaptureError as its reason, when the capture must stop at once. */
  readonly signal: AbortSignal;
  readonly timeout: number;
  #budgetEndsAt: number;
  #stoppedAt: number | null = null;
  readonly #force = new AbortController();
  readonly #timer: NodeJS.Timeout;

  /** @param outer what else ends the capture: the caller's signal, the loss of the page */
  constructor(options: DeadlineOptions, outer: readonly AbortSignal[]) {
    const wholeMs = options.timeout + options.delay + CAPTURE_GRACE_MS;
    this.timeout = options.timeout;
    const began = options.began ?? monotonicNow();
    this.#budgetEndsAt = began + options.timeout;
    this.endsAt = began + wholeMs;
    this.#timer = setTimeout(() => this.#force.abort(endedByForce(wholeMs)), this.endsAt - monotonicNow());
    this.signal = AbortSignal.any([this.#force.signal, ...outer]);
  }

  /** When the budget is over, ms by `monotonicNow`, if its clock runs from now on: in the past once it is. */
  get budgetEndsAt(): number {
    return this.#budgetEndsAt + (this.#stoppedAt === null ? 0 : monotonicNow() - this.#stoppedAt);
  }

  /** ms left of the budget, never below 0. */
  leftMs(): number {
    return Math.max(0, this.budgetEndsAt - monotonicNow());
  }

  /** Runs a step that does not count: the budget's clock stands still meanwhile. Not for use inside itself. */
  async outside<T>(work: () => Promise<T>): Promise<T> {
    const began = monotonicNow();
    this.#stoppedAt = began;
    try {
      return await this.orEnd(work());
    } finally {
      this.#stoppedAt = null;
      this.#budgetEndsAt += monotonicNow() - began;
    }
  }

  /** The work's result, or TIMED_OUT after `ms`. Rejects with the signal's reason when the capture must stop; the work is then left to itself. */
  within<T>(work: Promise<T>, ms: number): Promise<T | typeof TIMED_OUT> {
    return waitAtMost(this.orEnd(work), Math.max(0, ms), TIMED_OUT);
  }

  /** The work's result, unless the capture must stop first. */
  orEnd<T>(work: Promise<T>): Promise<T> {
    return abortable(work, this.signal);
  }

  async sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.signal }).catch(() => this.signal.throwIfAborted());
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

function endedByForce(wholeMs: number): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `The capture was stopped after ${wholeMs} ms: the page kept the browser from finishing. A longer \`timeout\`, a smaller page or \`full_page: false\` may help.`,
  });
}
