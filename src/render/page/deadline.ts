import { setTimeout as sleep } from 'node:timers/promises';
import pTimeout from 'p-timeout';
import { CaptureError } from '../../contract/capture-error.js';
import { CAPTURE_GRACE_MS } from '../../contract/limits.js';
import { monotonicNow } from '../monotonic-now.js';

/** The result of `withTimeout` when the time is up. */
export const TIMED_OUT = Symbol('late');

export interface DeadlineOptions {
  /** The budget for navigation, waits and checks, in ms. */
  timeout: number;
  /** Additional time in ms. */
  delay: number;
  /** The start, in ms by `monotonicNow`; by default, now. */
  began?: number;
}

/**
 * The two time limits of one capture (decisions.md, Jobs), in ms by `monotonicNow`: the budget of `timeout`, which pauses
 * during `delay`, scrolling and the picture of a scrolled page, and the forced end at `timeout + delay + CAPTURE_GRACE_MS`.
 */
export class Deadlines implements Disposable {
  /** When the capture is ended by force. */
  readonly endsAt: number;
  /** Aborted, with a CaptureError as its reason, when the capture must stop at once. */
  readonly signal: AbortSignal;
  readonly timeout: number;
  #budgetEndsAt: number;
  #stoppedAt: number | null = null;
  readonly #force = new AbortController();
  readonly #timer: NodeJS.Timeout;

  /** @param outer other signals that end the capture: the caller's, the loss of the page */
  constructor(options: DeadlineOptions, outer: readonly AbortSignal[]) {
    const wholeMs = options.timeout + options.delay + CAPTURE_GRACE_MS;
    this.timeout = options.timeout;
    const began = options.began ?? monotonicNow();
    this.#budgetEndsAt = began + options.timeout;
    this.endsAt = began + wholeMs;
    this.#timer = setTimeout(() => this.#force.abort(endedByForce(wholeMs)), this.endsAt - monotonicNow());
    this.signal = AbortSignal.any([this.#force.signal, ...outer]);
  }

  /** When the budget ends unless it is paused, in ms by `monotonicNow`; in the past once it has ended. */
  get budgetEndsAt(): number {
    return this.#budgetEndsAt + (this.#stoppedAt === null ? 0 : monotonicNow() - this.#stoppedAt);
  }

  /** The remaining budget in ms, at least 0. */
  leftMs(): number {
    return Math.max(0, this.budgetEndsAt - monotonicNow());
  }

  /** Runs a step with the budget paused. Must not be nested. */
  async withBudgetPaused<T>(work: () => Promise<T>): Promise<T> {
    const began = monotonicNow();
    this.#stoppedAt = began;
    try {
      return await this.orEnd(work());
    } finally {
      this.#stoppedAt = null;
      this.#budgetEndsAt += monotonicNow() - began;
    }
  }

  /** The result of `work`, or TIMED_OUT after `ms`. Rejects with the signal's reason if the capture must stop; the work itself continues. */
  withTimeout<T>(work: Promise<T>, ms: number): Promise<T | typeof TIMED_OUT> {
    return pTimeout(work, { milliseconds: Math.max(1, ms), signal: this.signal, fallback: () => TIMED_OUT });
  }

  /** The result of `work`, or a rejection with the signal's reason if the capture must stop first. */
  orEnd<T>(work: Promise<T>): Promise<T> {
    return pTimeout(work, { milliseconds: Number.POSITIVE_INFINITY, signal: this.signal });
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
