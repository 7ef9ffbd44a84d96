import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { startSite } from '../fixtures/site/site.js';
import type { Door } from './call-api.js';

const ROOT = resolve(import.meta.dirname, '../..');
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
    rmSync(unfinished, { recursive: true });
  }
  return copy;
}

export interface ServerStart {
  dataDir: string;
  port?: number;
  env?: Record<string, string>;
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

export type ServerProcess = ReturnType<typeof startServerProcess>;

/** A data directory of its own, removed when disposed of. */
export function aTrialDir(): { dataDir: string } & Disposable {
  const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-trial-'));
  return { dataDir, [Symbol.dispose]: () => rmSync(dataDir, { recursive: true, force: true }) };
}

/** Starts `stillframe serve`: two captures at once in one browser, no rate limits, 127.0.0.2 allowed. */
export function startServerProcess(start: ServerStart) {
  const startedAt = performance.now();
  const preload = start.preload === undefined ? [] : ['--import', start.preload];
  const words = [...preload, start.main ?? mainFile(), 'serve', '--port', String(start.port ?? 0)];
  const env = { ...process.env, ...settings(start), ...start.env };
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'], env });
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
    /** Resolves at the ready line; rejects when the process ends before it. */
    ready,
    exited,
    /** Its output on stderr so far. */
    said: said as readonly string[],
    tells: (text: string, from = 0) => said.slice(from).some((line) => line.includes(text)),
    kill,
    end,
    /** Where it is when it is ready, with the first key of a new directory. */
    door: (): Promise<Door> => ready.then(({ url, firstKey }) => ({ url, key: firstKey ?? '' })),
    /** Bytes, of the server process alone. */
    memoryBytes: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) * 1024,
    [Symbol.asyncDispose]: async () => void (await end('SIGTERM')),
  };
}

/** A server with a directory of its own, and the fixture site, which its captures may reach. */
export async function startWithSite(env: Record<string, string> = {}, start: Partial<ServerStart> = {}) {
  const [site, dir] = [await startSite({ host: '127.0.0.2' }), aTrialDir()];
  const server = startServerProcess({ ...dir, ...start, env });
  return {
    site,
    server,
    dataDir: dir.dataDir,
    at: await server.door(),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await site[Symbol.asyncDispose]();
      dir[Symbol.dispose]();
    },
  };
}

/** Runs another command of the program to its end. */
export async function runCommand(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Exit & { out: string; err: string }> {
  const child = spawn(process.execPath, [mainFile(), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const exited = new Promise<Exit>((done) => child.once('close', (code, signal) => done({ code, signal })));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { ...(await exited), out, err };
}

/** A key of another account, made beside the running server. */
export async function anotherKey(dataDir: string, account: string): Promise<string> {
  const made = await runCommand(['accounts', 'create', account, '--data-dir', dataDir]);
  const { out, err } = await runCommand([
    'keys',
    'create',
    '--label',
    account,
    '--account',
    account,
    '--json',
    '--data-dir',
    dataDir,
  ]);
  if (made.code !== 0 || out === '') throw new Error(`no other account: ${made.err} ${err}`);
  return String(JSON.parse(out).secret);
}

function settings({ dataDir, isSmall = true }: ServerStart): Record<string, string> {
  return {
    STILLFRAME_DATA_DIR: dataDir,
    STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2',
    ...(isSmall ? { STILLFRAME_CONCURRENCY: '2' } : {}),
    STILLFRAME_SUBMIT_RATE: '0',
    STILLFRAME_READ_RATE: '0',
    STILLFRAME_LISTS: 'false',
    STILLFRAME_BROWSER_INSTALL: 'false',
    STILLFRAME_LOG: 'info',
    STILLFRAME_LOG_FORMAT: 'json',
  };
}

function untilReady(child: ChildProcess, said: string[], startedAt: number) {
  return new Promise<{ url: string; firstKey: string | null; ms: number }>((done, fail) => {
    if (child.stdout === null || child.stderr === null) throw new Error('the server has no output');
    let results = '';
    child.stdout.setEncoding('utf8').on('data', (part) => {
      results += part;
    });
    const tell = (url: string) =>
      done({ url, firstKey: /sf_live_[0-9A-Za-z]{38}/.exec(results)?.[0] ?? null, ms: performance.now() - startedAt });
    const lines = createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      // The first key, if there is one, was written before this line, to a pipe of its own: it is read by the next turn of the loop.
      if (line.includes('"msg":"ready"'))
        setImmediate(() => setImmediate(() => tell((JSON.parse(line) as { url: string }).url)));
    });
    lines.once('close', () => fail(new Error(`the server ended before it was ready: ${said.slice(-3).join(' ')}`)));
  });
}
