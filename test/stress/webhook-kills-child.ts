/**
 * The process that trial "webhook-kills" kills: ends queued jobs without rendering them, and delivers, until it is killed or its
 * input ends. Arguments: data directory, folder of the migrations, URL of the built
 * checkpoint-thread.js, the receiver's origin.
 */
import { silentLog } from '../../src/log.js';
import { openStore } from '../../src/store/sqlite/open-store.js';
import type { ClaimedJob } from '../../src/store/store.js';
import { Loop } from '../../src/work/loop.js';
import { aCapture } from '../store/factories.js';
import { startDeliveries } from './deliveries.js';

const [dataDir = '', migrationsDir = '', thread = '', origin = ''] = process.argv.slice(2);
const store = await openStore({ dataDir, migrationsDir, checkpointThread: new URL(thread), migrates: 'at start', log: silentLog() });
await store.recover({ now: Date.now(), starting: true });
const deliveries = await startDeliveries(store, { origins: [origin], timeoutMs: 5_000, backoffMs: 20, concurrency: 8 });
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
  onError: (error) => void process.stderr.write(`${String(error)}\n`),
});
jobs.start();
process.stdin.resume().once('end', async () => {
  for (const one of [jobs, deliveries, store]) await one[Symbol.asyncDispose]();
});
