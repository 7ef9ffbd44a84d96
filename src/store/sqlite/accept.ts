/**
 * Admission as one step (interface.md, Idempotency rules; decisions.md, Idempotency and cache): idempotency → kept result →
 * identical one in flight → queue limit → credits → job. A refusal writes nothing, so it never binds its idempotency key.
 */
import type { CaptureData } from '../../contract/capture-data.js';
import { periodEnd, periodOf } from '../../contract/pricing.js';
import type { Acceptance, AcceptRules, NewJob } from '../store.js';
import type { NewJobRow } from './jobs.js';
import { toSnapshot } from './snapshot.js';
import type { Tables } from './tables.js';
import type { Vault } from './vault.js';

type AcceptTables = Pick<Tables, 'jobs' | 'orders' | 'reservations' | 'deliveries' | 'counters'>;

interface Digests {
  identity: string;
  cache: string | null;
}

/** Runs inside the caller's transaction. `enqueuedAt` is the present. */
export function accept(tables: AcceptTables, vault: Vault, submission: { job: NewJob; rules: AcceptRules }): Acceptance {
  const { job, rules } = submission;
  const digests: Digests = {
    identity: vault.digest('identity', job.identity),
    cache: job.cacheIdentity === null ? null : vault.digest('cache', job.cacheIdentity),
  };
  const known = findReplay(tables, job, digests);
  if (known !== null) return known;

  const kept = findKept(tables, job, digests);
  const leaderId = kept === null ? findLeader(tables, job, digests) : null;
  if (kept === null && leaderId === null) {
    const waiting = tables.counters.queued();
    if (waiting >= rules.maxQueue) return { kind: 'queue_full', waiting };
  }
  const refusal = refuseOverQuota(tables, job);
  if (refusal !== null) return refusal;

  tables.jobs.insert({ ...toRow(job, digests), leaderId, ...kept });
  tables.reservations.reserve({ ...chargeOf(job) });
  if (job.webhook !== null) {
    tables.deliveries.insert({ jobId: job.id, webhook: job.webhook, maxAttempts: rules.webhookMaxAttempts, now: job.enqueuedAt });
  }
  if (kept === null) tables.orders.insert(job.id, job.options);
  else settleAtOnce(tables, job);
  if (leaderId !== null && job.mode === 'sync') tables.jobs.promote(leaderId);
  const kind = kept !== null ? 'cached' : leaderId !== null ? 'shared' : 'queued';
  return { kind, job: snapshotOf(tables, job.id) };
}

function findReplay({ jobs }: Pick<AcceptTables, 'jobs'>, job: NewJob, digests: Digests): Acceptance | null {
  if (job.idempotencyKey === null) return null;
  const known = jobs.findByIdempotencyKey(job.accountId, job.idempotencyKey);
  if (known === null) return null;
  const sameKey = known.keyId === job.keyId;
  if (!sameKey || known.identityDigest !== digests.identity) return { kind: 'conflict', jobId: known.id, sameKey };
  return { kind: 'replayed', job: toSnapshot(known) };
}

/** The ended row's fields, from the newest picture of the same digest, when it is young enough and still there. */
function findKept({ jobs }: Pick<AcceptTables, 'jobs'>, job: NewJob, digests: Digests): Partial<NewJobRow> | null {
  if (digests.cache === null || job.cacheTtl === 0) return null;
  const source = jobs.findRendered(job.accountId, digests.cache);
  if (source === null || source.goneAt !== null || source.renderedAt === null || source.data === null) return null;
  if (job.enqueuedAt - source.renderedAt > job.cacheTtl * 1000) return null;
  return {
    state: 'completed',
    endedAt: job.enqueuedAt,
    progress: 100,
    workerId: source.workerId,
    artifactName: source.artifactName,
    data: asCached(source.data),
  };
}

function findLeader({ jobs }: Pick<AcceptTables, 'jobs'>, job: NewJob, digests: Digests): string | null {
  if (digests.cache === null || job.cacheTtl === 0) return null;
  return jobs.findInFlight(job.accountId, digests.cache);
}

function refuseOverQuota({ reservations }: Pick<AcceptTables, 'reservations'>, job: NewJob): Acceptance | null {
  const { quota, settled, reserved } = reservations.standing(job.accountId, periodOf(job.enqueuedAt));
  if (quota === null || settled + reserved + job.price <= quota) return null;
  return { kind: 'quota_exceeded', quota, used: settled, reserved, resetsAt: periodEnd(job.enqueuedAt) };
}

function settleAtOnce({ reservations, deliveries }: Pick<AcceptTables, 'reservations' | 'deliveries'>, job: NewJob): void {
  reservations.settle(job.id);
  deliveries.announce(job.id, 'capture.completed', job.enqueuedAt);
}

function snapshotOf({ jobs }: Pick<AcceptTables, 'jobs'>, id: string) {
  const row = jobs.find(id);
  if (row === null) throw new Error(`job ${id} was not inserted`);
  return toSnapshot(row);
}

function chargeOf(job: NewJob) {
  const { id, accountId, price, enqueuedAt } = job;
  return { jobId: id, accountId, credits: price, period: periodOf(enqueuedAt), createdAt: enqueuedAt };
}

function toRow(job: NewJob, digests: Digests): NewJobRow {
  const { id, accountId, keyId, requestId, mode, idempotencyKey, attemptBudget, enqueuedAt } = job;
  const lane = mode === 'sync' ? 'prioritized' : 'waiting';
  return {
    ...{ id, accountId, keyId, requestId, mode, lane, state: lane, idempotencyKey, attemptBudget, enqueuedAt },
    ...{ identityDigest: digests.identity, cacheDigest: digests.cache, timeoutMs: job.options.timeout },
    ...{ attemptsMade: 0, progress: 0, webhookUrl: job.webhook?.url ?? null },
    ...{ leaderId: null, dueAt: null, firstClaimedAt: null, leaseExpiresAt: null, workerId: null },
    ...{ endedAt: null, renderedAt: null, artifactName: null, data: null, error: null },
  };
}

/** What a job tells of a picture that another one rendered. @param data CaptureData as JSON */
export function asCached(data: string): string {
  const kept: CaptureData = JSON.parse(data);
  return JSON.stringify({ ...kept, cached: true });
}
