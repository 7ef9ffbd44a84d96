import { spawn } from 'node:child_process';
import { killProcess } from '../launch/process-table.js';

export interface CommandLimits {
  cwd: string;
  /** The total time limit, in ms. */
  timeoutMs: number;
  /** The time limit without output, in ms. */
  silenceMs: number;
  /** Kills the command when it aborts. */
  signal?: AbortSignal | undefined;
}

const OUTPUT_KEPT_CHARS = 8_192;

/**
 * Runs a program to its end, in a process group that is killed if it takes too long or prints nothing for too long.
 * @throws Error with the output line that is most likely the reason
 */
export async function runCommand(command: string, args: readonly string[], limits: CommandLimits): Promise<void> {
  const { cwd, timeoutMs, silenceMs, signal } = limits;
  signal?.throwIfAborted();
  const child = spawn(command, args, { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let stopped = '';
  const stop = (why: string): void => {
    stopped = why;
    if (child.pid !== undefined) killProcess(-child.pid);
  };
  const onAbort = (): void => stop('it was stopped');
  signal?.addEventListener('abort', onAbort, { once: true });
  const total = setTimeout(() => stop(`not done after ${timeoutMs / 1_000} s`), timeoutMs);
  const silence = setTimeout(() => stop(`no output for ${silenceMs / 1_000} s`), silenceMs);
  const onOutput = (chunk: Buffer): void => {
    silence.refresh();
    output = (output + chunk.toString('utf8')).slice(-OUTPUT_KEPT_CHARS);
  };
  child.stdout.on('data', onOutput);
  child.stderr.on('data', onOutput);
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('error', (error) =>
        reject(new Error((error as NodeJS.ErrnoException).code === 'ENOENT' ? `${command} is not installed` : error.message)),
      );
      child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(stopped === '' ? reasonIn(output, code) : stopped))));
    });
  } finally {
    clearTimeout(total);
    clearTimeout(silence);
    signal?.removeEventListener('abort', onAbort);
  }
}

function reasonIn(output: string, code: number | null): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return (
    lines.find((line) => /ENOTFOUND|ECONN|ETIMEDOUT|EAI_AGAIN|EINTEGRITY|E4\d\d|^E: /.test(line)) ?? lines.at(-1) ?? `ended with ${code}`
  );
}
