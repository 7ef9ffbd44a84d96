import type { RenderDiagnostics } from '../../contract/capture-data.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { TimedPage } from '../page/page-clock.js';
import type { EncodeQueue } from './encode-queue.js';

export interface Picture {
  content: Uint8Array;
  /** Output px, read from the encoded bytes (PDF: CSS px of its first page). */
  width: number;
  height: number;
  /** Whether it was all white before it was resized; absent if it was not. */
  whiteBeforeResize?: boolean;
  /** How a page that was wider than its paper was printed; absent if it was not. */
  fitted?: { scale: number; isCut: boolean };
  /** Whether the page has content that it shows only where it is scrolled to, and that the picture lacks. */
  lacksContent?: boolean;
  diagnostics: RenderDiagnostics;
  /** What lies beside the columns of a full page; absent if nothing does. */
  cut?: SideCut;
  /** `begun` by `performance.now()`, then ms. */
  timings: { begun: number; shoot: number; encode: number };
}

export interface SideCut {
  /** CSS px of the whole page, and of what the picture shows. */
  pageWidth: number;
  shownWidth: number;
  side: 'left' | 'right';
}

/** What every kind of picture is taken with. */
export interface PictureOrder extends TimedPage {
  options: CaptureOptions;
  /** ms by `monotonicNow`; long pages stop early enough to be encoded. */
  deadline: number;
  /** The process's one queue for big pictures. */
  encodes: EncodeQueue;
}
