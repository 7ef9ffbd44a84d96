/**
 * Trial "webhook-kills": a process that ends jobs and delivers their webhooks is killed (SIGKILL) again and again: while a receiver
 * holds its answer back, right after the answer, and at any moment. Every job's event must arrive at least once, always with the
 * same delivery id, rightly signed, and never before the job's end can be read from the database.
 *
 * Sabotage that turns it red: let webhook/deliver record the attempt before it posts.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { isTerminal } from '../../src/contract/job.js';
import { STORE_FILES } from '../../src/package-files.js';
import type { Store } from '../../src/store/store.js';
import { buildProgram } from '../fixtures/build-program.js';
import { type Behaviour, hasValidSignature, type ReceivedRequest, startReceiver } from '../fixtures/webhook-receiver.js';
import { aCaller, aDataDir } from '../store/factories.js';
import { openStoreAt, queueJob, WEBHOOK_SECRET } from '../webhook/finish-jobs.js';
import { seeded } from './seeded.js';
import type { TrialResult } from './trial-result.js';

type Moment = 'before the answer' | 'after the answer' | 'at any time';
const MOMENTS: readonly Moment[] = ['before the answer', 'after the answer', 'at any time'];
const PROBLEMS_MAX = 20;

export async function run({ rounds = 100, jobs: jobsPerKill = 6, seed = 20_261_121 } = {}): Promise<TrialResult> {
  const random = seeded(seed);
  const dataDir = aDataDir();
  await using _directory = { [Symbol.asyncDispose]: () => rm(dataDir, { recursive: true }) };
  await using store = await openStoreAt(dataDir);
  await using program = await buildProgram(new URL('webhook-kills-child.ts', import.meta.url));
  const witness = new Witness(store);
  await using receiver = await startReceiver({ script: (request) => witness.meet(request) });
  const caller = await aCaller(store);
  const start = () => startChild([program.file, dataDir, STORE_FILES.migrationsDir, STORE_FILES.checkpointThread.href, receiver.origin]);
  const jobs: string[] = [];
  const startedAt = performance.now();
  for (let kill = 0; kill < rounds; kill++) {
    for (let i = 0; i < jobsPerKill; i++) jobs.push(await queueJob(store, caller, receiver.url()));
    const moment = MOMENTS[kill % MOMENTS.length] ?? 'at any time';
    const child = start();
    if (moment === 'at any time') setTimeout(() => child.kill('SIGKILL'), 100 + random() * 400);
    else witness.killAt(child, moment, 1 + Math.floor(random() * jobsPerKill));
    await once(child, 'exit');
  }
  const last = start();
  await untilNonePending(store, jobs.length);
  last.stdin?.end();
  await once(last, 'exit');
  witness.checkAll(jobs);
  return {
    figures: {
      kills: rounds,
      jobs: jobs.length,
      deliveries: receiver.requests.length,
      repeated: receiver.requests.length - jobs.length,
      seconds: Math.round((performance.now() - startedAt) / 1000),
    },
    problems: witness.problems,
  };
}

/** Sees every delivery at the moment it comes in, and kills at the one it was told to. */
class Witness {
  readonly problems: string[] = [];
  readonly #store: Store;
  readonly #deliveryIds = new Map<string, string>();
  #order: { child: ChildProcess; moment: Moment; left: number } | null = null;
  /** Jobs whose event was acknowledged: one that was cut off before may have been lost on the receiver's side. */
  readonly #acknowledged = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
  }

  killAt(child: ChildProcess, moment: Moment, nth: number): void {
    this.#order = { child, moment, left: nth };
  }

  meet(request: ReceivedRequest): Behaviour {
    this.#check(request);
    const order = this.#order;
    if (order !== null && --order.left <= 0) {
      this.#order = null;
      if (order.moment === 'before the answer') {
        order.child.kill('SIGKILL');
        return 'hang';
      }
      setImmediate(() => order.child.kill('SIGKILL'));
    }
    this.#acknowledged.add(String(request.payload.job_id));
    return { status: 204 };
  }

  checkAll(jobs: readonly string[]): void {
    for (const job of jobs) if (!this.#acknowledged.has(job)) this.#problem(`${job}: its event never arrived`);
  }

  #check(request: ReceivedRequest): void {
    const jobId = String(request.payload.job_id);
    const deliveryId = String(request.payload.delivery_id);
    const before = this.#deliveryIds.get(jobId);
    if (before !== undefined && before !== deliveryId) this.#problem(`${jobId}: two delivery ids`);
    this.#deliveryIds.set(jobId, deliveryId);
    if (!hasValidSignature(request, WEBHOOK_SECRET)) this.#problem(`${jobId}: badly signed`);
    // The read is done when the call returns: later the job might have ended meanwhile.
    this.#store.findJob(jobId).then(
      (job) => {
        if (job === null || !isTerminal(job.state)) this.#problem(`${jobId}: announced while ${job?.state}`);
      },
      (error: unknown) => this.#problem(`${jobId}: ${String(error)}`),
    );
  }

  #problem(what: string): void {
    if (this.problems.length < PROBLEMS_MAX) this.problems.push(what);
  }
}

async function untilNonePending(store: Store, jobs: number): Promise<void> {
  for (;;) {
    const { delivered, failed } = await store.webhookTotals();
    if (delivered + failed >= jobs) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function startChild(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'] });
}
