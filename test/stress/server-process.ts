import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Door } from './call-api.js';

const ROOT = resolve(import.meta.dirname, '../..');
/** The files of the built program. */
const PROGRAM = ['dist', 'drizzle', 'drizzle-pg', 'package.json'];
/** Inside node_modules, so that it finds the packages. */
const COPIES = join(ROOT, 'node_modules/.cache/stillframe');
let program: string | null = null;

/**
 * A copy of the built program, one for each build, so that a build under way does not change it in the middle of a trial. It stays: the
 * runner may end a process of the tests at once, and others use the same copy.
 */
export function mainFile(): string {
  program ??= join(copyOf(statSync(join(ROOT, 'dist/main.js')).mtimeMs), 'dist/main.js');
  return program;
}

function copyOf(builtAt: number): string {
  const copy = join(COPIES, `program-${Math.floor(builtAt)}`);
  if (existsSync(copy)) return copy;
  const unfinished = `${copy}.${process.pid}`;
  for (const part of PROGRAM) cpSync(join(ROOT, part), join(unfinished, part), { recursive: true });
  try {
    renameSync(unfinished, copy);
  } catch {
    // Another process was faster.
    rmSync(unfinished, { recursive: true });
  }
  return copy;
}

export interface ServerStart {
  dataDir: string;
  /** 0 picks a free one. */
  port?: number;
  env?: Record<string, string>;
  /** A module that is loaded before the program. */
  preload?: string;
  /** The path of another program than the built one. */
  main?: string;
  /** False: as many captures at once as it chooses for this machine. */
  isSmall?: boolean;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The built server, in a process of its own that may be killed at any time. */
export interface ServerProcess extends AsyncDisposable {
  readonly pid: number;
  /** Resolves at the ready line; rejects when the process ends before it. */
  readonly ready: Promise<{ url: string; firstKey: string | null; ms: number }>;
  readonly exited: Promise<Exit>;
  /** Its output on stderr so far. */
  readonly said: readonly string[];
  kill(signal: NodeJS.Signals): void;
  /** The same, and waits for its end. */
  end(signal: NodeJS.Signals): Promise<Exit>;
  /** Where it is when it is ready, with the first key of a new directory. */
  door(): Promise<Door>;
  /** Bytes, of the server process alone. */
  memoryBytes(): number;
}

/** A data directory of its own, removed when disposed of. */
export function aTrialDir(): { dataDir: string } & Disposable {
  const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-trial-'));
  return { dataDir, [Symbol.dispose]: () => rmSync(dataDir, { recursive: true, force: true }) };
}

/** Starts `stillframe serve`: two captures at once in one browser, no rate limits, 127.0.0.2 allowed. */
export function startServerProcess(start: ServerStart): ServerProcess {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...preloading(start), start.main ?? mainFile(), 'serve', '--port', String(start.port ?? 0)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...settings(start), ...start.env },
  });
  const said: string[] = [];
  const exited = new Promise<Exit>((done) => child.once('exit', (code, signal) => done({ code, signal })));
  const ready = untilReady(child, said, startedAt);
  // A caller that kills it before it is ready can ignore this.
  ready.catch(() => undefined);
  const kill = (signal: NodeJS.Signals) => void child.kill(signal);
  const end = (signal: NodeJS.Signals) => {
    kill(signal);
    return exited;
  };
  return {
    pid: child.pid ?? 0,
    ...{ ready, exited, said, kill, end },
    door: () => ready.then(({ url, firstKey }) => ({ url, key: firstKey ?? '' })),
    memoryBytes: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) * 1024,
    async [Symbol.asyncDispose]() {
      await end('SIGTERM');
    },
  };
}

/** Runs another command of the program to its end. */
export async function runCommand(args: readonly string[], env: Record<string, string> = {}): Promise<Exit & { out: string; err: string }> {
  const child = spawn(process.execPath, [mainFile(), ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  const [out, err] = [collect(child.stdout), collect(child.stderr)];
  const exit = await new Promise<Exit>((done) => child.once('close', (code, signal) => done({ code, signal })));
  return { ...exit, out: out(), err: err() };
}

/** A key of another account, made beside the running server. */
export async function anotherKey(dataDir: string, account: string): Promise<string> {
  const made = await runCommand(['accounts', 'create', account, '--data-dir', dataDir]);
  const { out, err } = await runCommand(['keys', 'create', '--label', account, '--account', account, '--json', '--data-dir', dataDir]);
  if (made.code !== 0 || out === '') throw new Error(`no other account: ${made.err} ${err}`);
  return String(JSON.parse(out).secret);
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  return () => text;
}

function preloading({ preload }: ServerStart): string[] {
  return preload === undefined ? [] : ['--import', preload];
}

function settings({ dataDir, isSmall = true }: ServerStart): Record<string, string> {
  return {
    STILLFRAME_DATA_DIR: dataDir,
    STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2',
    ...(isSmall ? { STILLFRAME_CONCURRENCY: '2', STILLFRAME_BROWSERS: '1' } : {}),
    STILLFRAME_SUBMIT_RATE: '0',
    STILLFRAME_READ_RATE: '0',
    STILLFRAME_LISTS: 'false',
    STILLFRAME_BROWSER_INSTALL: 'false',
    STILLFRAME_LOG: 'info',
    STILLFRAME_LOG_FORMAT: 'json',
  };
}

function untilReady(child: ChildProcess, said: string[], startedAt: number): ServerProcess['ready'] {
  return new Promise((done, fail) => {
    if (child.stdout === null || child.stderr === null) throw new Error('the server has no output');
    let url: string | null = null;
    const results = collect(child.stdout);
    const isDone = () => {
      const firstKey = /sf_live_[0-9A-Za-z]{38}/.exec(results())?.[0] ?? null;
      if (url !== null) done({ url, firstKey, ms: performance.now() - startedAt });
    };
    const lines = createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      if (line.includes('"msg":"ready"')) {
        url = (JSON.parse(line) as { url: string }).url;
        // The first key, if there is one, was written before this line, to a pipe of its own: it is read by the next turn of the loop.
        setImmediate(() => setImmediate(isDone));
      }
    });
    lines.once('close', () => fail(new Error(`the server ended before it was ready: ${said.slice(-3).join(' ')}`)));
  });
}
