import type { CaptureOptions } from '../contract/capture-request.js';
import { BAND_PIXELS, SHOT_MAX_PIXELS } from './picture/shoot.js';

/** Memory of a page before its picture is taken, in all processes. */
const PAGE_BYTES = 200_000_000;
/** Layers, read-back and encoded bytes of one shot, in all processes. Measured: 16 bytes for a gradient; more for noise. */
const BYTES_PER_PIXEL = 24;
/** Memory of the dedicated browser of a repeated rendering. */
const OWN_BROWSER_BYTES = 150_000_000;
/** How long captures that need less memory may start before a waiting one. */
const OVERTAKEN_FOR_MS = 5_000;

/**
 * The expected memory of a capture, from the pixels of its largest shot: larger pictures are made of several.
 * @returns bytes
 */
export function estimateBytes(options: CaptureOptions, alone: boolean): number {
  return PAGE_BYTES + BYTES_PER_PIXEL * largestShot(options) + (alone ? OWN_BROWSER_BYTES : 0);
}

function largestShot({ view, fullPage, clip, selector }: CaptureOptions): number {
  const { width, height, deviceScaleFactor: density } = view;
  const viewPixels = width * height * density ** 2;
  const clipPixels = clip === null ? 0 : clip.width * clip.height * density ** 2;
  const pagePixels = fullPage ? BAND_PIXELS : 0;
  // In a mobile view, the page decides how many CSS px one shot has.
  const elementPixels = selector === null ? 0 : BAND_PIXELS;
  const largest = Math.max(viewPixels, clipPixels, pagePixels, elementPixels);
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
  #waiters: Waiter[] = [];

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
      const waiter = { bytes, since: this.now(), start: resolve };
      this.#waiters.push(waiter);
      this.#admit();
      if (!this.#waiters.includes(waiter)) return;
      const leave = () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(signal.reason);
        this.#admit();
      };
      signal.addEventListener('abort', leave, { once: true });
      waiter.start = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
    });
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#used -= bytes;
        isHeld = false;
        this.#admit();
      },
    };
  }

  #admit(): void {
    for (const waiter of [...this.#waiters]) {
      if (this.#used === 0 || this.#used + waiter.bytes <= this.bytes) {
        this.#used += waiter.bytes;
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        waiter.start();
      } else if (this.now() - waiter.since > OVERTAKEN_FOR_MS) return;
    }
  }
}
