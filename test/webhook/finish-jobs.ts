import { silentLog } from '../../src/log.js';
import { STORE_FILES } from '../../src/package-files.js';
import { openStore } from '../../src/store/sqlite/open-store.js';
import type { Store } from '../../src/store/store.js';
import { aCapture, aNewJob, type Caller, claimOne } from '../store/factories.js';

export const WEBHOOK_SECRET = 'whsec_0123456789abcdef';
const RULES = { maxQueue: 1_000_000, webhookMaxAttempts: 5 };

export function openStoreAt(dataDir: string): Promise<Store> {
  return openStore({ dataDir, ...STORE_FILES, migrates: 'at start', log: silentLog() });
}

/** Queues a job that asks for a webhook. @returns its id */
export async function queueJob(store: Store, caller: Caller, url: string): Promise<string> {
  const job = aNewJob(caller, { webhook: { url, secret: WEBHOOK_SECRET }, enqueuedAt: Date.now() });
  const acceptance = await store.accept(job, RULES);
  if (acceptance.kind !== 'queued') throw new Error(`not queued: ${acceptance.kind}`);
  return job.id;
}

/** Queues and completes a job that asks for a webhook; its delivery is due from then on. @returns its id */
export async function finishJob(store: Store, caller: Caller, url: string): Promise<string> {
  await queueJob(store, caller, url);
  const claimed = await claimOne(store, { workerId: 'host-1-0', now: Date.now(), leaseMs: 60_000 });
  if (claimed === null) throw new Error('nothing to claim');
  const [ended] = await store.complete(claimed, aCapture(), Date.now());
  if (ended === undefined) throw new Error('the claim was lost');
  return ended.id;
}
