import type { SpawnOptions } from 'node:child_process';

export function runWithProgress(
  command: string,
  args: string[],
  options: SpawnOptions & {
    /** What the command does. */
    what: string;
    /** Where the progress goes. Default: standard error. */
    out?: { write(text: string): unknown; isTTY?: boolean };
    /** How often it is shown, in ms. */
    everyMs?: number;
  },
): Promise<{ status: number | null; output: string }>;
