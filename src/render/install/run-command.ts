import { spawn } from 'node:child_process';
import { addAbortListener } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { killProcess } from '../launch/process-table.js';

interface CommandLimits {
  cwd: string;
  /** The total time limit, in ms. */
  timeoutMs: number;
  /** The time limit without output, in ms. */
  silenceMs: number;
  /** Kills the command when it aborts. */
  signal?: AbortSignal;
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
  const stop = (reason: string) => {
    stopped = reason;
    if (child.pid !== undefined) killProcess(-child.pid);
  };
  using _abort = signal && addAbortListener(signal, () => stop('it was stopped'));
  const total = setTimeout(() => stop(`not done after ${timeoutMs / 1_000} s`), timeoutMs);
  const silence = setTimeout(() => stop(`no output for ${silenceMs / 1_000} s`), silenceMs);
  const onOutput = (chunk: Buffer) => {
    silence.refresh();
    output = (output + chunk.toString('utf8')).slice(-OUTPUT_KEPT_CHARS);
  };
  child.stdout.on('data', onOutput);
  child.stderr.on('data', onOutput);
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('error', (error) =>
        reject(
          new Error((error as NodeJS.ErrnoException).code === 'ENOENT' ? `${command} is not installed` : error.message),
        ),
      );
      child.once('close', (code) =>
        code === 0 ? resolve() : reject(new Error(stopped === '' ? reasonIn(output, code) : stopped)),
      );
    });
  } finally {
    clearTimeout(total);
    clearTimeout(silence);
  }
}

function reasonIn(output: string, code: number | null): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return (
    lines.find((line) => /ENOTFOUND|ECONN|ETIMEDOUT|EAI_AGAIN|EINTEGRITY|E4\d\d|^E: /.test(line)) ??
    lines.at(-1) ??
    `ended with ${code}`
  );
}

/** A package-lock.json, with the sha512 of every package. */
interface PackageLock {
  packages: { '': { dependencies: Record<string, string> }; [path: string]: object };
}

/**
 * Installs exactly the npm packages of a lock file into a directory, from the configured registry. npm verifies each
 * package's sha512 before unpacking, and runs no install scripts.
 * @throws Error with one line that names a package that differs from the lock file, or with npm's own reason
 */
export async function installLocked(lock: PackageLock, dir: string, limits: Omit<CommandLimits, 'cwd'>): Promise<void> {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ private: true, ...lock.packages[''] }));
  writeFileSync(join(dir, 'package-lock.json'), JSON.stringify(lock));
  try {
    await runCommand('npm', ['ci', ...QUIET], { ...limits, cwd: dir });
  } catch (error) {
    if (/EINTEGRITY/.test((error as Error).message)) throw new Error(REFUSED);
    throw error;
  }
}

/**
 * Installs the newest version of an npm package, or the one that its name has, into a directory, and runs no install scripts.
 * @throws Error with npm's reason
 */
export async function installPackage(name: string, dir: string, limits: Omit<CommandLimits, 'cwd'>): Promise<void> {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'package.json'), '{"private":true}');
  await runCommand('npm', ['install', ...QUIET, '--omit=dev', '--omit=peer', '--', name], { ...limits, cwd: dir });
}

const QUIET = ['--no-audit', '--no-fund', '--ignore-scripts', '--fetch-timeout=30000', '--fetch-retries=1'];
const REFUSED = 'the registry sent a package whose sha512 differs from the pinned one; it was not used';

/** The program of a package manager, and a command that uses it, with `sudo` before each part that needs root. */
export type ManagerCommand = readonly [manager: string, command: string];

/** The command for this system's package manager, without `sudo` for root; null if it has none of them. */
export function systemCommand(
  commands: readonly ManagerCommand[],
  exists: (path: string) => boolean = existsSync,
  isRoot = process.getuid?.() === 0,
): string | null {
  const command = commands.find(([manager]) => exists(manager))?.[1];
  return command === undefined ? null : isRoot ? command.replaceAll('sudo ', '') : command;
}
