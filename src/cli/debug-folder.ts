import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DebugSink } from '../render/debug-sink.js';
import { UsageError } from './operator-error.js';

const TIMELINE = 'timeline.jsonl';

/** Writes the timeline of a capture, a line of JSON for each step, and its bands into a directory. @throws UsageError if it is not writable */
export function debugFolder(dir: string): DebugSink {
  const began = performance.now();
  let pictures = 0;
  try {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, TIMELINE), '');
  } catch (error) {
    throw new UsageError(`The directory of --debug cannot be written to: ${(error as Error).message}`);
  }
  const note: DebugSink['note'] = (entry) => {
    appendFileSync(join(dir, TIMELINE), `${JSON.stringify({ ms: Math.round(performance.now() - began), ...entry })}\n`);
  };
  return {
    note,
    picture: (png) => {
      const file = `band-${++pictures}.png`;
      writeFileSync(join(dir, file), png);
      note({ step: 'band', file });
    },
  };
}
