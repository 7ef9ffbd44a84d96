import { periodOf } from '../../contract/pricing.js';
import {
  type Digests,
  type FoundJob,
  IN_FLIGHT,
  JOB_BY_ID,
  JOB_BY_IDEMPOTENCY_KEY,
  type JobRow,
  NEWEST_PICTURE,
  newJobRow,
  type Picture,
  SHARING,
  type Source,
  toSnapshot,
} from '../rows.js';
import {
  acceptanceOf,
  artifactsOf,
  cacheDigestOf,
  digestsOf,
  isUsable,
  linkAnswerOf,
  queueUpload,
  refuseOverLinksLimit,
  refuseOverQuota,
  refuseWhenFull,
  replayOrConflict,
} from '../rules/jobs.js';
import type { Acceptance, AcceptRules, LinkAnswer, LinkRequest, NewJob } from '../store.js';
import { encryptOptions, type Vault } from '../vault.js';
import type { Sql } from './connection.js';
import { announceDelivery, insertDelivery } from './deliveries.js';
import { book, countBatched, countOutcome, countWaiting, isPaused, standingOf } from './ledger.js';
import { joinTurns } from './turns.js';

interface FoundSource extends Source {
  kept: Picture | null;
}

/** Accepts a submission inside the caller's transaction. `enqueuedAt` must be the current time. */
export function accept(sql: Sql, vault: Vault, submission: { job: NewJob; rules: AcceptRules }): Acceptance {
  const known = findByIdempotencyKey(sql, submission.job);
  if (known !== null) return replayOrConflict(vault, submission.job, known);
  const digests = digestsOf(vault, submission.job);
  const entry = queueUpload({
    ...submission,
    digests,
    source: findSource(sql, submission.job, { digests, rules: submission.rules }),
  });
  const { job, rules, source } = entry;
  const existing = job.link ? findForLink(sql, job, source) : null;
  if (existing !== null) return existing;
  return refuse(sql, job, { source, rules }) ?? insertAcceptedJob(sql, vault, entry);
}

/** Finds the picture or the render in flight that could answer a link without an acceptance. */
export function findLinkAnswer(sql: Sql, vault: Vault, request: LinkRequest): LinkAnswer {
  const digest = cacheDigestOf(vault, request);
  if (digest === null) return { picture: null, inFlight: false };
  const found = sql.one<Picture>(NEWEST_PICTURE, [request.accountId, digest]);
  const leaderId = findInFlight(sql, request.accountId, digest);
  const inFlight = leaderId !== null && findSharing(sql, leaderId, request.timeout) !== null;
  return linkAnswerOf(found, inFlight);
}

/** Finds the artifacts that `accept` would answer from; none for a repeated submission. */
export function cachedArtifacts(sql: Sql, vault: Vault, job: NewJob): string[] {
  if (job.cacheTtl === 0 || findByIdempotencyKey(sql, job) !== null) return [];
  const kept = findKept(sql, job, { cacheDigest: cacheDigestOf(vault, job), missing: null });
  return kept === null ? [] : artifactsOf(job, kept);
}

export function findJob(sql: Sql, id: string): FoundJob | null {
  return sql.one<FoundJob>(JOB_BY_ID, [id]);
}

function findByIdempotencyKey(sql: Sql, { accountId, idempotencyKey }: NewJob): FoundJob | null {
  return idempotencyKey === null ? null : sql.one<FoundJob>(JOB_BY_IDEMPOTENCY_KEY, [accountId, idempotencyKey]);
}

/** Finds the oldest unfinished job that renders for a digest. */
export function findInFlight(sql: Sql, accountId: string, cacheDigest: string): string | null {
  return sql.one<{ id: string }>(IN_FLIGHT, [accountId, cacheDigest])?.id ?? null;
}

function findSharing(sql: Sql, leaderId: string, timeoutMs: number): string | null {
  return sql.one<{ id: string }>(SHARING, [leaderId, timeoutMs])?.id ?? null;
}

function findSource(sql: Sql, job: NewJob, { digests, rules }: { digests: Digests; rules: AcceptRules }): FoundSource {
  const kept = findKept(sql, job, { cacheDigest: digests.cache, missing: rules.missing ?? null });
  const leaderId =
    kept !== null || digests.cache === null || job.cacheTtl === 0
      ? null
      : findInFlight(sql, job.accountId, digests.cache);
  return { kept, leaderId };
}

export function findKept(
  sql: Sql,
  job: NewJob,
  rules: { cacheDigest: string | null; missing: string | null },
): Picture | null {
  if (rules.cacheDigest === null || job.cacheTtl === 0) return null;
  const found = sql.one<Picture>(NEWEST_PICTURE, [job.accountId, rules.cacheDigest]);
  return found !== null && isUsable(found, job, rules.missing) ? found : null;
}

/** Finds the job whose picture, or whose render in flight, answers a link; null if each would fail the link before its own timeout. */
function findForLink(sql: Sql, { mode, options }: NewJob, { kept, leaderId }: FoundSource): Acceptance | null {
  const id = kept?.jobId ?? (leaderId === null ? null : findSharing(sql, leaderId, options.timeout));
  const found = id === null ? null : findJob(sql, id);
  if (found === null) return null;
  if (leaderId !== null && mode === 'sync') promote(sql, leaderId);
  return { kind: 'replayed', job: toSnapshot(found) };
}

function refuse(sql: Sql, job: NewJob, { source, rules }: { source: Source; rules: AcceptRules }): Acceptance | null {
  const all = countWaiting(sql);
  // Captures of batches have a limit of their own.
  const waiting = all < rules.maxQueue ? all : all - countBatched(sql);
  const full = refuseWhenFull(source, { waiting, maxQueue: rules.maxQueue });
  if (full !== null) return full;
  const standing = standingOf(sql, job);
  const { linksLimit: limit, linksUsed: used } = standing;
  return refuseOverQuota(job, standing) ?? (job.link ? refuseOverLinksLimit(job, { limit, used }) : null);
}

interface Entry {
  job: NewJob;
  rules: AcceptRules;
  digests: Digests;
  source: FoundSource;
}

/** Inserts a job with its credits, and with its order or the picture that answers it. */
export function insertAcceptedJob(sql: Sql, vault: Vault, { job, rules, digests, source }: Entry): Acceptance {
  const { kept, leaderId } = source;
  const row = newJobRow(job, digests, source);
  if (kept === null && leaderId === null) joinTurns(sql, job.accountId, job.enqueuedAt);
  insertJob(sql, row);
  if (job.webhook !== null)
    insertDelivery(sql, vault, { job, webhook: job.webhook, maxAttempts: rules.webhookMaxAttempts });
  book(sql, job, kept === null ? 'pending' : 'settled');
  if (kept === null)
    sql.run('INSERT INTO orders (job_id, sealed) VALUES ($1, $2)', [
      job.id,
      encryptOptions(vault, job.id, job.options),
    ]);
  else {
    countOutcome(sql, job.accountId, periodOf(job.enqueuedAt), 'completed');
    announceDelivery(sql, job.id, { event: 'capture.completed', now: job.enqueuedAt });
  }
  if (leaderId !== null && job.mode === 'sync') promote(sql, leaderId);
  return acceptanceOf(row, source, { paused: isPaused(sql), keptData: kept?.data ?? null });
}

const INSERTED = `id, account_id, key_id, request_id, mode, state, lane, idempotency_key, identity_digest, cache_digest, timeout_ms, leader_id,
  attempts_made, attempt_budget, enqueued_at, due_at, first_claimed_at, claimed_at, booked_ms, lease_expires_at, worker_id, progress,
  webhook_url, ended_at, rendered_at, artifact_name, data, error, traceparent, url, removed_at, batch_id, batch_index`;
/** Its parameters are the fields of `newJobRow`, in their order. */
const INSERT_JOB = `INSERT INTO jobs (${INSERTED}) VALUES (${INSERTED.split(',').map((_, i) => `$${i + 1}`)})`;

export function insertJob(sql: Sql, row: Omit<JobRow, 'seq'>): void {
  sql.run(INSERT_JOB, Object.values(row));
}

/** Gives an asynchronous job the priority of a synchronous one. */
export function promote(sql: Sql, id: string): void {
  sql.run(
    `UPDATE jobs SET lane = 'prioritized', state = iif(state = 'waiting', 'prioritized', state)
      WHERE id = $1 AND lane = 'waiting' AND ended_at IS NULL`,
    [id],
  );
}
