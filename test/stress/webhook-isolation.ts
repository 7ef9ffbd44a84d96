/**
 * Trial "webhook-isolation": receivers that hang on 200 jobs must not hold up the deliveries to others: those arrive within a second
 * of their job's end. Once with one bad receiver, once with eight; real store, real loop, real sockets.
 *
 * Sabotage that turns it red: set DELIVERIES_PER_RECEIVER of webhook/deliver to DELIVERIES_AT_ONCE.
 */
import { rm } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DELIVERIES_AT_ONCE } from '../../src/webhook/deliver.js';
import { quantile } from '../bench/figure.js';
import { startReceiver } from '../fixtures/webhook-receiver.js';
import { aCaller, aDataDir } from '../store/factories.js';
import { finishJob, openStoreAt } from '../webhook/finish-jobs.js';
import { startDeliveries } from './deliveries.js';
import { allOf, firstOf, type TrialResult } from './trial-result.js';

/** Deliveries that hang, in all; those to a good receiver, one after the other; and how late one of these may be. */
const AS_PROMISED = { hanging: 200, good: 100, limitMs: 1_000 };
const ATTEMPT_MS = 10_000;
const PER_RECEIVER = 4;

export async function run(given: Partial<typeof AS_PROMISED> = {}): Promise<TrialResult> {
  const options = { ...AS_PROMISED, ...given };
  const one = await meetBadReceivers(1, options);
  const eight = await meetBadReceivers(8, options);
  return { figures: { ...one.figures, ...eight.figures }, problems: [...one.problems, ...eight.problems] };
}

async function meetBadReceivers(count: number, options: typeof AS_PROMISED): Promise<TrialResult> {
  const dataDir = aDataDir();
  await using _directory = { [Symbol.asyncDispose]: () => rm(dataDir, { recursive: true }) };
  await using store = await openStoreAt(dataDir);
  await using good = await startReceiver();
  await using bad = allOf(await Promise.all(firstOf(count).map(() => startReceiver({ script: ['hang'] }))));
  const caller = await aCaller(store);
  for (let i = 0; i < options.hanging; i++) await finishJob(store, caller, bad.all[i % count]?.url() ?? '');
  const origins = [good, ...bad.all].map(({ origin }) => origin);
  await using deliveries = await startDeliveries(store, {
    ...{ origins, timeoutMs: ATTEMPT_MS, backoffMs: 5_000, concurrency: DELIVERIES_AT_ONCE },
  });
  await Promise.all(bad.all.map((receiver) => receiver.received(PER_RECEIVER)));
  const lag = monitorEventLoopDelay({ resolution: 5 });
  lag.enable();
  const delays: number[] = [];
  for (let i = 0; i < options.good; i++) {
    await finishJob(store, caller, good.url());
    const ended = performance.now();
    deliveries.wake();
    await good.received(i + 1);
    delays.push(performance.now() - ended);
  }
  lag.disable();
  const worst = Math.round(Math.max(...delays));
  const most = Math.max(...bad.all.map((receiver) => receiver.connections.most));
  const problems: string[] = [];
  if (worst > options.limitMs) problems.push(`with ${count} bad: a good receiver waited ${worst} ms`);
  if (most > PER_RECEIVER) problems.push(`with ${count} bad: ${most} connections to one receiver`);
  const figures = { delay_p50_ms: quantile(delays, 0.5), delay_max_ms: worst, longest_stall_ms: lag.max / 1e6 };
  return { figures: Object.fromEntries(Object.entries(figures).map(([name, ms]) => [`bad_${count}_${name}`, Math.round(ms)])), problems };
}
