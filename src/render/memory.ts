/** The memory that captures share, and what each is expected to need. */

import { frameCount } from '../contract/animation.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { AVIF_MAX_PIXELS } from '../contract/limits.js';
import type { PageLoad } from '../contract/page-loads.js';

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
/** The encoder of avif, for each pixel of the whole picture. Measured: 1.2 GB for 41 million. */
const AVIF_BYTES_PER_PIXEL = 30;
/** Memory of the dedicated browser of a repeated rendering. */
const OWN_BROWSER_BYTES = 150_000_000;
/** An attachment of a PDF: its text in base64, its bytes, and these packed, in the PDF and in the thread that adds them. */
const BYTES_PER_ATTACHED_BYTE = 6;
/** The time for which captures that need less memory may start before a waiting one. */
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
  const attached = Math.max(...pictures.map(({ options }) => attachedBytes(options)));
  const avif = Math.max(0, ...pictures.map(({ options }) => avifPixelsOf(options)));
  const held =
    HELD_BYTES_PER_PIXEL * others + animated.reduce((sum, one) => sum + one, 0) + BYTES_PER_ATTACHED_BYTE * attached;
  return PAGE_BYTES + BYTES_PER_PIXEL * largest + AVIF_BYTES_PER_PIXEL * avif + held + (alone ? OWN_BROWSER_BYTES : 0);
}

function attachedBytes({ pdf, files }: CaptureOptions): number {
  const { attachments = [], facturx } = pdf?.document ?? {};
  const bytes = attachments.map(
    ({ content, file }) => content?.length ?? files?.list.find(({ name }) => name === file)?.bytes ?? 0,
  );
  return bytes.reduce((sum, one) => sum + one, facturx?.xml.length ?? 0);
}

function shotPixelsOf({ view, fullPage, clip, selector, animate }: CaptureOptions): number {
  const pixelsOf = ({ width, height }: { width: number; height: number }) =>
    width * height * view.deviceScaleFactor ** 2;
  const bandPixels = fullPage || (selector !== null && animate === null) ? BAND_PIXELS : 0;
  const largest = Math.max(pixelsOf(view), clip === null ? 0 : pixelsOf(clip), bandPixels);
  // In a mobile view, the page decides how many CSS px one shot has.
  return view.isMobile ? largest : Math.min(SHOT_MAX_PIXELS, largest);
}

/** The most pixels that the picture may have if it is an avif; their number is known only of a view. */
function avifPixelsOf(options: CaptureOptions): number {
  const { format, fullPage, clip, selector, view } = options;
  if (format !== 'avif') return 0;
  const isView = !fullPage && clip === null && selector === null && !view.isMobile;
  return isView ? Math.min(AVIF_MAX_PIXELS, shotPixelsOf(options)) : AVIF_MAX_PIXELS;
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
