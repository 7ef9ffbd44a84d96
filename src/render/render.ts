/**
 * Request in, picture out: what one capture does in a browser. Knows no job, account, store or HTTP.
 */

import type { Inspection, RenderDiagnostics } from '../contract/capture-data.js';
import type { CaptureFormat, CaptureOptions } from '../contract/capture-request.js';

/** One capture to make. */
export interface RenderOrder {
  options: CaptureOptions;
  /** For the log and for leases only. */
  id: string;
  /** 0–100, by stage. */
  onProgress(progress: number): void;
}

/** A picture and all that is to be told of it. */
export interface Rendering {
  content: Uint8Array;
  format: CaptureFormat;
  /** Output px, read from the encoded bytes (PDF: CSS px of its first page). */
  width: number;
  height: number;
  finalUrl: string;
  blockedRequests: number;
  egressCountry: string | null;
  diagnostics: RenderDiagnostics;
  inspection: Inspection | null;
  /** ms by stage: navigate, settle, scroll, shoot, encode. */
  timings: Record<string, number>;
}
