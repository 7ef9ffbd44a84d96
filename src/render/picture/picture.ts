import type { RenderDiagnostics } from '../../contract/capture-data.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { DebugSink } from '../debug-sink.js';
import type { PageSession } from '../page-session.js';
import type { EncodeQueue } from './encode-queue.js';

export interface Picture {
  content: Uint8Array;
  /** Output px, read from the encoded bytes (PDF: CSS px of its first page). */
  width: number;
  height: number;
  /** Whether it was all white before it was resized; absent if it was not. */
  whiteBeforeResize?: boolean;
  diagnostics: RenderDiagnostics;
  /** `begun` by `performance.now()`, then ms. */
  timings: { begun: number; shoot: number; encode: number };
}

/** What every kind of picture is taken with. */
export interface PictureOrder {
  session: PageSession;
  options: CaptureOptions;
  /** ms by `monotonicNow`; long pages stop early enough to be encoded. */
  deadline: number;
  encodes: EncodeQueue;
  debug?: DebugSink | undefined;
}
