/**
 * Trial "webhook-kills": a process that ends jobs and delivers their webhooks is killed (SIGKILL) again and again: while a receiver
 * holds its answer back, right after the answer, and at any moment. Every job's event must arrive at least once, always with the
 * same delivery id, rightly signed, and never before the job's end can be read from the database.
 *
 * Sabotage that turns it red: let webhook/deliver record the attempt before it posts.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { isTerminal } from '../../src/contract/job.js';
import { STORE_FILES } from '../../src/package-files.js';
import { buildProgram } from '../fixtures/build-program.js';
import { hasValidSignature, type ReceivedRequest, startReceiver } from '../fixtures/webhook-receiver.js';
import { aCaller, aDataDir } from '../store/factories.js';
import { openStoreAt, queueJob, WEBHOOK_SECRET } from '../webhook/finish-jobs.js';
import { seeded } from './seeded.js';
import { type TrialResult, until } from './trial-result.js';

const MOMENTS = ['before the answer', 'after the answer', 'at any time'];

export async function run({ rounds = 100, jobs: jobsPerKill = 6, seed = 20_261_121 } = {}): Promise<TrialResult> {
  const random = seeded(seed);
  const dataDir = aDataDir();
  await using _directory = { [Symbol.asyncDispose]: () => rm(dataDir, { recursive: true }) };
  await using store = await openStoreAt(dataDir);
  await using program = await buildProgram(new URL('webhook-kills-child.ts', import.meta.url));
  const problems: string[] = [];
  const deliveryIds = new Map<string, string>();
  /** Jobs whose event was acknowledged: one that was cut off before may have been lost on the receiver's side. */
  const acknowledged = new Set<string>();
  let order: { kill(): void; moment: string; left: number } | null = null;

  const check = (request: ReceivedRequest, jobId: string) => {
    const deliveryId = String(request.payload.delivery_id);
    if ((deliveryIds.get(jobId) ?? deliveryId) !== deliveryId) problems.push(`${jobId}: two delivery ids`);
    deliveryIds.set(jobId, deliveryId);
    if (!hasValidSignature(request, WEBHOOK_SECRET)) problems.push(`${jobId}: badly signed`);
    // The read is done when the call returns: later the job might have ended meanwhile.
    const found = store.findJob(jobId);
    const judge = (state: Awaited<typeof found>) => {
      if (state === null || !isTerminal(state.state)) problems.push(`${jobId}: announced while ${state?.state}`);
    };
    found.then(judge, (error: unknown) => problems.push(`${jobId}: ${String(error)}`));
  };
  /** Sees every delivery at the moment it comes in, and kills at the one that is due. */
  await using receiver = await startReceiver({
    script: (request) => {
      const jobId = String(request.payload.job_id);
      check(request, jobId);
      const due = order !== null && --order.left <= 0 ? order : null;
      if (due !== null) order = null;
      if (due?.moment === 'before the answer') {
        due.kill();
        return 'hang';
      }
      if (due !== null) setImmediate(due.kill);
      acknowledged.add(jobId);
      return { status: 204 };
    },
  });
  const caller = await aCaller(store);
  const args = [program.file, dataDir, STORE_FILES.migrationsDir, STORE_FILES.checkpointThread.href, receiver.origin];
  const start = () => spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'] });
  const jobs: string[] = [];
  const startedAt = performance.now();
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < jobsPerKill; i++) jobs.push(await queueJob(store, caller, receiver.url()));
    const moment = MOMENTS[round % MOMENTS.length] ?? '';
    const child = start();
    const kill = () => void child.kill('SIGKILL');
    if (moment === 'at any time') setTimeout(kill, 100 + random() * 400);
    else order = { kill, moment, left: 1 + Math.floor(random() * jobsPerKill) };
    await once(child, 'exit');
  }
  const last = start();
  await until(async () => {
    const { delivered, failed } = await store.webhookTotals();
    return delivered + failed >= jobs.length;
  });
  last.stdin?.end();
  await once(last, 'exit');
  problems.push(...jobs.filter((job) => !acknowledged.has(job)).map((job) => `${job}: its event never arrived`));
  const { length: deliveries } = receiver.requests;
  const figures = { kills: rounds, jobs: jobs.length, deliveries, repeated: deliveries - jobs.length };
  return { figures: { ...figures, seconds: Math.round((performance.now() - startedAt) / 1000) }, problems };
}
