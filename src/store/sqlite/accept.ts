/**
 * Acceptance as one step (interface.md, Idempotency rules; decisions.md, Idempotency and cache): idempotency → cached result → identical
 * job in flight → queue limit → credits → job. A rejection writes nothing, so it never binds its idempotency key.
 */
import { jobUrl } from '../../contract/capture-request.js';
import { periodEnd, periodOf } from '../../contract/pricing.js';
import { SHARED_DATA, toSnapshot } from '../snapshot.js';
import type { Acceptance, AcceptRules, LinkAnswer, LinkRequest, NewJob } from '../store.js';
import type { Vault } from '../vault.js';
import type { NewJobRow } from './jobs.js';
import type { Reservation } from './reservations.js';
import type { Tables } from './tables.js';

type AcceptTables = Pick<
  Tables,
  'jobs' | 'orders' | 'outcomes' | 'reservations' | 'deliveries' | 'counters' | 'artifacts' | 'turns' | 'apiKeys' | 'linkCredits'
>;

interface Digests {
  identity: string;
  cache: string | null;
}

interface KeptResult {
  /** The job that rendered it. */
  jobId: string;
  ended: Partial<NewJobRow>;
  /** CaptureData as JSON. */
  data: string;
}

/** The source of a new job's picture: the row of an earlier job, the render of another job, or (neither) its own render. */
interface Source {
  kept: KeptResult | null;
  leaderId: string | null;
}

/** Accepts a submission inside the caller's transaction. `enqueuedAt` must be the current time. */
export function accept(tables: AcceptTables, vault: Vault, submission: { job: NewJob; rules: AcceptRules }): Acceptance {
  const { job, rules } = submission;
  const digests: Digests = { identity: vault.digest('identity', job.identity), cache: cacheDigestOf(vault, job) };
  const known = findReplay(tables, vault, job);
  if (known !== null) return known;
  const kept = findKept(tables, job, { digests, rules });
  const source = { kept, leaderId: kept === null ? findLeader(tables, job, digests) : null };
  const existing = job.link ? findForLink(tables, job, source) : null;
  if (existing !== null) return existing;
  const charge = chargeOf(job);
  const refusal = refuseWhenFull(tables, source, rules) ?? refuseOverQuota(tables, charge) ?? refuseOverLinksLimit(tables, charge);
  return refusal ?? enter(tables, { job, rules, digests, source, charge });
}

/** Finds the picture or the render in flight that could answer a link without an acceptance. */
export function findLinkAnswer({ jobs }: Pick<AcceptTables, 'jobs'>, vault: Vault, request: LinkRequest): LinkAnswer {
  const digest = cacheDigestOf(vault, request);
  if (digest === null) return { picture: null, inFlight: false };
  const found = findPicture({ jobs }, request.accountId, digest);
  const job = found === null ? null : jobs.find(found.id);
  const leaderId = jobs.findInFlight(request.accountId, digest);
  return {
    picture:
      found === null || job === null ? null : { job: toSnapshot(job), renderedAt: found.renderedAt, artifactName: found.artifactName },
    inFlight: leaderId !== null && jobs.findSharing(leaderId, request.timeout) !== null,
  };
}

/** Finds the artifact that `accept` would answer from; null if none, and for a repeated submission. */
export function cachedArtifact({ jobs }: Pick<AcceptTables, 'jobs'>, vault: Vault, job: NewJob): string | null {
  if (job.cacheTtl === 0 || job.cacheIdentity === null) return null;
  if (job.idempotencyKey !== null && jobs.findByIdempotencyKey(job.accountId, job.idempotencyKey) !== null) return null;
  return findKeptSource({ jobs }, job, cacheDigestOf(vault, job))?.artifactName ?? null;
}

function cacheDigestOf(vault: Vault, { cacheIdentity }: Pick<NewJob, 'cacheIdentity'>): string | null {
  return cacheIdentity === null ? null : vault.digest('cache', cacheIdentity);
}

interface Entry {
  job: NewJob;
  rules: AcceptRules;
  digests: Digests;
  source: Source;
  charge: Reservation;
}

function enter(tables: AcceptTables, { job, rules, digests, source, charge }: Entry): Acceptance {
  const { kept, leaderId } = source;
  const row = Object.assign(toRow(job, digests), { leaderId }, kept?.ended);
  if (kept === null && leaderId === null) tables.turns.join(job.accountId, job.enqueuedAt);
  tables.jobs.insert(row);
  if (job.webhook !== null) {
    tables.deliveries.insert({
      jobId: job.id,
      accountId: job.accountId,
      webhook: job.webhook,
      maxAttempts: rules.webhookMaxAttempts,
      now: job.enqueuedAt,
    });
  }
  if (kept === null) {
    tables.reservations.reserve(charge);
    tables.orders.insert(job.id, job.options);
  } else {
    tables.reservations.charge(charge);
    tables.outcomes.count(job.accountId, charge.period, 'completed');
    if (job.webhook !== null) tables.deliveries.announce(job.id, 'capture.completed', job.enqueuedAt);
  }
  if (leaderId !== null && job.mode === 'sync') tables.jobs.promote(leaderId);
  const kind = kept !== null ? 'cached' : leaderId !== null ? 'shared' : 'queued';
  return { kind, job: toSnapshot({ ...row, paused: tables.counters.isPaused(), keptData: kept?.data ?? null }) };
}

/** Rejects a job when the queue is full, unless it is answered from a cached result. */
function refuseWhenFull({ counters }: Pick<AcceptTables, 'counters'>, { kept }: Source, rules: AcceptRules): Acceptance | null {
  if (kept !== null) return null;
  const waiting = counters.waiting();
  return waiting >= rules.maxQueue ? { kind: 'queue_full', waiting } : null;
}

function findReplay({ jobs }: Pick<AcceptTables, 'jobs'>, vault: Vault, job: NewJob): Acceptance | null {
  if (job.idempotencyKey === null) return null;
  const known = jobs.findByIdempotencyKey(job.accountId, job.idempotencyKey);
  if (known === null) return null;
  const sameKey = known.keyId === job.keyId;
  if (!sameKey || !vault.matches('identity', job.identity, known.identityDigest)) return { kind: 'conflict', jobId: known.id, sameKey };
  return { kind: 'replayed', job: toSnapshot(known) };
}

/** Finds the newest picture of the same digest; null if it is too old or deleted. */
function findKeptSource({ jobs }: Pick<AcceptTables, 'jobs'>, job: NewJob, cacheDigest: string | null) {
  if (cacheDigest === null || job.cacheTtl === 0) return null;
  const source = findPicture({ jobs }, job.accountId, cacheDigest);
  return source === null || job.enqueuedAt - source.renderedAt > job.cacheTtl * 1000 ? null : source;
}

/** Finds the newest picture of a digest, of any age; null if it is deleted. */
function findPicture({ jobs }: Pick<AcceptTables, 'jobs'>, accountId: string, cacheDigest: string) {
  const source = jobs.findRendered(accountId, cacheDigest);
  if (source === null || source.goneAt !== null) return null;
  const { renderedAt, data, artifactName } = source;
  return renderedAt === null || data === null || artifactName === null ? null : { ...source, renderedAt, data, artifactName };
}

/** Finds the job whose picture, or whose render in flight, answers a link; null if each would fail the link before its own timeout. */
function findForLink({ jobs }: Pick<AcceptTables, 'jobs'>, { mode, options }: NewJob, { kept, leaderId }: Source): Acceptance | null {
  const id = kept?.jobId ?? (leaderId === null ? null : jobs.findSharing(leaderId, options.timeout));
  const found = id === null ? null : jobs.find(id);
  if (found === null) return null;
  if (leaderId !== null && mode === 'sync') jobs.promote(leaderId);
  return { kind: 'replayed', job: toSnapshot(found) };
}

/** Builds the fields of a job that is answered from a stored picture. */
function findKept(
  { jobs, artifacts }: Pick<AcceptTables, 'jobs' | 'artifacts'>,
  job: NewJob,
  { digests, rules }: { digests: Digests; rules: AcceptRules },
): KeptResult | null {
  const source = findKeptSource({ jobs }, job, digests.cache);
  if (source === null || source.artifactName === rules.missing) return null;
  const { workerId, artifactName } = source;
  // An older version stored the data with the job, which may be deleted before this one.
  if (source.keptData === null) artifacts.keepData(artifactName, source.data);
  const ended = { state: 'completed', endedAt: job.enqueuedAt, progress: 100, workerId, artifactName, data: SHARED_DATA } as const;
  return { jobId: source.id, ended, data: source.keptData ?? source.data };
}

function findLeader({ jobs }: Pick<AcceptTables, 'jobs'>, job: NewJob, digests: Digests): string | null {
  if (digests.cache === null || job.cacheTtl === 0) return null;
  return jobs.findInFlight(job.accountId, digests.cache);
}

function refuseOverQuota({ reservations }: Pick<AcceptTables, 'reservations'>, charge: Reservation): Acceptance | null {
  const { quota, settled, reserved } = reservations.standing(charge.accountId, charge.period);
  if (quota === null || settled + reserved + charge.credits <= quota) return null;
  return { kind: 'quota_exceeded', quota, used: settled, reserved, resetsAt: periodEnd(charge.createdAt) };
}

function refuseOverLinksLimit(
  { apiKeys, linkCredits }: Pick<AcceptTables, 'apiKeys' | 'linkCredits'>,
  charge: Reservation,
): Acceptance | null {
  const { linkKeyId, period, credits, createdAt } = charge;
  const limit = linkKeyId === null ? null : (apiKeys.find(linkKeyId)?.linksLimit ?? null);
  if (linkKeyId === null || limit === null) return null;
  const used = linkCredits.of(linkKeyId, period);
  return used + credits <= limit ? null : { kind: 'links_limit_exceeded', limit, used, resetsAt: periodEnd(createdAt) };
}

function chargeOf(job: NewJob): Reservation {
  const { id, accountId, price, enqueuedAt } = job;
  const linkKeyId = job.link ? job.keyId : null;
  return { jobId: id, accountId, credits: price, period: periodOf(enqueuedAt), createdAt: enqueuedAt, linkKeyId };
}

/** Builds the row as one literal without spreads, which would take a tenth of the time of a submission. */
function toRow(job: NewJob, digests: Digests): NewJobRow {
  const lane = job.mode === 'sync' ? 'prioritized' : 'waiting';
  return {
    id: job.id,
    accountId: job.accountId,
    keyId: job.keyId,
    requestId: job.requestId,
    mode: job.mode,
    state: lane,
    lane,
    idempotencyKey: job.idempotencyKey,
    identityDigest: digests.identity,
    cacheDigest: digests.cache,
    timeoutMs: job.options.timeout,
    leaderId: null,
    attemptsMade: 0,
    attemptBudget: job.attemptBudget,
    enqueuedAt: job.enqueuedAt,
    dueAt: null,
    firstClaimedAt: null,
    claimedAt: null,
    bookedMs: null,
    leaseExpiresAt: null,
    workerId: null,
    progress: 0,
    webhookUrl: job.webhook?.url ?? null,
    endedAt: null,
    renderedAt: null,
    artifactName: null,
    data: null,
    error: null,
    traceparent: job.traceparent,
    url: jobUrl(job.options),
  };
}
