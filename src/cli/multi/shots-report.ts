import { toErrorObject } from '../operator-error.js';
import { hasPassed, type ShotComparison } from './compare-shots.js';
import type { Shot } from './read-shots.js';

/** The result of one shot. */
export type ShotResult =
  | {
      shot: Shot;
      status: 'captured';
      /** The result in a line of text, with further lines for remarks. */
      description: string;
      /** The result as JSON, as `stillframe capture --json` prints it. */
      facts: Record<string, unknown>;
    }
  | { shot: Shot; status: 'failed'; error: unknown }
  /** Its output existed already. */
  | { shot: Shot; status: 'skipped' }
  /** The run was ended before it. */
  | { shot: Shot; status: 'not_run' };

/** The JSON report of a run: counts, and the shots in the order of the file. */
export interface ShotsReport {
  /** Whether every shot is captured or skipped, and like its baseline if there is one, and the report of that is written. */
  ok: boolean;
  total: number;
  captured: number;
  skipped: number;
  failed: number;
  not_run: number;
  /** Number of pictures by the result of their comparison with the baseline; absent without one. */
  compared?: Record<Exclude<ShotComparison['status'], 'not_captured'>, number>;
  /** The reason why the report of the comparison could not be written. */
  error?: ReturnType<typeof toErrorObject>;
  /** Time in ms from the first capture to the last, without the start of the server and the browser. */
  duration_ms: number;
  shots: Record<string, unknown>[];
}

export function reportOf(
  results: readonly ShotResult[],
  durationMs: number,
  comparisons: readonly ShotComparison[] | null,
): ShotsReport {
  const count = (status: ShotResult['status']) => results.filter((result) => result.status === status).length;
  const [captured, skipped] = [count('captured'), count('skipped')];
  const of = (status: ShotComparison['status']) =>
    (comparisons ?? []).filter((comparison) => comparison.status === status).length;
  return {
    ok: captured + skipped === results.length && (comparisons ?? []).every(hasPassed),
    total: results.length,
    captured,
    skipped,
    failed: count('failed'),
    not_run: count('not_run'),
    ...(comparisons === null
      ? {}
      : {
          compared: {
            same: of('same'),
            changed: of('changed'),
            new: of('new'),
            updated: of('updated'),
            failed: of('failed'),
          },
        }),
    duration_ms: Math.round(durationMs),
    shots: results.map((result) => ({
      ...toEntry(result),
      ...toComparison(comparisons?.find(({ shot }) => shot === result.shot)),
    })),
  };
}

function toEntry(result: ShotResult): Record<string, unknown> {
  const { shot, status } = result;
  const entry = { status, line: shot.line, source: shot.name, output: shot.output };
  if (status === 'failed') return { ok: false, ...entry, error: toErrorObject(result.error) };
  if (status !== 'captured') return { ok: status === 'skipped', ...entry };
  const { file: _output, ...facts } = result.facts;
  return { ok: true, ...entry, ...facts };
}

function toComparison(comparison: ShotComparison | undefined): Record<string, unknown> {
  if (comparison === undefined || comparison.status === 'not_captured') return {};
  const { status, baseline } = comparison;
  const facts =
    status === 'same' || status === 'changed'
      ? comparison.comparison
      : status === 'failed'
        ? { message: comparison.message }
        : {};
  return { ...(hasPassed(comparison) ? {} : { ok: false }), comparison: { status, baseline, ...facts } };
}

/** Summarizes all shots in one line. */
export function describeReport({ captured, skipped, failed, not_run, compared, duration_ms }: ShotsReport): string {
  const checked = Object.entries(compared ?? {}).filter(([, count]) => count > 0);
  const counts = [
    `${captured} captured`,
    ...(skipped > 0 ? [`${skipped} kept`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(not_run > 0 ? [`${not_run} not run`] : []),
    ...checked.map(([status, count]) => `${count} ${status === 'failed' ? 'not compared' : status}`),
  ];
  return `${counts.join(', ')}, ${(duration_ms / 1_000).toFixed(1)} s`;
}
