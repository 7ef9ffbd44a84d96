/** The time limits of one capture, and the times that its stages take. */

import { setTimeout as sleep } from 'node:timers/promises';
import pTimeout from 'p-timeout';
import { CaptureError } from '../../contract/capture-error.js';
import { CAPTURE_GRACE_MS } from '../../contract/limits.js';

/** Whole ms since the process started, on a clock that does not jump. */
export function monotonicNow(): number {
  return Math.floor(performance.now());
}

/** The result of `withTimeout` when the time is up. */
export const TIMED_OUT = Symbol('late');

export interface DeadlineOptions {
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

  /** Runs a step with the budget paused. Must not be nested. */
  async withBudgetPaused<T>(work: () => Promise<T>): Promise<T> {
    this.#pausedAt = monotonicNow();
    try {
      return await this.orEnd(work());
    } finally {
      this.#budgetEndsAt = this.budgetEndsAt;
      this.#pausedAt = null;
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

/** A stage that has ended, with times by `performance.now()`. */
export interface StageTime {
  name: string;
  began: number;
  ended: number;
  /** Whether the capture failed in this stage. */
  failed: boolean;
}

/** When a picture was begun, by `performance.now()`, and the ms for its shots and its encoding. */
interface PictureTimes {
  begun: number;
  shoot: number;
  encode: number;
}

/** The progress of a capture, and its time per stage. There is one stage at a time. */
export class StageTimes {
  readonly #stages: StageTime[] = [];
  #current: { name: string; began: number } | null = null;
  #reported = 0;

  constructor(private readonly onProgress: (progress: number) => void) {}

  /** @param progress 0–100; reported if it has increased */
  enter(name: string, progress: number): void {
    this.#leave(false);
    this.#current = { name, began: performance.now() };
    if (progress <= this.#reported) return;
    this.#reported = progress;
    this.onProgress(progress);
  }

  /**
   * Ends the current stage.
   * @param how.failed whether the capture failed in it
   * @param how.picture splits the stage `shoot` into itself and `encode`
   * @returns all stages so far
   */
  stages({ failed = false, picture }: { failed?: boolean; picture?: PictureTimes }): StageTime[] {
    this.#leave(failed);
    if (picture === undefined) return this.#stages;
    const { begun, shoot, encode } = picture;
    const shot = { name: 'shoot', began: begun, ended: begun + shoot, failed };
    const encoded = { name: 'encode', began: shot.ended, ended: shot.ended + encode, failed };
    return [...this.#stages.filter(({ name }) => name !== 'shoot'), shot, encoded];
  }

  #leave(failed: boolean): void {
    if (this.#current !== null) this.#stages.push({ ...this.#current, ended: performance.now(), failed });
    this.#current = null;
  }
}

/** Whole ms by stage, but for those that are not part of a capture's own work; the times of repeated stages are added. */
export function timingsOf(stages: readonly StageTime[]): Record<string, number> {
  const ms: Record<string, number> = {};
  for (const { name, began, ended } of stages) ms[name] = (ms[name] ?? 0) + ended - began;
  const { prepare: _prepare, inspect: _inspect, ...told } = ms;
  return Object.fromEntries(Object.entries(told).map(([name, sum]) => [name, Math.round(sum)]));
}
