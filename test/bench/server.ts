import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { postCapture } from '../trials/call-api.js';
import { startServerProcess } from '../trials/server-process.js';

export const MAIN = resolve(import.meta.dirname, '../../dist/main.js');

/** Those of `npm start`. */
export const MEMORY_SETTINGS = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  NODE_OPTIONS: '--max-semi-space-size=8',
};

export type BenchServer = Awaited<ReturnType<typeof startServer>>;

/** The built server as users run it, in a process of its own. `stop` ends it and keeps its data directory. */
export async function startServer(
  env: Record<string, string> = {},
  dataDir = mkdtempSync(join(tmpdir(), 'stillframe-bench-')),
) {
  const server = startServerProcess({ dataDir, env: { ...MEMORY_SETTINGS, ...env }, isSmall: false });
  const { url, firstKey, ms: readyMs } = await server.ready;
  const key = firstKey ?? '';
  const stop = async () => await server[Symbol.asyncDispose]();
  return {
    url,
    key,
    pid: server.pid,
    readyMs,
    dataDir,
    stop,
    memoryBytes: server.memoryBytes,
    async post(body: Record<string, unknown>, query = '') {
      const { status, ms, body: answer } = await postCapture({ url, key }, body, { query });
      return { status, ms, data: (answer?.data ?? answer?.error ?? {}) as Record<string, unknown> };
    },
    /** Bytes of the log so far. */
    loggedBytes: () => server.said.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0),
    async [Symbol.asyncDispose]() {
      await stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A capture that must succeed. @returns ms */
export async function captured(server: BenchServer, body: Record<string, unknown>): Promise<number> {
  const { status, ms, data } = await server.post({ cache_ttl: 0, ...body });
  if (status !== 200) throw new Error(`${JSON.stringify(body).slice(0, 200)}: ${status} ${JSON.stringify(data)}`);
  return ms;
}
