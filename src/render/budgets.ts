/** The budgets of a capture: its time, with the times of its stages, and its share of the server's memory. */

import { setTimeout as sleep } from 'node:timers/promises';
import pTimeout from 'p-timeout';
import { frameCount } from '../contract/animation.js';
import { CaptureError } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { CAPTURE_GRACE_MS } from '../contract/limits.js';
import type { PageLoad } from '../contract/page-loads.js';

/** Whole ms since the process started, on a clock that does not jump. */
export function monotonicNow(): number {
  return Math.floor(performance.now());
}

/** The result of `withTimeout` when the time is up. */
export const TIMED_OUT = Symbol('timed out');

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

  /** The result of `work`, or TIMED_OUT once the budget has ended; as `withTimeout`. */
  withinBudget<T>(work: Promise<T>): Promise<T | typeof TIMED_OUT> {
    return this.withTimeout(work, this.leftMs());
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
export interface PictureTimes {
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

/** The maximum number of pixels of one capture, which takes 168 MB in the browser. */
export const SHOT_MAX_PIXELS = 42_000_000;
/** The maximum number of pixels of one band of a page, which takes 42 MB in the browser. */
export const BAND_PIXELS = SHOT_MAX_PIXELS / 4;

/** Memory of a page before its picture is taken, in all processes. */
const PAGE_BYTES = 200_000_000;
/** Layers, read-back and encoded bytes of one shot, in all processes. Measured: 16 bytes for a gradient; more for noise. */
const BYTES_PER_PIXEL = 24;
/** The encoder of an animated picture and its file, and what it keeps of each frame's file. Measured: 420 MB for 600 frames of 1280 × 720. */
const ANIMATION_BYTES = 150_000_000;
const ANIMATION_FRAME_BYTES = 500_000;
/** Encoded bytes of a picture that is held until all are taken. */
const HELD_BYTES_PER_PIXEL = 2;
/** Memory of the dedicated browser of a repeated rendering. */
const OWN_BROWSER_BYTES = 150_000_000;
/** How long captures that need less memory may start before a waiting one. */
const OVERTAKEN_FOR_MS = 5_000;

/**
 * The expected memory of a load of a page, from the pixels of its largest shot, since larger pictures are made of several, and from what
 * its other pictures hold.
 * @returns bytes
 */
export function estimateBytes({ pictures }: Pick<PageLoad, 'pictures'>, alone: boolean): number {
  const pixels = pictures.flatMap(({ options, all }) => Array.from({ length: all ?? 1 }, () => shotPixelsOf(options)));
  const largest = Math.max(...pixels);
  const others = pixels.reduce((sum, one) => sum + one, -largest);
  const animated = pictures.flatMap(({ options: { animate } }) =>
    animate === null ? [] : [ANIMATION_BYTES + ANIMATION_FRAME_BYTES * frameCount(animate)],
  );
  const held = HELD_BYTES_PER_PIXEL * others + animated.reduce((sum, one) => sum + one, 0);
  return PAGE_BYTES + BYTES_PER_PIXEL * largest + held + (alone ? OWN_BROWSER_BYTES : 0);
}

function shotPixelsOf({ view, fullPage, clip, selector, animate }: CaptureOptions): number {
  const pixelsOf = ({ width, height }: { width: number; height: number }) => width * height * view.deviceScaleFactor ** 2;
  const bandPixels = fullPage || (selector !== null && animate === null) ? BAND_PIXELS : 0;
  const largest = Math.max(pixelsOf(view), clip === null ? 0 : pixelsOf(clip), bandPixels);
  // In a mobile view, the page decides how many CSS px one shot has.
  return view.isMobile ? largest : Math.min(SHOT_MAX_PIXELS, largest);
}

interface Waiter {
  bytes: number;
  since: number;
  start(): void;
}

/** The memory shared by the running captures. A capture that is expected to use more than all of it runs alone. */
export class MemoryBudget {
  #used = 0;
  readonly #waiters = new Set<Waiter>();

  constructor(
    private readonly bytes: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Waits for a share of the memory, which is returned on disposal.
   * @param signal ends the wait with its reason
   */
  async reserve(bytes: number, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiters.delete(waiter);
        reject(signal.reason);
        this.#admit();
      };
      const start = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const waiter = { bytes, since: this.now(), start };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiters.add(waiter);
      this.#admit();
    });
    let held = bytes;
    return {
      [Symbol.dispose]: () => {
        this.#used -= held;
        held = 0;
        this.#admit();
      },
    };
  }

  #admit(): void {
    for (const waiter of this.#waiters) {
      if (this.#used === 0 || this.#used + waiter.bytes <= this.bytes) {
        this.#used += waiter.bytes;
        this.#waiters.delete(waiter);
        waiter.start();
      } else if (this.now() - waiter.since > OVERTAKEN_FOR_MS) return;
    }
  }
}

/** Pictures with more pixels are encoded one at a time, since they need much memory. */
const BIG_PIXELS = 12_000_000;

/** Encodes big pictures one at a time per process. Small ones do not wait. */
export class EncodeQueue {
  /** @param thread URL of the bundled picture-thread */
  constructor(readonly thread: URL) {}

  #last: Promise<unknown> = Promise.resolve();

  async run<Result>(pixels: number, encode: () => Promise<Result>): Promise<Result> {
    if (pixels < BIG_PIXELS) return encode();
    const queued = this.#last.then(encode, encode);
    this.#last = queued.catch(() => {});
    return queued;
  }
}
