/**
 * The process that trial "webhook-kills" kills: ends queued jobs without rendering them, and delivers, until it is killed or its
 * input ends. Arguments: data directory, folder of the migrations, URL of the built
 * checkpoint-thread.js, the receiver's origin.
 */
import { openEgress } from '../../src/egress/open-egress.js';
import { silentLog } from '../../src/log.js';
import { openStore } from '../../src/store/sqlite/open-store.js';
import type { ClaimedJob, DueDelivery } from '../../src/store/store.js';
import { claimDeliveries, deliver } from '../../src/webhook/deliver.js';
import { Loop } from '../../src/work/loop.js';
import { aCapture } from '../store/factories.js';

const [dataDir = '', migrationsDir = '', checkpointThread = '', origin = ''] = process.argv.slice(2);
const log = silentLog();
const store = await openStore({ dataDir, migrationsDir, checkpointThread: new URL(checkpointThread), migrates: 'at start', log });
await store.recover({ now: Date.now(), starting: true });
const egress = await openEgress({ allowDestinations: [], dnsServers: [], maxBytesPerCapture: 1, log });
const cut = new AbortController();

const deps = {
  ...{ store, egress, log, places: { baseUrl: 'http://127.0.0.1' }, allowedOrigins: [origin] },
  ...{ backoffMs: [20], timeoutMs: 5_000, version: '0.0.0', now: Date.now, random: Math.random },
};
const deliveries = new Loop<DueDelivery>({
  concurrency: 8,
  claim: () => claimDeliveries(deps),
  run: (due) => deliver(deps, due, cut.signal),
  nextDueAt: () => store.nextDeliveryDueAt(4),
  pollMs: 100,
  onError: report,
});
const jobs = new Loop<ClaimedJob>({
  concurrency: 2,
  claim: (slots) =>
    store.claimNextJobs(slots.map((slot) => ({ workerId: `child-${process.pid}-${slot}`, now: Date.now(), leaseMs: 30_000 }))),
  run: async (job) => {
    await store.complete(job, aCapture(), Date.now());
    deliveries.wake();
  },
  nextDueAt: () => store.nextDueAt(),
  pollMs: 20,
  onError: report,
});
deliveries.start();
jobs.start();
process.stdin.resume();
process.stdin.on('end', () => void stop());

async function stop(): Promise<void> {
  await jobs[Symbol.asyncDispose]();
  cut.abort();
  await deliveries[Symbol.asyncDispose]();
  await egress[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
}

function report(error: unknown): void {
  process.stderr.write(`${String(error)}\n`);
}
