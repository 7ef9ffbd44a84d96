/**
 * Trial "webhook-kills": a server that ends jobs and delivers their webhooks is killed (SIGKILL) again and again: while a receiver
 * holds its answer back, right after the answer, and at any moment. Every job's event must arrive at least once, always with the
 * same delivery id, rightly signed, and never before the job's end can be read from the database.
 *
 * Sabotage that turns it red: let webhook/deliver record the attempt before it posts.
 */
import { join } from 'node:path';
import { Database } from '../../src/store/sqlite/driver.js';
import { hasValidSignature, type ReceivedRequest, startReceiver } from '../fixtures/webhook-receiver.js';
import { health, postCapture, SECRET, SMALL } from './call-api.js';
import { seeded } from './seeded.js';
import { aTrialDir, startServerProcess } from './server-process.js';
import { firstOf, type TrialResult, until } from './trial-result.js';

const MOMENTS = ['before the answer', 'after the answer', 'at any time'];

export async function run({ rounds = 100, jobs: jobsPerKill = 6, seed = 20_261_121 } = {}): Promise<TrialResult> {
  const random = seeded(seed);
  const problems: string[] = [];
  const deliveryIds = new Map<string, string>();
  /** Jobs whose event was acknowledged: one that was cut off before may have been lost on the receiver's side. */
  const acknowledged = new Set<string>();
  let order: { kill(): void; moment: string; left: number } | null = null;
  using dir = aTrialDir();
  let stateOf = (_jobId: string): unknown => null;
  const check = (request: ReceivedRequest, jobId: string) => {
    const deliveryId = String(request.payload.delivery_id);
    if ((deliveryIds.get(jobId) ?? deliveryId) !== deliveryId) problems.push(`${jobId}: two delivery ids`);
    deliveryIds.set(jobId, deliveryId);
    if (!hasValidSignature(request, SECRET)) problems.push(`${jobId}: badly signed`);
    if (stateOf(jobId) !== 'completed') problems.push(`${jobId}: announced while ${stateOf(jobId)}`);
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
  const env = { STILLFRAME_WEBHOOK_ALLOW: receiver.origin, STILLFRAME_WEBHOOK_BACKOFF_MS: '20' };
  const start = () => startServerProcess({ ...dir, env });
  const body = { ...SMALL, html: '<h1>Kept</h1>', cache_ttl: 86_400 };
  const first = start();
  const { key } = await first.door();
  await postCapture(await first.door(), body);
  await first.end('SIGTERM');
  const db = new Database(join(dir.dataDir, 'stillframe.db'), { readonly: true });
  using _database = { [Symbol.dispose]: () => db.close() };
  const states = db.prepare<[string], string>('SELECT state FROM jobs WHERE id = ?').pluck();
  stateOf = (jobId) => states.get(jobId);
  const jobs: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const server = start();
    const at = { ...(await server.door()), key };
    const kill = () => server.kill('SIGKILL');
    const moment = MOMENTS[round % MOMENTS.length] ?? '';
    if (moment === 'at any time') setTimeout(kill, random() * 400);
    else order = { kill, moment, left: 1 + Math.floor(random() * jobsPerKill) };
    const submit = () => postCapture(at, { ...body, webhook: { url: receiver.url(), secret: SECRET } });
    const answers = await Promise.all(firstOf(jobsPerKill).map(() => submit().catch(() => null)));
    jobs.push(...answers.flatMap((answer) => (answer?.status === 200 ? [String(answer.headers.get('x-job-id'))] : [])));
    await server.exited;
  }
  const last = start();
  const at = { ...(await last.door()), key };
  await until(async () => {
    const { delivered, failed } = (await health(at)).body.data.webhooks;
    return delivered + failed >= jobs.length && jobs.every((job) => acknowledged.has(job));
  }, 60_000);
  await last.end('SIGTERM');
  problems.push(...jobs.filter((job) => !acknowledged.has(job)).map((job) => `${job}: its event never arrived`));
  const { length: deliveries } = receiver.requests;
  return {
    figures: { kills: rounds, jobs: jobs.length, deliveries, repeated: deliveries - deliveryIds.size },
    problems,
  };
}
