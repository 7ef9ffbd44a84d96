/**
 * A node of trial "cluster": claims, "renders" by waiting, keeps the name of the picture in a file as a bucket would, and
 * completes, until it is killed or its input ends. Like a server, it recovers what others have left behind. Arguments, as JSON: NodeOrder.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { recoverLeases } from '../../src/capture/sweep.js';
import { FinishSignals } from '../../src/capture/wait-for-job.js';
import { silentLog } from '../../src/log.js';
import { jobLoop } from '../../src/service/loops.js';
import { openPostgresStore } from '../../src/store/postgres/open-store.js';
import type { ClaimedJob } from '../../src/store/store.js';
import type { Loop } from '../../src/work/loop.js';
import { SteadyClock } from '../../src/work/steady-clock.js';
import { RENDERING } from '../fixtures/stand-in-renderer.js';

export interface NodeOrder {
  url: string;
  /** The file that stands for a bucket: a line for each object that was put there or removed. */
  objects: string;
  migrationsDir: string;
  secretKey: string;
  renderMs: number;
  clockMs: number;
  /** Sabotage: the node's own clock instead of the database's. */
  trustsOwnClock: boolean;
  sweepMs: number;
}

const CONCURRENCY = 4;
const order = JSON.parse(process.argv[2] ?? '{}') as NodeOrder;
if (order.clockMs !== 0) {
  const now = Date.now;
  Date.now = () => now() + order.clockMs;
}
const log = silentLog();
const store = await openPostgresStore({
  url: order.url,
  migrationsDir: order.migrationsDir,
  secretKeys: [Buffer.from(order.secretKey, 'base64')],
  migrates: true,
  log,
  facts: () => ({
    name: String(process.pid),
    version: '0',
    roles: [],
    readyBrowsers: 0,
    sandboxed: false,
    running: 0,
    concurrency: CONCURRENCY,
  }),
});
const clock = new SteadyClock(order.trustsOwnClock ? Date.now : store.now);
const cut = new AbortController();
const signals = new FinishSignals();
let made = 0;

const artifacts = {
  isFailing: false,
  refusal: null,
  isReady: async () => true,
  openPack: async () => null,
  async put(content: Uint8Array, extension: string, announce?: (name: string) => Promise<void>) {
    const name = `${process.pid}x${made++}x${'0'.repeat(32)}.${extension}`;
    await announce?.(name);
    appendFileSync(order.objects, `+${name}\n`);
    return { name, bytes: content.length, sha256: 'ab'.repeat(32) };
  },
  remove: async (name: string) => appendFileSync(order.objects, `-${name}\n`),
};

const loop: Loop<ClaimedJob> = jobLoop({
  concurrency: CONCURRENCY,
  keepSlots: 0,
  pollMs: 500,
  shutdown: cut.signal,
  now: clock.now,
  since: clock.since,
  onError: report,
  deps: {
    store,
    artifacts,
    templates: { open: () => Promise.reject(new Error('no job has a template')) },
    render: async (_, signal) => {
      if (order.renderMs > 0) await pause(order.renderMs, undefined, { signal });
      return RENDERING;
    },
    uploads: { open: async () => null, send: () => Promise.reject(new Error('no job uploads anything')) },
    onEnded: (job) => signals.announce(job.id),
    log,
  },
});

const recovery = {
  store,
  onEnded: () => undefined,
  onRequeued: () => loop.wake(),
  log,
  now: clock.now,
  own: () => ({ jobs: loop.tasks, deliveries: [] }),
};
let recovering: Promise<void> = Promise.resolve();
const recover = () => {
  recovering = recovering.then(() => recoverLeases(recovery)).catch(report);
};
store.watch((event) => {
  if (event.kind === 'queued' || event.kind === 'missed') loop.wake();
  else if (event.kind === 'node_lost') recover();
});
recover();
setInterval(recover, order.sweepMs);
loop.start();
process.stdout.write('ready\n');
process.stdin.resume().once('end', () => process.exit());

function report(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
}
