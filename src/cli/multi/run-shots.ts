import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from '../../library/engine.js';
import { captureTarget, type LocalNetwork, localPageOf } from '../capture-target-page.js';
import { describeMissing } from '../describe-missing.js';
import { describeError, printable, toErrorObject } from '../operator-error.js';
import { writePicture } from '../picture-file.js';
import type { Shot } from './read-shots.js';
import type { ShotResult } from './shots-report.js';

/** Delay before the first repetition, by which it grows for each further one. */
const RETRY_AFTER_MS = 1_000;

export interface RunParts {
  engine: Engine;
  /** Number of concurrent captures. */
  concurrency: number;
  /** Zone of the local pages' servers. */
  zone: string;
  network: LocalNetwork;
  /** Ends running captures, and starts no more. */
  signal: AbortSignal;
  /** Called with each result as it arrives. */
  onResult(result: ShotResult): void;
  say(line: string): void;
}

/** Captures shots in the order of the file, some concurrently, and writes each picture as it arrives. Never rejects because one fails. */
export async function runShots(shots: readonly Shot[], parts: RunParts): Promise<Map<Shot, ShotResult>> {
  const results = new Map<Shot, ShotResult>();
  const waiting = shots.values();
  const lane = async (): Promise<void> => {
    for (const shot of waiting) {
      if (parts.signal.aborted) return;
      const result = await runRepeatedly(shot, parts);
      if (result === null) return;
      results.set(shot, result);
      parts.onResult(result);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parts.concurrency, shots.length) }, lane));
  return results;
}

async function runRepeatedly(shot: Shot, parts: RunParts): Promise<ShotResult | null> {
  for (let left = shot.retries; ; left--) {
    const result = await runShot(shot, parts);
    const isRetriable = result?.status === 'failed' && toErrorObject(result.error).retriable;
    if (!isRetriable || left === 0) return result;
    parts.say(printable(`${shot.name}: ${describeError(result.error)} Trying again.`));
    await pause(RETRY_AFTER_MS * (shot.retries - left + 1), undefined, { signal: parts.signal }).catch(() => undefined);
  }
}

/**
 * Captures a shot.
 * @returns null if the run was ended
 */
async function runShot(shot: Shot, { engine, zone, network, signal, say }: RunParts): Promise<ShotResult | null> {
  const { target, name, options, path } = shot;
  const page = await localPageOf(target, () => Promise.reject(new TypeError('a shot has no standard input')));
  const onMissing = (paths: ReadonlySet<string>) => say(`${name}: ${describeMissing(target, paths)}`);
  const onRefused = (line: string) => say(printable(`${name}: ${line}`));
  const began = performance.now();
  try {
    const { content, data } = await captureTarget(engine, { page, name, options, zone, network, onMissing, onRefused }, { signal });
    await mkdir(dirname(path), { recursive: true });
    await writePicture(path, content, true);
    return { shot, status: 'captured', data: { ...data, durationMs: Math.round(performance.now() - began) } };
  } catch (error) {
    return signal.aborted ? null : { shot, status: 'failed', error };
  }
}
