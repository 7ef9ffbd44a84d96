/** The part of benchmark "scale" with SQLite: one server through its front door, and the rate at which the writer of its database is the limit. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aCaller, aCapture, aDataDir, aNewJob, claimOf, openAt, RULES } from '../store/factories.js';
import { startServerProcess } from '../trials/server-process.js';
import type { Figure } from './figure.js';
import { type Submit, submitTogether, submitter } from './scale-load.js';

/** Callers of the store that work at the same time. */
const CALLERS = 64;

export async function benchSqlite(main: string, env: Record<string, string>, seconds: number): Promise<Figure[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-bench-'));
  const server = startServerProcess({ dataDir, main, env });
  try {
    const { url, firstKey } = await server.ready;
    const submit = submitter({ urls: [url], keys: [firstKey ?? ''], webhook: null, hasKeys: false });
    await submitTogether(submit, 1);
    let finished = 0;
    const counted: Submit = (sync) => submit(sync).then(() => void finished++);
    const from = performance.now();
    await submitTogether(counted, seconds);
    const perSecond = (finished * 1_000) / (performance.now() - from);
    return [
      ['SQLite, one server, accepted and finished', `${perSecond.toFixed(0)} /s`],
      ['SQLite, the store alone, accepted, claimed and finished', `${(await storeAlone(seconds)).toFixed(0)} /s`],
    ];
  } finally {
    await server[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** All steps of a capture in the database, one capture after another for each caller. @returns captures per second */
async function storeAlone(seconds: number): Promise<number> {
  const dataDir = aDataDir();
  const store = await openAt(dataDir);
  try {
    const caller = await aCaller(store);
    const until = performance.now() + seconds * 1_000;
    let finished = 0;
    const work = async (nth: number) => {
      while (performance.now() < until) {
        const now = store.now();
        await store.accept(aNewJob(caller, { enqueuedAt: now }), RULES);
        const [job] = await store.claimNextJobs([{ workerId: `bench-${nth}`, now, leaseMs: 30_000 }]);
        if (job === undefined) continue;
        const capture = aCapture();
        await store.announceArtifact(claimOf(job), capture.artifact.name);
        finished += (await store.complete(claimOf(job), capture, store.now())).length;
      }
    };
    const from = performance.now();
    await Promise.all(Array.from({ length: CALLERS }, (_, nth) => work(nth)));
    return (finished * 1_000) / (performance.now() - from);
  } finally {
    await store[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
