/**
 * Trial "redeliver": fifty redelivery requests at once with one ETag, over HTTP and a real store: one 202, forty-nine 409, and one more
 * delivery at the receiver, of the next generation; round after round.
 *
 * Sabotage that turns it red: take the conditions on generation and state out of the store's redelivery, in
 * store/sqlite/claim-delivery and store/sqlite/deliveries (either alone still lets one through only).
 */
import { rmSync } from 'node:fs';
import { readConfig } from '../../src/config.js';
import { silentLog } from '../../src/log.js';
import { Service } from '../../src/service/service.js';
import { hasValidSignature, startReceiver } from '../fixtures/webhook-receiver.js';
import { aCaller, aDataDir } from '../store/factories.js';
import { finishJob, openStoreAt, WEBHOOK_SECRET } from '../webhook/finish-jobs.js';
import type { TrialResult } from './trial-result.js';

const AT_ONCE = 50;
const REASONS = ['delivery_pending', 'generation_changed'];

export async function run({ rounds = 20 } = {}): Promise<TrialResult> {
  await using receiver = await startReceiver();
  const dataDir = aDataDir();
  const { secret, jobId } = await seed(dataDir, receiver.url());
  const problems: string[] = [];
  let accepted = 0;
  let refused = 0;
  try {
    await using service = await startService(dataDir, receiver.origin);
    for (let generation = 1; generation <= rounds; generation++) {
      const problem = (what: string) => problems.push(`generation ${generation}: ${what}`);
      const announced = (await receiver.received(generation))[generation - 1];
      if (announced?.payload.delivery_generation !== generation) problem(`the payload says ${announced?.payload.delivery_generation}`);
      if (announced === undefined || !hasValidSignature(announced, WEBHOOK_SECRET)) problem('badly signed');
      const etag = await untilDelivered(service, secret, jobId);
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => redeliver(service, { secret, jobId, etag })));
      accepted += answers.filter(({ status }) => status === 202).length;
      refused += answers.filter(({ status, reason }) => status === 409 && REASONS.includes(reason)).length;
      if (accepted !== generation || refused !== generation * (AT_ONCE - 1)) {
        problem(`answers ${JSON.stringify([...new Set(answers.map(({ status, reason }) => `${status} ${reason}`))])}`);
      }
    }
    await receiver.received(rounds + 1);
    if (new Set(receiver.requests.map((request) => request.payload.delivery_id)).size !== 1) problems.push('more than one delivery id');
    if (receiver.requests.length !== rounds + 1) problems.push(`${receiver.requests.length} deliveries for ${rounds} rounds`);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
  return { figures: { rounds, accepted, refused }, problems };
}

/** A finished job that was not rendered: no capture is needed here. */
async function seed(dataDir: string, url: string): Promise<{ secret: string; jobId: string }> {
  await using store = await openStoreAt(dataDir);
  const caller = await aCaller(store);
  return { secret: caller.secret, jobId: await finishJob(store, caller, url) };
}

/** Nothing is captured, so nothing waits for a browser. */
function startService(dataDir: string, receiver: string): Promise<Service> {
  const config = { ...readConfig({}, {}), dataDir, port: 0, browserInstall: false, lists: false, readRate: 0, webhookAllow: [receiver] };
  return Service.start(config, { log: silentLog(), say: () => undefined });
}

async function untilDelivered(service: Service, secret: string, jobId: string): Promise<string> {
  for (;;) {
    const response = await fetch(`${service.url}/v1/jobs/${jobId}/webhook`, { headers: { authorization: `Bearer ${secret}` } });
    const body = (await response.json()) as { data?: { state?: string } };
    if (body.data?.state === 'delivered') return response.headers.get('etag') ?? '';
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function redeliver(service: Service, at: { secret: string; jobId: string; etag: string }) {
  const response = await fetch(`${service.url}/v1/jobs/${at.jobId}/webhook/redeliver`, {
    method: 'POST',
    headers: { authorization: `Bearer ${at.secret}`, 'if-match': at.etag },
  });
  const body = (await response.json()) as { error?: { details?: { reason?: string } } };
  return { status: response.status, reason: body.error?.details?.reason ?? '' };
}
