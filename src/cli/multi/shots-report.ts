import type { CaptureData } from '../../contract/capture-data.js';
import { toJsonReport } from '../capture-report.js';
import { toErrorObject } from '../operator-error.js';
import type { Shot } from './read-shots.js';

/** The result of one shot. */
export type ShotResult =
  | { shot: Shot; status: 'captured'; data: Omit<CaptureData, 'artifact'> }
  | { shot: Shot; status: 'failed'; error: unknown }
  /** Its output existed already. */
  | { shot: Shot; status: 'skipped' }
  /** The run was ended before it. */
  | { shot: Shot; status: 'not_run' };

/** The JSON report of a run: counts, and the shots in the order of the file. */
export interface ShotsReport {
  /** Whether every shot is captured or skipped. */
  ok: boolean;
  total: number;
  captured: number;
  skipped: number;
  failed: number;
  not_run: number;
  /** Time in ms from the first capture to the last, without the start of the server and the browser. */
  duration_ms: number;
  shots: Record<string, unknown>[];
}

export function reportOf(results: readonly ShotResult[], durationMs: number): ShotsReport {
  const count = (status: ShotResult['status']) => results.filter((result) => result.status === status).length;
  const [captured, skipped] = [count('captured'), count('skipped')];
  return {
    ok: captured + skipped === results.length,
    total: results.length,
    ...{ captured, skipped, failed: count('failed'), not_run: count('not_run') },
    duration_ms: Math.round(durationMs),
    shots: results.map(toEntry),
  };
}

function toEntry(result: ShotResult): Record<string, unknown> {
  const { shot, status } = result;
  const entry = { status, line: shot.line, source: shot.name, output: shot.output };
  if (status === 'failed') return { ok: false, ...entry, error: toErrorObject(result.error) };
  if (status !== 'captured') return { ok: status === 'skipped', ...entry };
  const { ok, file: _output, ...facts } = toJsonReport({ file: shot.output, data: result.data });
  return { ok, ...entry, ...facts };
}

/** Summarises all shots in one line. */
export function describeReport({ captured, skipped, failed, not_run, duration_ms }: ShotsReport): string {
  const counts = [
    `${captured} captured`,
    ...(skipped > 0 ? [`${skipped} kept`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(not_run > 0 ? [`${not_run} not run`] : []),
  ];
  return `${counts.join(', ')}, ${(duration_ms / 1_000).toFixed(1)} s`;
}
