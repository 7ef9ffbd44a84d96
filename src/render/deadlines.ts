/** The time limits of a capture and of each wait in it: the only place of the renderer in which a promise is bounded. */

import { setTimeout as sleep } from 'node:timers/promises';
import pTimeout, { TimeoutError } from 'p-timeout';
import { CaptureError } from '../contract/capture-error.js';
import { CAPTURE_GRACE_MS } from '../contract/limits.js';

/** Whole ms since the process started, on a clock that does not jump. */
export function monotonicNow(): number {
  return Math.floor(performance.now());
}

export { TimeoutError };

/** The result of a wait whose time is up. */
export const TIMED_OUT = Symbol('timed out');

interface Limit {
  /** The longest wait in ms; unlimited if absent. */
  ms?: number;
  /** Ends the wait with its reason. */
  signal?: AbortSignal | undefined;
  /** Whether time in which this process is blocked counts little: a browser that answered meanwhile is not late. */
  isPatient?: boolean;
}

/** Returns the result of `work`, or TIMED_OUT; rejects with the signal's reason. The work itself continues. */
export function within<T>(
  work: Promise<T>,
  { ms = Number.POSITIVE_INFINITY, signal, isPatient = false }: Limit,
): Promise<T | typeof TIMED_OUT> {
  const customTimers = { setTimeout: timeoutInParts as typeof setTimeout, clearTimeout };
  return pTimeout(work, {
    milliseconds: Math.max(1, ms),
    signal,
    fallback: () => TIMED_OUT,
    ...(isPatient ? { customTimers } : {}),
  });
}

/**
 * Returns the result of `work`.
 * @param late makes the error of work that takes longer
 */
export async function orLate<T>(work: Promise<T>, limit: Limit, late: () => Error): Promise<T> {
  const result = await within(work, limit);
  if (result === TIMED_OUT) throw late();
  return result;
}

/** Returns the result of `work`, or `otherwise` if it fails or takes longer. */
export function orElse<T, Otherwise>(work: Promise<T>, limit: Limit, otherwise: Otherwise): Promise<T | Otherwise> {
  return within(work, limit).then(
    (result) => (result === TIMED_OUT ? otherwise : result),
    () => otherwise,
  );
}

/** Returns the result of `work`; rejects with the signal's reason. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return (await within(work, { signal })) as T;
}

/** Whether `work` succeeds in time. */
export function succeedsWithin(work: Promise<unknown>, limit: Limit): Promise<boolean> {
  return orElse(
    work.then(() => true),
    limit,
    false,
  );
}

/** A signal for work that ends by itself after `ms`. */
export function timeLimit(ms: number): AbortSignal {
  return AbortSignal.timeout(ms);
}

/** The parts of a patient wait, of which time in which this process is blocked counts as one. */
const PARTS = 10;

function timeoutInParts(onOver: () => void, timeoutMs: number): NodeJS.Timeout {
  let parts = 0;
  return setInterval(() => {
    parts += 1;
    if (parts === PARTS) onOver();
  }, timeoutMs / PARTS);
}

interface DeadlineOptions {
  /** The budget for navigation, waits and checks, in ms. */
  timeout: number;
  /** Additional time in ms. */
  delay: number;
  /** Further time for many pictures, in ms; default 0. */
  grace?: number;
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
  #pausedAt: number | null = null;
  readonly #timer: NodeJS.Timeout;

  /** @param outer other signals that end the capture: the caller's, the loss of the page */
  constructor({ timeout, delay, grace = 0, began = monotonicNow() }: DeadlineOptions, outer: readonly AbortSignal[]) {
    const wholeMs = timeout + delay + CAPTURE_GRACE_MS + grace;
    const force = new AbortController();
    this.timeout = timeout;
    this.#budgetEndsAt = began + timeout;
    this.endsAt = began + wholeMs;
    this.#timer = setTimeout(() => force.abort(endedByForce(wholeMs)), this.endsAt - monotonicNow());
    this.signal = AbortSignal.any([force.signal, ...outer]);
  }

  /** When the budget ends unless it is paused, in ms by `monotonicNow`; in the past once it has ended. */
  get budgetEndsAt(): number {
    return this.#budgetEndsAt + (this.#pausedAt === null ? 0 : monotonicNow() - this.#pausedAt);
  }

  /** The remaining budget in ms, at least 0. */
  leftMs(): number {
    return Math.max(0, this.budgetEndsAt - monotonicNow());
  }

  /** Pauses the budget until the result is disposed. Must not be nested. */
  pauseBudget(): Disposable {
    this.#pausedAt = monotonicNow();
    return {
      [Symbol.dispose]: () => {
        this.#budgetEndsAt = this.budgetEndsAt;
        this.#pausedAt = null;
      },
    };
  }

  /** As the function `within`; rejects with the signal's reason if the capture must stop. */
  within<T>(work: Promise<T>, ms: number): Promise<T | typeof TIMED_OUT> {
    return within(work, { ms, signal: this.signal });
  }

  /** As `within`, until the budget ends. */
  withinBudget<T>(work: Promise<T>): Promise<T | typeof TIMED_OUT> {
    return this.within(work, this.leftMs());
  }

  /** The result of `work`, or a rejection with the signal's reason if the capture must stop first. */
  async orEnd<T>(work: Promise<T>): Promise<T> {
    return await unlessAborted(work, this.signal);
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
