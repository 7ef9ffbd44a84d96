/** The part of benchmark "scale" with SQLite: one server through its front door, and its store alone, whose writer is the limit. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aCaller, openAt } from '../store/factories.js';
import { startServerProcess } from '../trials/server-process.js';
import type { Figure } from './figure.js';
import { quantile } from './figure.js';
import { submitTogether, submitter } from './scale-load.js';
import { runStores } from './scale-store.js';

export async function benchSqlite(main: string, env: Record<string, string>, seconds: number): Promise<Figure[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-bench-'));
  const server = startServerProcess({ dataDir, main, env });
  try {
    const { url, firstKey } = await server.ready;
    const submit = submitter({ urls: [url], keys: [firstKey ?? ''], webhook: null, hasKeys: false });
    await submitTogether(submit, 1);
    const took: number[] = [];
    const from = performance.now();
    await submitTogether(async (sync) => {
      const sentAt = performance.now();
      await submit(sync);
      took.push(performance.now() - sentAt);
    }, seconds);
    const perSecond = (took.length * 1_000) / (performance.now() - from);
    return [
      [
        'SQLite, one server, accepted and finished',
        `${perSecond.toFixed(0)} /s, p50 ${quantile(took, 0.5).toFixed(0)} p99 ${quantile(took, 0.99).toFixed(0)} ms`,
      ],
      ['SQLite, the store alone, accepted, claimed and finished', await storeAlone(seconds)],
    ];
  } finally {
    await server[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function storeAlone(seconds: number): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-bench-'));
  const store = await openAt(dataDir);
  try {
    const load = { callers: 64, seconds };
    const accounts = [await aCaller(store)];
    const from = [performance.now(), process.cpuUsage()] as const;
    const waits = await runStores([store], accounts, load);
    const [elapsedMs, used] = [performance.now() - from[0], process.cpuUsage(from[1])];
    const processorMs = (used.user + used.system) / 1_000 / waits.length;
    return `${((waits.length * 1_000) / elapsedMs).toFixed(0)} /s, ${processorMs.toFixed(2)} ms of processor time, claim p50 ${quantile(waits, 0.5)} p99 ${quantile(waits, 0.99)} ms`;
  } finally {
    await store[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
