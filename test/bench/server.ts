import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

export const MAIN = resolve(import.meta.dirname, '../../dist/main.js');

/** Those of `npm start`. */
export const MEMORY_SETTINGS = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '1048576',
  NODE_OPTIONS: '--max-semi-space-size=8',
};

/** The built server as users run it, in a process of its own. */
export interface BenchServer extends AsyncDisposable {
  url: string;
  key: string;
  pid: number;
  /** ms from start to the ready line. */
  readyMs: number;
  post(body: Record<string, unknown>, query?: string): Promise<{ status: number; ms: number; data: Record<string, unknown> }>;
  /** Bytes of the server process alone. */
  memoryBytes(): number;
  /** Bytes of the log so far. */
  loggedBytes(): number;
  /** Ends it and keeps its data directory. */
  stop(): Promise<void>;
  dataDir: string;
}

export async function startServer(
  env: Record<string, string> = {},
  dataDir = mkdtempSync(join(tmpdir(), 'stillframe-bench-')),
): Promise<BenchServer> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0', '--data-dir', dataDir, '--log-format', 'json', '--log', 'info'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...MEMORY_SETTINGS,
      STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2',
      STILLFRAME_SUBMIT_RATE: '0',
      STILLFRAME_READ_RATE: '0',
      STILLFRAME_LISTS: 'false',
      ...env,
    },
  });
  let logged = 0;
  child.stderr?.on('data', (part: Buffer) => {
    logged += part.length;
  });
  const { url, key } = await untilReady(child);
  const readyMs = performance.now() - startedAt;
  const stop = () => end(child);
  return {
    url,
    key,
    pid: child.pid ?? 0,
    readyMs,
    dataDir,
    stop,
    post: async (body, query = '') => {
      const from = performance.now();
      const response = await fetch(`${url}/v1/screenshot${query}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const answer = (await response.json()) as { data?: Record<string, unknown>; error?: Record<string, unknown> };
      return { status: response.status, ms: performance.now() - from, data: answer.data ?? answer.error ?? {} };
    },
    loggedBytes: () => logged,
    memoryBytes: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) * 1024,
    async [Symbol.asyncDispose]() {
      await stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

function untilReady(child: ChildProcess): Promise<{ url: string; key: string }> {
  return new Promise((done, fail) => {
    let url = '';
    let key = '';
    const said: string[] = [];
    child.once('exit', (code) => fail(new Error(`the server ended (${code}): ${said.slice(-5).join('\n')}`)));
    if (child.stdout === null || child.stderr === null) throw new Error('the server has no output');
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      key = /sf_live_[0-9A-Za-z]{38}/.exec(text)?.[0] ?? key;
    });
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      if (said.length > 50) said.shift();
      if (line.includes('"msg":"ready"')) {
        url = (JSON.parse(line) as { url: string }).url;
        // The first key was written before this line, to a pipe of its own: it is read by the next turn of the loop.
        setImmediate(() => setImmediate(() => done({ url, key })));
      }
    });
  });
}

function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}

/** Runs `work` again and again, `width` at once, until the time is over. @returns each run's ms */
export async function flood(
  width: number,
  ms: number,
  work: (nth: number) => Promise<unknown>,
): Promise<{ times: number[]; perSecond: number }> {
  const times: number[] = [];
  const from = performance.now();
  let nth = 0;
  const lane = async () => {
    while (performance.now() - from < ms) {
      const start = performance.now();
      await work(nth++);
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return { times, perSecond: (times.length * 1000) / (performance.now() - from) };
}
