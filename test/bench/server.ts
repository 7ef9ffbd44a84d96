import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { postCapture } from '../stress/call-api.js';
import { startServerProcess } from '../stress/server-process.js';

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
  const server = startServerProcess({ dataDir, env: { ...MEMORY_SETTINGS, ...env }, isSmall: false });
  const { url, firstKey, ms: readyMs } = await server.ready;
  const key = firstKey ?? '';
  const stop = async () => await server[Symbol.asyncDispose]();
  return {
    ...{ url, key, pid: server.pid, readyMs, dataDir, stop, memoryBytes: server.memoryBytes },
    post: async (body, query = '') => {
      const { status, ms, body: answer } = await postCapture({ url, key }, body, { query });
      return { status, ms, data: answer?.data ?? answer?.error ?? {} };
    },
    loggedBytes: () => server.said.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0),
    async [Symbol.asyncDispose]() {
      await stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
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
