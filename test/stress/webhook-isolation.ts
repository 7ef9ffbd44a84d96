/**
 * Trial "webhook-isolation": receivers that hang on 200 jobs must not hold up the deliveries to others: those arrive within a second
 * of their job's end. Once with one bad receiver, once with eight; real store, real loop, real sockets.
 *
 * Sabotage that turns it red: set DELIVERIES_PER_RECEIVER of webhook/deliver to DELIVERIES_AT_ONCE.
 */
import { rm } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openEgress } from '../../src/egress/open-egress.js';
import { silentLog } from '../../src/log.js';
import type { DueDelivery, Store } from '../../src/store/store.js';
import { claimDeliveries, DELIVERIES_AT_ONCE, deliver } from '../../src/webhook/deliver.js';
import { Loop } from '../../src/work/loop.js';
import { type Receiver, startReceiver } from '../fixtures/webhook-receiver.js';
import { aCaller, aDataDir } from '../store/factories.js';
import { finishJob, openStoreAt } from '../webhook/finish-jobs.js';
import type { TrialResult } from './trial-result.js';

/** Deliveries that hang, in all; those to a good receiver, one after the other; and how late one of these may be. */
const AS_PROMISED = { hanging: 200, good: 100, limitMs: 1_000 };
const ATTEMPT_MS = 10_000;
const PER_RECEIVER = 4;

export async function run(given: Partial<typeof AS_PROMISED> = {}): Promise<TrialResult> {
  const options = { ...AS_PROMISED, ...given };
  const one = await meetBadReceivers(1, options);
  const eight = await meetBadReceivers(8, options);
  return {
    figures: { ...one.figures, ...eight.figures },
    problems: [...one.problems, ...eight.problems],
  };
}

async function meetBadReceivers(count: number, options: typeof AS_PROMISED): Promise<TrialResult> {
  const dataDir = aDataDir();
  await using _directory = { [Symbol.asyncDispose]: () => rm(dataDir, { recursive: true }) };
  await using store = await openStoreAt(dataDir);
  await using good = await startReceiver();
  await using badOnes = await startBadReceivers(count);
  const { receivers: bad } = badOnes;
  const caller = await aCaller(store);
  for (let i = 0; i < options.hanging; i++) await finishJob(store, caller, bad[i % count]?.url() ?? '');
  await using deliveries = await startDeliveries(store, [good, ...bad]);
  await Promise.all(bad.map((receiver) => receiver.received(PER_RECEIVER)));
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
  delays.sort((a, b) => a - b);
  const worst = delays.at(-1) ?? 0;
  const most = Math.max(...bad.map((receiver) => receiver.connections.most));
  const problems: string[] = [];
  if (worst > options.limitMs) problems.push(`with ${count} bad: a good receiver waited ${Math.round(worst)} ms`);
  if (most > PER_RECEIVER) problems.push(`with ${count} bad: ${most} connections to one receiver`);
  return {
    figures: {
      [`bad_${count}_delay_p50_ms`]: Math.round(delays[Math.floor(delays.length / 2)] ?? 0),
      [`bad_${count}_delay_max_ms`]: Math.round(worst),
      [`bad_${count}_longest_stall_ms`]: Math.round(lag.max / 1e6),
    },
    problems,
  };
}

async function startBadReceivers(count: number): Promise<{ receivers: Receiver[] } & AsyncDisposable> {
  const receivers = await Promise.all(Array.from({ length: count }, () => startReceiver({ script: ['hang'] })));
  return {
    receivers,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(receivers.map((receiver) => receiver[Symbol.asyncDispose]()));
    },
  };
}

interface Deliveries extends AsyncDisposable {
  wake(): void;
}

async function startDeliveries(store: Store, receivers: readonly Receiver[]): Promise<Deliveries> {
  const log = silentLog();
  const egress = await openEgress({ allowDestinations: [], dnsServers: [], maxBytesPerCapture: 1, log });
  const cut = new AbortController();
  const deps = {
    ...{ store, egress, log, places: { baseUrl: 'http://127.0.0.1' }, allowedOrigins: receivers.map((receiver) => receiver.origin) },
    ...{ backoffMs: [5_000], timeoutMs: ATTEMPT_MS, version: '0.0.0', now: Date.now, random: Math.random },
  };
  const loop = new Loop<DueDelivery>({
    concurrency: DELIVERIES_AT_ONCE,
    claim: () => claimDeliveries(deps),
    run: (due) => deliver(deps, due, cut.signal),
    nextDueAt: () => store.nextDeliveryDueAt(4),
    pollMs: 500,
    onError: (error) => {
      throw error;
    },
  });
  loop.start();
  return {
    wake: () => loop.wake(),
    [Symbol.asyncDispose]: async () => {
      cut.abort();
      await loop[Symbol.asyncDispose]();
      await egress[Symbol.asyncDispose]();
    },
  };
}
