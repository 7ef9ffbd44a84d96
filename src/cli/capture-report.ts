import { type CaptureData, toWireCaptureData } from '../contract/capture-data.js';
import { printable } from './operator-error.js';

export interface Captured {
  /** null: standard output. */
  file: string | null;
  data: Omit<CaptureData, 'artifact'>;
}

/** The JSON that `--json` prints: the API's CaptureData with `file` in place of `cdn_url`. */
export function toJsonReport({ file, data }: Captured): Record<string, unknown> {
  const { cdn_url: _none, ...facts } = toWireCaptureData({ ...data, artifact: '' }, '');
  return { ok: true, file, ...facts };
}

/** The same as one line of text, plus a second one if the picture is truncated. */
export function describeCapture({ file, data }: Captured): string {
  const { format, width, height, bytes, durationMs, diagnostics } = data;
  const size = format === 'pdf' ? `${width}×${height} px page` : `${width}×${height} px`;
  const line = `${file ?? 'standard output'}: ${format}, ${size}, ${sayBytes(bytes)}, ${(durationMs / 1_000).toFixed(1)} s`;
  return diagnostics.truncated ? `${line}\nThe page is longer than the picture (${diagnostics.stoppedReason}).` : line;
}

/** The inspection as plain text. */
export function describeInspection({ markdown, accessibleTree }: { markdown: string; accessibleTree: string }): string {
  return printable(`${markdown.trim()}\n\n--- Accessibility tree ---\n\n${accessibleTree.trim()}\n`);
}

function sayBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
