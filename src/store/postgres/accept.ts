/**
 * Acceptance as one transaction (interface.md, Idempotency rules; decisions.md, Idempotency and cache): idempotency → cached result →
 * identical job in flight → queue limit → credits → job. A rejection writes nothing, so it never binds its idempotency key.
 * Locks, in this order: the cache digest (advisory), so that two identical submissions do not both render; the row of the render in flight,
 * which its end locks as well, so that no job follows one that has just ended; the row of an account with a quota; the row of a link's key.
 */
import { jobUrl } from '../../contract/capture-request.js';
import { newId } from '../../contract/ids.js';
import { periodEnd, periodOf } from '../../contract/pricing.js';
import { MAX_DELIVERY_AGE_MS } from '../rules.js';
import { type ReportedJob, SHARED_DATA, toSnapshot } from '../snapshot.js';
import type { Acceptance, AcceptRules, LinkAnswer, LinkRequest, NewJob } from '../store.js';
import type { Vault } from '../vault.js';
import type { Database, Queries } from './connect.js';
import { LINK_SUM, promote } from './end-job.js';
import { findJob, findJobByIdempotencyKey } from './job-rows.js';
import { LOCKS } from './locks.js';

interface Digests {
  identity: string;
  cache: string | null;
}

/** A cached picture. */
interface Kept {
  /** The job that rendered it. */
  jobId: string;
  renderedAt: number;
  workerId: string;
  artifactName: string;
  data: string;
}

/** The source of a new job's picture: the row of an earlier job, the render of another job, or (neither) its own render. */
interface Source {
  kept: Kept | null;
  leader: { id: string; lane: string } | null;
}

interface Entry {
  job: NewJob;
  rules: AcceptRules;
  digests: Digests;
  source: Source;
}

/** The render in flight or the key was not in the state that was read, because another transaction has just changed it: try again. */
const AGAIN = 'again';

export async function accept(database: Database, vault: Vault, submission: { job: NewJob; rules: AcceptRules }): Promise<Acceptance> {
  const { job, rules } = submission;
  const digests: Digests = { identity: vault.digest('identity', job.identity), cache: cacheDigestOf(vault, job) };
  for (;;) {
    const acceptance = await database.transaction((queries) => decide(queries, vault, { job, rules, digests }));
    if (acceptance !== AGAIN) return acceptance;
  }
}

/** Finds the artifact that `accept` would answer from; null if none, and for a repeated submission. */
export async function cachedArtifact(queries: Queries, vault: Vault, job: NewJob): Promise<string | null> {
  const digest = cacheDigestOf(vault, job);
  if (digest === null || job.cacheTtl === 0) return null;
  const { accountId, idempotencyKey } = job;
  if (idempotencyKey !== null && (await findJobByIdempotencyKey(queries, accountId, idempotencyKey)) !== null) return null;
  return (await findKept(queries, job, digest))?.artifactName ?? null;
}

/** Finds the picture or the render in flight that could answer a link without an acceptance. */
export async function findLinkAnswer(queries: Queries, vault: Vault, request: LinkRequest): Promise<LinkAnswer> {
  const digest = cacheDigestOf(vault, request);
  if (digest === null) return { picture: null, inFlight: false };
  const [found, leader] = await Promise.all([
    findPicture(queries, request.accountId, digest),
    findInFlight(queries, request.accountId, digest),
  ]);
  const job = found === null ? null : await findJob(queries, found.jobId);
  return {
    picture:
      found === null || job === null ? null : { job: toSnapshot(job), renderedAt: found.renderedAt, artifactName: found.artifactName },
    inFlight: leader !== null && (await findSharing(queries, leader.id, request.timeout)) !== null,
  };
}

function cacheDigestOf(vault: Vault, { cacheIdentity }: Pick<NewJob, 'cacheIdentity'>): string | null {
  return cacheIdentity === null ? null : vault.digest('cache', cacheIdentity);
}

async function decide(queries: Queries, vault: Vault, given: Omit<Entry, 'source'>): Promise<Acceptance | typeof AGAIN> {
  const { job, rules } = given;
  const known = await findReplay(queries, vault, job);
  if (known !== null) return known;
  const source = await findSource(queries, given);
  if (source === AGAIN) return AGAIN;
  const existing = job.link ? await findForLink(queries, job, source) : null;
  if (existing !== null) return existing;
  const { waiting, quota } = await standingOf(queries, job.accountId, { atMost: rules.maxQueue });
  const full: Acceptance | null = source.kept === null && waiting >= rules.maxQueue ? { kind: 'queue_full', waiting } : null;
  const overQuota = full ?? (quota === null ? null : await refuseOverQuota(queries, job));
  const refusal = overQuota ?? (job.link ? await refuseOverLinksLimit(queries, job) : null);
  if (refusal === null) return await enter(queries, vault, { ...given, source });
  // The last credit or place may have gone to the same submission, sent twice.
  return (await findReplay(queries, vault, job)) ?? refusal;
}

async function findReplay(queries: Queries, vault: Vault, job: NewJob): Promise<Acceptance | null> {
  if (job.idempotencyKey === null) return null;
  const known = await findJobByIdempotencyKey(queries, job.accountId, job.idempotencyKey);
  if (known === null) return null;
  const sameKey = known.keyId === job.keyId;
  if (!sameKey || !vault.matches('identity', job.identity, known.identityDigest)) return { kind: 'conflict', jobId: known.id, sameKey };
  return { kind: 'replayed', job: toSnapshot(known) };
}

async function findSource(queries: Queries, { job, rules, digests }: Omit<Entry, 'source'>): Promise<Source | typeof AGAIN> {
  if (digests.cache === null || job.cacheTtl === 0) return { kept: null, leader: null };
  await queries.run('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCKS.cacheDigest, `${job.accountId} ${digests.cache}`]);
  const kept = await findKept(queries, job, digests.cache);
  if (kept !== null && kept.artifactName !== rules.missing) return { kept, leader: null };
  const inFlight = await findInFlight(queries, job.accountId, digests.cache);
  if (inFlight === null) return { kept: null, leader: null };
  const leader = await queries.one<{ id: string; lane: string; endedAt: number | null }>(
    'SELECT id, lane, ended_at AS "endedAt" FROM jobs WHERE id = $1 FOR NO KEY UPDATE',
    [inFlight.id],
  );
  return leader === null || leader.endedAt !== null ? AGAIN : { kept: null, leader };
}

/** Finds the job whose picture, or whose render in flight, answers a link; null if each would fail the link before its own timeout. */
async function findForLink(queries: Queries, { mode, options }: NewJob, { kept, leader }: Source): Promise<Acceptance | null> {
  const id = kept?.jobId ?? (leader === null ? null : await findSharing(queries, leader.id, options.timeout));
  const found = id === null ? null : await findJob(queries, id);
  if (found === null) return null;
  if (leader !== null && mode === 'sync' && leader.lane === 'waiting') await promote(queries, leader.id);
  return { kind: 'replayed', job: toSnapshot(found) };
}

function findInFlight(queries: Queries, accountId: string, cacheDigest: string): Promise<{ id: string } | null> {
  return queries.one<{ id: string }>(
    `SELECT id FROM jobs WHERE account_id = $1 AND cache_digest = $2 AND ended_at IS NULL AND leader_id IS NULL ORDER BY seq LIMIT 1`,
    [accountId, cacheDigest],
  );
}

/** Finds the oldest job with at least this timeout among a leader and its followers. */
async function findSharing(queries: Queries, leaderId: string, timeoutMs: number): Promise<string | null> {
  const found = await queries.one<{ id: string }>(
    'SELECT id FROM jobs WHERE (id = $1 OR leader_id = $1) AND timeout_ms >= $2 ORDER BY seq LIMIT 1',
    [leaderId, timeoutMs],
  );
  return found?.id ?? null;
}

/** Finds the newest picture of the same digest; null if it is too old or deleted. */
async function findKept(queries: Queries, job: NewJob, cacheDigest: string): Promise<Kept | null> {
  const found = await findPicture(queries, job.accountId, cacheDigest);
  return found === null || job.enqueuedAt - found.renderedAt > job.cacheTtl * 1000 ? null : found;
}

/** Finds the newest picture of a digest, of any age; null if it is deleted. */
async function findPicture(queries: Queries, accountId: string, cacheDigest: string): Promise<Kept | null> {
  const found = await queries.one<Kept & { goneAt: number | null }>(
    `SELECT job.id AS "jobId", job.rendered_at AS "renderedAt", job.worker_id AS "workerId", artifacts.name AS "artifactName", artifacts.data,
        artifacts.gone_at AS "goneAt"
      FROM jobs job JOIN artifacts ON artifacts.name = job.artifact_name
      WHERE job.account_id = $1 AND job.cache_digest = $2 AND job.rendered_at IS NOT NULL
      ORDER BY job.rendered_at DESC LIMIT 1`,
    [accountId, cacheDigest],
  );
  return found === null || found.goneAt !== null ? null : found;
}

interface Standing {
  /** Waiting jobs of all accounts, including followers of a shared render; counted up to a limit. */
  waiting: number;
  quota: number | null;
}

async function standingOf(queries: Queries, accountId: string, { atMost }: { atMost: number }): Promise<Standing> {
  const found = await queries.one<Standing>(
    `SELECT quota, (SELECT count(*) FROM (SELECT 1 FROM queue_entries LIMIT $2) queued)
        + (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE leader_id IS NOT NULL LIMIT $2) followers) AS waiting
      FROM accounts WHERE id = $1`,
    [accountId, atMost],
  );
  return found ?? { waiting: 0, quota: null };
}

/** Locks the account's row until the transaction ends, so that two submissions do not both take the last credit. */
async function refuseOverQuota(queries: Queries, { accountId, enqueuedAt, price }: NewJob): Promise<Acceptance | null> {
  const account = await queries.one<{ quota: number | null }>('SELECT quota FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
  const quota = account?.quota ?? null;
  if (quota === null) return null;
  const sums = await queries.one<{ used: number; reserved: number }>(
    `SELECT coalesce(sum(settled), 0)::bigint AS used, coalesce(sum(reserved), 0)::bigint AS reserved
      FROM sums WHERE account_id = $1 AND period = $2`,
    [accountId, periodOf(enqueuedAt)],
  );
  const { used, reserved } = sums ?? { used: 0, reserved: 0 };
  if (used + reserved + price <= quota) return null;
  return { kind: 'quota_exceeded', quota, used, reserved, resetsAt: periodEnd(enqueuedAt) };
}

/** Locks the key's row until the transaction ends, so that two links do not both take the last credit. */
async function refuseOverLinksLimit(queries: Queries, { accountId, keyId, enqueuedAt, price }: NewJob): Promise<Acceptance | null> {
  const key = await queries.one<{ limit: number | null }>('SELECT links_limit AS limit FROM api_keys WHERE id = $1 FOR NO KEY UPDATE', [
    keyId,
  ]);
  const limit = key?.limit ?? null;
  if (limit === null) return null;
  const sum = await queries.one<{ used: number }>(
    'SELECT coalesce(sum(settled + reserved), 0)::bigint AS used FROM sums WHERE account_id = $1 AND period = $2 AND name = $3',
    [accountId, periodOf(enqueuedAt), LINK_SUM + keyId],
  );
  const used = sum?.used ?? 0;
  return used + price <= limit ? null : { kind: 'links_limit_exceeded', limit, used, resetsAt: periodEnd(enqueuedAt) };
}

async function enter(queries: Queries, vault: Vault, entry: Entry): Promise<Acceptance | typeof AGAIN> {
  const { job, source } = entry;
  const { kept, leader } = source;
  const isQueued = kept === null && leader === null;
  if (isQueued) await joinTurns(queries, job);
  const inserted = await queries.one<{ paused: boolean }>(INSERT_JOB, insertValues(vault, entry));
  if (inserted === null) return AGAIN;
  if (leader !== null && job.mode === 'sync' && leader.lane === 'waiting') await promote(queries, leader.id);
  const kind = kept !== null ? 'cached' : leader !== null ? 'shared' : 'queued';
  return { kind, job: toSnapshot({ ...insertedRow(job, kept), paused: inserted.paused }) };
}

/** Gives all accounts an equal start if nothing is queued or running. An account that was idle starts at the tag of the latest claim. */
async function joinTurns(queries: Queries, { accountId, enqueuedAt }: NewJob): Promise<void> {
  await queries.run(
    `WITH raised AS (UPDATE queue SET turn = latest.tag FROM (SELECT max(tag) AS tag FROM turns) latest
        WHERE turn < latest.tag AND NOT EXISTS (SELECT 1 FROM jobs WHERE ended_at IS NULL AND leader_id IS NULL) RETURNING turn),
      idle AS (SELECT NOT EXISTS (SELECT 1 FROM queue_entries WHERE account_id = $1) AS is_so)
     UPDATE turns SET seen_at = greatest(seen_at, $2::bigint),
        tag = CASE WHEN idle.is_so THEN greatest(tag, coalesce((SELECT turn FROM raised), (SELECT turn FROM queue))) ELSE tag END
      FROM idle WHERE account_id = $1 AND (idle.is_so OR seen_at < $2::bigint - 60000)`,
    [accountId, enqueuedAt],
  );
}

/**
 * Inserts the job in one statement, with its queue entry, order, credits and delivery, as far as it has them. Inserts nothing if the
 * idempotency key has been bound in the meantime.
 */
const INSERT_JOB = `WITH job AS (
    INSERT INTO jobs (id, account_id, key_id, request_id, mode, state, lane, idempotency_key, identity_digest, cache_digest, timeout_ms,
        delay_ms, leader_id, attempts_made, attempt_budget, enqueued_at, progress, webhook_url, ended_at, worker_id, artifact_name, data, traceparent,
        url)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0, $14, $15, $16, $17::text, $18, $19, $20, $21, $34, $36)
      ON CONFLICT (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
      RETURNING seq, id, account_id, enqueued_at),
  entry AS (INSERT INTO queue_entries (seq, account_id, lane) SELECT seq, account_id, $22::smallint FROM job WHERE $22::smallint IS NOT NULL),
  ordered AS (INSERT INTO orders (job_id, sealed) SELECT id, $23::bytea FROM job WHERE $23::bytea IS NOT NULL),
  reserved AS (INSERT INTO reservations (job_id, account_id, period, credits, state, created_at, link_key_id)
    SELECT id, account_id, $24::text, $25::bigint, $26::text, enqueued_at, $35::text FROM job),
  counted AS (INSERT INTO tallies (account_id, period, name, reserved, settled, jobs)
    SELECT account_id, $24::text, $27::text, CASE $26::text WHEN 'pending' THEN $25::bigint ELSE 0 END,
      CASE $26::text WHEN 'settled' THEN $25::bigint ELSE 0 END, CASE $26::text WHEN 'settled' THEN 1 ELSE 0 END FROM job),
  announced AS (INSERT INTO deliveries (job_id, delivery_id, account_id, url, origin, secret, max_attempts, state, generation, attempts,
      event, due_at, next_attempt_at, expires_at)
    SELECT id, $28::text, account_id, $17::text, $29::text, $30::bytea, $31::int, 'pending', 1, 0, $32::text, $33::bigint, $33::bigint,
      $33::bigint + ${MAX_DELIVERY_AGE_MS} FROM job WHERE $28::text IS NOT NULL)
  SELECT queue.paused FROM job CROSS JOIN queue`;

/** Builds the row as it has just been inserted. */
function insertedRow(job: NewJob, kept: Kept | null): Omit<ReportedJob, 'paused'> {
  const { id, accountId, keyId, requestId, mode, attemptBudget, enqueuedAt } = job;
  const lane = mode === 'sync' ? 'prioritized' : 'waiting';
  const ended = { state: 'completed', progress: 100, endedAt: enqueuedAt, data: SHARED_DATA } as const;
  const queued = { state: lane, progress: 0, endedAt: null, data: null } as const;
  return {
    ...{
      id,
      accountId,
      keyId,
      requestId,
      mode,
      url: jobUrl(job.options),
      attemptBudget,
      enqueuedAt,
      attemptsMade: 0,
      webhookUrl: job.webhook?.url ?? null,
      error: null,
    },
    ...(kept === null ? queued : ended),
    workerId: kept?.workerId ?? null,
    keptData: kept?.data ?? null,
  };
}

function insertValues(vault: Vault, { job, rules, digests, source: { kept, leader } }: Entry): unknown[] {
  const lane = job.mode === 'sync' ? 'prioritized' : 'waiting';
  const isQueued = kept === null && leader === null;
  const endedAt = kept === null ? null : job.enqueuedAt;
  const { webhook, options } = job;
  return [
    ...[job.id, job.accountId, job.keyId, job.requestId, job.mode, kept === null ? lane : 'completed', lane, job.idempotencyKey],
    ...[digests.identity, digests.cache, options.timeout, options.delay, leader?.id ?? null, job.attemptBudget, job.enqueuedAt],
    ...[kept === null ? 0 : 100, webhook?.url ?? null, endedAt, kept?.workerId ?? null, kept?.artifactName ?? null],
    kept === null ? null : SHARED_DATA,
    isQueued ? (lane === 'prioritized' ? 0 : 1) : null,
    kept === null ? vault.seal(JSON.stringify(options), `order:${job.id}`) : null,
    ...[
      periodOf(job.enqueuedAt),
      job.price,
      kept === null ? 'pending' : 'settled',
      job.link ? LINK_SUM + job.keyId : kept === null ? '' : 'completed',
    ],
    webhook === null ? null : newId('delivery', job.enqueuedAt),
    webhook === null ? null : new URL(webhook.url).origin,
    webhook === null ? null : vault.seal(webhook.secret, `webhook:${job.id}`),
    rules.webhookMaxAttempts,
    webhook === null || kept === null ? null : 'capture.completed',
    webhook === null ? null : endedAt,
    job.traceparent,
    job.link ? job.keyId : null,
    jobUrl(options),
  ];
}
