/**
 * Acceptance (rules/jobs.ts): one statement for a new job that nothing known answers and nothing refuses, or else one transaction. Locks, in
 * this order: the cache digest (advisory), so that two identical submissions do not both render; the row of the render in flight, which its
 * end locks as well, so that no job follows one that has just ended; the row of an account with a quota; the row of a link's key.
 */
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
  type Queries,
  SHARING,
  type Source,
  toSnapshot,
} from '../rows.js';
import { MAX_DELIVERY_AGE_MS, newDelivery } from '../rules/deliveries.js';
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
import type { Acceptance, AcceptRules, Charge, LinkAnswer, LinkRequest, NewJob, QuotaExceeded } from '../store.js';
import { encryptOptions, type Vault } from '../vault.js';
import { type Database, LOCKS, RELAXED } from './connect.js';
import { type Corrections, LINK_SUM, promote } from './jobs.js';

interface FoundSource extends Source {
  kept: Picture | null;
  /** Whether the render in flight has the priority of an asynchronous job. */
  isLeaderWaiting: boolean;
}

interface Entry {
  job: NewJob;
  rules: AcceptRules;
  digests: Digests;
  source: FoundSource;
  /** Whether the statement that enters the job is to check that nothing known answers or refuses it. */
  isUnchecked?: boolean;
}

const NO_SOURCE: FoundSource = { kept: null, leaderId: null, isLeaderWaiting: false };

/** The render in flight or the key was not in the state that was read, because another transaction has just changed it: try again. */
const AGAIN = 'again';

export async function accept(
  database: Database,
  vault: Vault,
  { job, rules, corrections }: { job: NewJob; rules: AcceptRules; corrections: Corrections },
): Promise<Acceptance> {
  const submission = { job, rules, digests: digestsOf(vault, job) };
  const inserted = job.link
    ? null
    : await insertAcceptedJob(database, vault, { ...submission, source: NO_SOURCE, isUnchecked: true });
  const { acceptance, isFirst, isAlone, isBehind } = inserted ?? (await acceptTogether(database, vault, submission));
  const isCorrected = isFirst && (isAlone || corrections.isWaiting(job.accountId));
  if (isCorrected) await corrections.flush();
  // After the transaction, which would keep the turn locked until its commit is on disk, and claims waiting. If it fails, the account may
  // have one turn too early.
  if (isCorrected || isBehind) await joinTurns(database, job, RELAXED).catch(() => undefined);
  return acceptance;
}

interface Accepted {
  acceptance: Acceptance;
  /** Whether the account had nothing queued, so that it may have to join the turns of those that have. */
  isFirst: boolean;
  /** Whether it is the first, and no other account has jobs either. */
  isAlone: boolean;
  /** Whether the account was not seen for a minute, or had nothing queued and has a turn before those of the others. */
  isBehind: boolean;
}

async function acceptTogether(database: Database, vault: Vault, submission: Omit<Entry, 'source'>): Promise<Accepted> {
  for (;;) {
    const accepted = await database.transaction((queries) => decide(queries, vault, submission));
    if (accepted !== AGAIN) return accepted;
  }
}

/** Finds the artifacts that `accept` would answer from; none for a repeated submission. */
export async function cachedArtifacts(queries: Queries, vault: Vault, job: NewJob): Promise<string[]> {
  const digest = cacheDigestOf(vault, job);
  if (digest === null || job.cacheTtl === 0 || (await findByIdempotencyKey(queries, job)) !== null) return [];
  const found = await queries.one<Picture>(NEWEST_PICTURE, [job.accountId, digest]);
  return found !== null && isUsable(found, job) ? artifactsOf(job, found) : [];
}

/** Finds the picture or the render in flight that could answer a link without an acceptance. */
export async function findLinkAnswer(
  queries: Queries,
  vault: Vault,
  { accountId, cacheIdentity, timeout }: LinkRequest,
): Promise<LinkAnswer> {
  const digest = cacheDigestOf(vault, { cacheIdentity });
  if (digest === null) return { picture: null, inFlight: false };
  const [found, leader] = await Promise.all([
    queries.one<Picture>(NEWEST_PICTURE, [accountId, digest]),
    queries.one<{ id: string }>(IN_FLIGHT, [accountId, digest]),
  ]);
  const inFlight = leader !== null && (await queries.one(SHARING, [leader.id, timeout])) !== null;
  return linkAnswerOf(found, inFlight);
}

async function findByIdempotencyKey(queries: Queries, { accountId, idempotencyKey }: NewJob): Promise<FoundJob | null> {
  return idempotencyKey === null
    ? null
    : await queries.one<FoundJob>(JOB_BY_IDEMPOTENCY_KEY, [accountId, idempotencyKey]);
}

async function decide(
  queries: Queries,
  vault: Vault,
  submission: Omit<Entry, 'source'>,
): Promise<Accepted | typeof AGAIN> {
  const answered = (acceptance: Acceptance) => ({ acceptance, isFirst: false, isAlone: false, isBehind: false });
  const known = await findByIdempotencyKey(queries, submission.job);
  if (known !== null) return answered(replayOrConflict(vault, submission.job, known));
  const found = await findSource(queries, submission);
  if (found === AGAIN) return AGAIN;
  const entry = queueUpload({ ...submission, source: found });
  const { job, rules, source } = entry;
  const existing = job.link ? await findForLink(queries, job, source) : null;
  if (existing !== null) return answered(existing);
  const refusal = await refuse(queries, job, { source, rules });
  if (refusal === null) return (await insertAcceptedJob(queries, vault, entry)) ?? AGAIN;
  // The last credit or place may have gone to the same submission, sent twice.
  const knownNow = await findByIdempotencyKey(queries, job);
  return answered(knownNow === null ? refusal : replayOrConflict(vault, job, knownNow));
}

async function findSource(
  queries: Queries,
  { job, rules, digests }: Omit<Entry, 'source'>,
): Promise<FoundSource | typeof AGAIN> {
  if (digests.cache === null || job.cacheTtl === 0) return NO_SOURCE;
  await queries.run('SELECT pg_advisory_xact_lock($1, hashtext($2))', [
    LOCKS.cacheDigest,
    `${job.accountId} ${digests.cache}`,
  ]);
  const kept = await queries.one<Picture>(NEWEST_PICTURE, [job.accountId, digests.cache]);
  if (kept !== null && isUsable(kept, job, rules.missing)) return { ...NO_SOURCE, kept };
  const inFlight = await queries.one<{ id: string }>(IN_FLIGHT, [job.accountId, digests.cache]);
  if (inFlight === null) return NO_SOURCE;
  const leader = await queries.one<Pick<JobRow, 'id' | 'lane' | 'endedAt'>>(
    'SELECT id, lane, ended_at FROM jobs WHERE id = $1 FOR NO KEY UPDATE',
    [inFlight.id],
  );
  if (leader === null || leader.endedAt !== null) return AGAIN;
  return { kept: null, leaderId: leader.id, isLeaderWaiting: leader.lane === 'waiting' };
}

/** Finds the job whose picture, or whose render in flight, answers a link; null if each would fail the link before its own timeout. */
async function findForLink(queries: Queries, job: NewJob, source: FoundSource): Promise<Acceptance | null> {
  const { kept, leaderId } = source;
  const sharing =
    leaderId === null ? null : await queries.one<{ id: string }>(SHARING, [leaderId, job.options.timeout]);
  const id = kept?.jobId ?? sharing?.id;
  const found = id === undefined ? null : await queries.one<FoundJob>(JOB_BY_ID, [id]);
  if (found === null) return null;
  await promoteLeader(queries, job, source);
  return { kind: 'replayed', job: toSnapshot(found) };
}

async function promoteLeader(
  queries: Queries,
  { mode }: NewJob,
  { leaderId, isLeaderWaiting }: FoundSource,
): Promise<void> {
  if (leaderId !== null && mode === 'sync' && isLeaderWaiting) await promote(queries, leaderId);
}

/** Locks the rows of the account and the key until the transaction ends, so that two submissions do not both take the last credit. */
async function refuse(
  queries: Queries,
  job: NewJob,
  { source, rules }: { source: Source; rules: AcceptRules },
): Promise<Acceptance | null> {
  const { accountId, keyId } = job;
  const { maxQueue } = rules;
  const { waiting, quota } = await standingOf(queries, accountId, maxQueue);
  const full = refuseWhenFull(source, { waiting, maxQueue });
  if (full !== null) return full;
  const account = quota === null ? null : await queries.one<{ quota: number | null }>(LOCKED_QUOTA, [accountId]);
  if (account !== null && account.quota !== null) {
    const refusal = refuseOverQuota(job, { quota: account.quota, ...(await sumsOf(queries, job, null)) });
    if (refusal !== null) return refusal;
  }
  const limit = job.link
    ? ((await queries.one<{ linksLimit: number | null }>(LOCKED_LIMIT, [keyId]))?.linksLimit ?? null)
    : null;
  if (limit === null) return null;
  const { used, reserved } = await sumsOf(queries, job, LINK_SUM + keyId);
  return refuseOverLinksLimit(job, { limit, used: used + reserved });
}

/** Refuses credits that the quota does not cover. Locks the account as `refuse` does. */
export async function refuseSum(queries: Queries, order: Charge): Promise<QuotaExceeded | null> {
  const quota = (await queries.one<{ quota: number | null }>(LOCKED_QUOTA, [order.accountId]))?.quota ?? null;
  return quota === null ? null : refuseOverQuota(order, { quota, ...(await sumsOf(queries, order, null)) });
}

/** Charges credits for which there is no job. */
export async function charge(queries: Queries, order: Charge): Promise<QuotaExceeded | null> {
  const { accountId, price, enqueuedAt } = order;
  const refusal = await refuseSum(queries, order);
  if (refusal !== null) return refusal;
  await queries.run(`INSERT INTO tallies (account_id, period, name, settled) VALUES ($1, $2, '', $3)`, [
    accountId,
    periodOf(enqueuedAt),
    price,
  ]);
  return null;
}

const LOCKED_QUOTA = 'SELECT quota FROM accounts WHERE id = $1 FOR NO KEY UPDATE';
const LOCKED_LIMIT = 'SELECT links_limit FROM api_keys WHERE id = $1 FOR NO KEY UPDATE';

interface Standing {
  /** Waiting jobs of all accounts, including followers of a shared render; counted up to a limit. */
  waiting: number;
  quota: number | null;
}

async function standingOf(queries: Queries, accountId: string, atMost: number): Promise<Standing> {
  const found = await queries.one<Standing>(
    `SELECT quota, (SELECT count(*) FROM (SELECT 1 FROM queue_entries WHERE lane < 2 LIMIT $2) queued)
        + (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE leader_id IS NOT NULL LIMIT $2) followers) AS waiting
      FROM accounts WHERE id = $1`,
    [accountId, atMost],
  );
  return found ?? { waiting: 0, quota: null };
}

/** Sums the credits of an account in the month of a submission. @param name of the tallies to sum; null for all */
async function sumsOf(
  queries: Queries,
  { accountId, enqueuedAt }: Pick<NewJob, 'accountId' | 'enqueuedAt'>,
  name: string | null,
): Promise<{ used: number; reserved: number }> {
  const sums = await queries.one<{ used: number; reserved: number }>(
    `SELECT coalesce(sum(settled), 0)::bigint AS used, coalesce(sum(reserved), 0)::bigint AS reserved
      FROM sums WHERE account_id = $1 AND period = $2 ${name === null ? '' : 'AND name = $3'}`,
    [accountId, periodOf(enqueuedAt), ...(name === null ? [] : [name])],
  );
  return sums ?? { used: 0, reserved: 0 };
}

/** @returns null if the idempotency key is bound, or if the entry was unchecked and something known might answer or refuse it */
async function insertAcceptedJob(queries: Queries, vault: Vault, entry: Entry): Promise<Accepted | null> {
  const { job, digests, source } = entry;
  const { kept } = source;
  const row = newJobRow(job, digests, source);
  const inserted = await queries.one<{ paused: boolean } & Omit<Accepted, 'acceptance'>>(
    INSERT_JOB,
    insertValues(vault, row, entry),
  );
  if (inserted === null) return null;
  await promoteLeader(queries, job, source);
  const acceptance = acceptanceOf(row, source, { paused: inserted.paused, keptData: kept?.data ?? null });
  const isQueued = acceptance.kind === 'queued';
  const { isFirst, isAlone, isBehind } = inserted;
  return { acceptance, isFirst: isQueued && isFirst, isAlone: isQueued && isAlone, isBehind: isQueued && isBehind };
}

/**
 * Gives all accounts an equal start if nothing else is queued or running. An account that was idle starts at the tag of the latest claim.
 * @param commit RELAXED, if it is a transaction of its own
 */
export async function joinTurns(
  queries: Queries,
  { id, accountId, enqueuedAt }: Pick<NewJob, 'id' | 'accountId' | 'enqueuedAt'>,
  commit = '(SELECT 1) durable',
): Promise<void> {
  await queries.run(
    `WITH own AS MATERIALIZED (SELECT (SELECT seq FROM jobs WHERE id = $3) AS seq FROM ${commit}), raised AS (UPDATE queue SET turn = latest.tag FROM (SELECT max(tag) AS tag FROM turns) latest
        WHERE turn < latest.tag AND NOT EXISTS (SELECT 1 FROM jobs WHERE ended_at IS NULL AND leader_id IS NULL AND seq IS DISTINCT FROM (SELECT seq FROM own))
        RETURNING turn),
      start AS (SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM queue_entries WHERE account_id = $1 AND seq IS DISTINCT FROM (SELECT seq FROM own))
        THEN coalesce((SELECT turn FROM raised), (SELECT turn FROM queue)) ELSE 0 END AS tag)
     UPDATE turns SET seen_at = greatest(seen_at, $2::bigint), tag = greatest(turns.tag, start.tag)
      FROM start WHERE account_id = $1 AND (turns.tag < start.tag OR seen_at < $2::bigint - 60000)`,
    [accountId, enqueuedAt, id],
  );
}

/**
 * Inserts the job in one statement, with its queue entry, order, credits and delivery, as far as it has them. Inserts nothing if the
 * idempotency key has been bound in the meantime, or if the checks of `stillframe_admits` are asked for ($37) and fail.
 */
const INSERT_JOB = `WITH job AS (
    INSERT INTO jobs (id, account_id, key_id, request_id, mode, state, lane, idempotency_key, identity_digest, cache_digest, timeout_ms,
        delay_ms, leader_id, attempts_made, attempt_budget, enqueued_at, progress, webhook_url, ended_at, worker_id, artifact_name, data, traceparent,
        url)
      SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0, $14, $15, $16, $17::text, $18, $19, $20, $21, $34, $36
        WHERE $37::bigint IS NULL OR stillframe_admits($2, $39, $38, $37, $24, $25)
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
  SELECT queue.paused, known.is_first,
      known.is_first AND NOT EXISTS (SELECT 1 FROM jobs WHERE ended_at IS NULL AND leader_id IS NULL) AS is_alone,
      turns.seen_at < $15 - 60000 OR known.is_first AND turns.tag < queue.turn AS is_behind
    FROM job CROSS JOIN queue CROSS JOIN (SELECT NOT EXISTS (SELECT 1 FROM queue_entries WHERE account_id = $2) AS is_first) known
      LEFT JOIN turns ON turns.account_id = $2`;

function insertValues(
  vault: Vault,
  row: Omit<JobRow, 'seq'>,
  { job, rules, source: { kept, leaderId }, isUnchecked = false }: Entry,
): unknown[] {
  const { webhook, options, link } = job;
  const delivery = webhook === null ? null : newDelivery(vault, job.id, { webhook, now: job.enqueuedAt });
  const isQueued = kept === null && leaderId === null;
  return [
    row.id,
    row.accountId,
    row.keyId,
    row.requestId,
    row.mode,
    row.state,
    row.lane,
    row.idempotencyKey,
    row.identityDigest,
    row.cacheDigest,
    row.timeoutMs,
    options.delay,
    leaderId,
    row.attemptBudget,
    row.enqueuedAt,
    row.progress,
    row.webhookUrl,
    row.endedAt,
    row.workerId,
    row.artifactName,
    row.data,
    isQueued ? (row.lane === 'prioritized' ? 0 : 1) : null,
    kept === null ? encryptOptions(vault, job.id, options) : null,
    periodOf(job.enqueuedAt),
    job.price,
    kept === null ? 'pending' : 'settled',
    link ? LINK_SUM + job.keyId : kept === null ? '' : 'completed',
    delivery?.deliveryId,
    delivery?.origin,
    delivery?.secret,
    rules.webhookMaxAttempts,
    ...(delivery === null || kept === null ? [null, null] : ['capture.completed', row.endedAt]),
    row.traceparent,
    link ? job.keyId : null,
    row.url,
    isUnchecked ? rules.maxQueue : null,
    job.enqueuedAt - job.cacheTtl * 1000,
    job.cacheTtl === 0 ? null : row.cacheDigest,
  ];
}
