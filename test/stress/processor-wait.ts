import { closeSync, openSync, readSync } from 'node:fs';

export interface ProcessorWait extends Disposable {
  ms(): number;
}

/**
 * Opens a clock of how long, in milliseconds, the main thread has been ready to run while others had the processors. What a step takes
 * less this wait is its own time: computing, reading from the disk, waiting for locks. Stands still where the system does not tell (only
 * Linux does).
 */
export function openProcessorWait(): ProcessorWait {
  const file = openSchedstat();
  if (file === null) return { ms: () => 0, [Symbol.dispose]: () => undefined };
  const buffer = Buffer.alloc(64);
  return {
    ms: () => {
      const bytes = readSync(file, buffer, 0, buffer.length, 0);
      // Nanoseconds on a processor, nanoseconds of waiting for one, turns (the kernel's Documentation/scheduler/sched-stats.rst).
      return Number(buffer.toString('latin1', 0, bytes).split(' ')[1]) / 1e6;
    },
    [Symbol.dispose]: () => closeSync(file),
  };
}

function openSchedstat(): number | null {
  try {
    return openSync('/proc/self/schedstat', 'r');
  } catch {
    return null;
  }
}
