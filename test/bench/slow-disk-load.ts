/**
 * The process that the benchmark "slow-disk" measures: a store under load, without server or browser. Arguments: folder of the migrations,
 * URL of the built checkpoint-thread.js. Prints a DiskLoad as JSON.
 */
import { rmSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { silentLog } from '../../src/log.js';
import { openStore } from '../../src/store/sqlite/open-store.js';
import type { Store } from '../../src/store/store.js';
import { aCaller, aCapture, aDataDir, aNewJob, type Caller, claimOf, claimOne } from '../store/factories.js';
import { quantile } from './figure.js';

/** Milliseconds, and jobs accepted a second. */
export interface DiskLoad {
  delayP99: number;
  answerP50: number;
  rate32: number;
  rate256: number;
}

const PER_SECOND = 100;
const STEADY_MS = 8_000;
const FLOOD_MS = 3_000;
const RULES = { maxQueue: 10_000_000, webhookMaxAttempts: 5 };

async function steady(store: Store, caller: Caller): Promise<Pick<DiskLoad, 'delayP99' | 'answerP50'>> {
  const answers: number[] = [];
  const submit = async (nth: number): Promise<void> => {
    const from = performance.now();
    await store.accept(aNewJob(caller, { enqueuedAt: Date.now(), cacheIdentity: `steady ${nth}` }), RULES);
    answers.push(performance.now() - from);
    const job = await claimOne(store, { workerId: 'w', now: Date.now(), leaseMs: 30_000 });
    if (job !== null && nth % 10 === 0) await store.complete(claimOf(job), aCapture(), Date.now());
  };
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const began = performance.now();
  const under: Promise<void>[] = [];
  await new Promise<void>((done) => {
    const timer = setInterval(() => {
      const elapsed = performance.now() - began;
      while (under.length < (elapsed / 1_000) * PER_SECOND) under.push(submit(under.length));
      if (elapsed < STEADY_MS) return;
      clearInterval(timer);
      done();
    }, 1);
  });
  await Promise.all(under);
  delay.disable();
  return { delayP99: delay.percentile(99) / 1e6, answerP50: quantile(answers, 0.5) };
}

async function flood(store: Store, caller: Caller, width: number): Promise<number> {
  const until = performance.now() + FLOOD_MS;
  let accepted = 0;
  const one = async (): Promise<void> => {
    while (performance.now() < until) {
      await store.accept(aNewJob(caller, { enqueuedAt: Date.now(), cacheIdentity: `${width} ${accepted}` }), RULES);
      accepted++;
    }
  };
  await Promise.all(Array.from({ length: width }, one));
  return (accepted / FLOOD_MS) * 1_000;
}

const [migrationsDir = '', checkpointThread = ''] = process.argv.slice(2);
const dataDir = aDataDir();
const files = { migrationsDir, checkpointThread: new URL(checkpointThread) };
const store = await openStore({ dataDir, ...files, migrates: 'at start', log: silentLog() });
const caller = await aCaller(store);
const measured = { ...(await steady(store, caller)), rate32: await flood(store, caller, 32), rate256: await flood(store, caller, 256) };
await store[Symbol.asyncDispose]();
rmSync(dataDir, { recursive: true, force: true });
process.stdout.write(JSON.stringify(measured satisfies DiskLoad));
