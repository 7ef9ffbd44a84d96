import type { RenderDiagnostics } from '../../contract/capture-data.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { ElementBox } from '../in-page/boxes.js';
import type { TimedPage } from '../page/page-clock.js';
import type { BoundedPage } from './bounded-page.js';

export interface Picture {
  content: Uint8Array;
  /** Output px, read from the encoded bytes. For a PDF, CSS px of its first page. */
  width: number;
  height: number;
  /** Whether the picture was all white before it was resized or got its palette; absent if its content says so itself. */
  wasWhite?: boolean;
  /** How a page wider than its paper was printed; absent for other pages. */
  fitted?: { scale: number; isCut: boolean };
  /** Whether the page has content that it shows only while scrolled there, and that the picture lacks. */
  lacksContent?: boolean;
  /** Whether an animated picture has several frames; absent for a still one. */
  isMoving?: boolean;
  diagnostics: RenderDiagnostics;
  /** The part of the page beside the columns of a full-page picture; absent if there is none. */
  cut?: SideCut;
  /** `begun` by `performance.now()`; durations in ms. */
  timings: { begun: number; shoot: number; encode: number };
}

export interface SideCut {
  /** Widths of the whole page and of the picture, in CSS px. */
  pageWidth: number;
  shownWidth: number;
  side: 'left' | 'right';
}

/** The inputs for every kind of picture. */
export interface PictureOrder extends TimedPage {
  options: CaptureOptions;
  page: BoundedPage;
  /** The time limit, ms by `monotonicNow`. Captures of long pages stop early enough to be encoded. */
  deadline: number;
  /** When the picture was begun, by `performance.now()`. */
  begun: number;
  /** The process's one queue for encoding big pictures. */
  encodes: EncodeQueue;
  /** Called once the page is as it will be pictured, with the part of it that will be, in CSS px; null for the view. */
  arranged?: ((area: ElementBox | null) => Promise<void>) | undefined;
  /** The number of visible matches of the selector before the element. Default: 0. */
  index?: number;
  /** Called once the browser has taken the shots, and only the encoding is left. */
  onShot?(): void;
}

/** Pictures with more pixels are encoded one at a time, since they need much memory. */
const BIG_PIXELS = 12_000_000;

/** Encodes big pictures one at a time per process. Small ones do not wait. */
export class EncodeQueue {
  #last: Promise<unknown> = Promise.resolve();

  async run<Result>(pixels: number, encode: () => Promise<Result>): Promise<Result> {
    if (pixels < BIG_PIXELS) return encode();
    const queued = this.#last.then(encode, encode);
    this.#last = queued.catch(() => {});
    return queued;
  }
}
