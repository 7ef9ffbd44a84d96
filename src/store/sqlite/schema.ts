import { type SQL, sql } from 'drizzle-orm';
import {
  type AnySQLiteColumn,
  blob,
  check,
  index,
  integer,
  primaryKey,
  type SQLiteColumn,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import type { Scope } from '../../contract/api-key.js';

/**
 * The tables, from which drizzle-kit generates the migrations in drizzle/. Times are Unix ms. Triggers (counters, the finality of ended
 * jobs) cannot be expressed here; they are in the migration `triggers`.
 */

export const accounts = sqliteTable(
  'accounts',
  {
    id: text('id').primaryKey(),
    name: text('name').notNull().unique(),
    quota: integer('quota'),
    createdAt: integer('created_at').notNull(),
  },
  () => [check('accounts_quota', sql`quota IS NULL OR quota >= 0`)],
);

/**
 * The order of accounts, by start-time fair queueing (turns.ts). `queued` counts claimable and delayed jobs, so that a claim need not read
 * idle accounts.
 */
export const turns = sqliteTable(
  'turns',
  {
    accountId: text('account_id')
      .primaryKey()
      .references(() => accounts.id),
    queued: integer('queued').notNull().default(0),
    /** Virtual ms of slot time. The waiting account with the smallest value is next. */
    tag: integer('tag').notNull().default(0),
    /** Moving average of the ms that the account's recent jobs held their slots. */
    typicalMs: integer('typical_ms').notNull().default(1000),
    /** When the account last queued a job. */
    seenAt: integer('seen_at').notNull().default(0),
  },
  (t) => [
    check('turns_queued', sql`queued >= 0`),
    index('turns_next').on(t.tag).where(sql`queued > 0`),
    index('turns_tag').on(t.tag),
    index('turns_seen').on(t.seenAt),
  ],
);

export const apiKeys = sqliteTable('api_keys', {
  id: text('id').primaryKey(),
  accountId: text('account_id')
    .notNull()
    .references(() => accounts.id),
  hash: text('hash').notNull().unique(),
  label: text('label').notNull(),
  scopes: text('scopes', { mode: 'json' }).$type<Scope[]>().notNull(),
  prefix: text('prefix').notNull(),
  createdAt: integer('created_at').notNull(),
  revokedAt: integer('revoked_at'),
  /** Credits per month that its links may cost; null for no limit. */
  linksLimit: integer('links_limit'),
});

/** The cost of a key's links in a month, reserved credits included. */
export const linkCredits = sqliteTable(
  'link_credits',
  {
    keyId: text('key_id')
      .notNull()
      .references(() => apiKeys.id),
    period: text('period').notNull(),
    credits: integer('credits').notNull(),
  },
  (t) => [primaryKey({ columns: [t.keyId, t.period] }), check('link_credits_sum', sql`credits >= 0`)],
);

/** The secrets that sign a key's render links, encrypted. The previous one is valid until a given time. */
export const signingSecrets = sqliteTable(
  'signing_secrets',
  {
    keyId: text('key_id')
      .primaryKey()
      .references(() => apiKeys.id),
    secret: blob('secret', { mode: 'buffer' }).notNull(),
    previous: blob('previous', { mode: 'buffer' }),
    previousUntil: integer('previous_until'),
  },
  () => [check('signing_secrets_previous', sql`(previous IS NULL) = (previous_until IS NULL)`)],
);

export const artifacts = sqliteTable(
  'artifacts',
  {
    name: text('name').primaryKey(),
    bytes: integer('bytes').notNull(),
    sha256: text('sha256').notNull(),
    createdAt: integer('created_at').notNull(),
    goneAt: integer('gone_at'),
    accountId: text('account_id').references(() => accounts.id),
    /** CaptureData as JSON, for all jobs with this picture; null if an older version created the row. */
    data: text('data'),
  },
  (t) => [
    check('artifacts_bytes', sql`bytes >= 0`),
    index('artifacts_oldest').on(t.createdAt).where(sql`gone_at IS NULL`),
    index('artifacts_of_account').on(t.accountId, t.createdAt).where(sql`gone_at IS NULL`),
  ],
);

/**
 * Artifacts to be removed from the storage. A claim announces its artifact here before storing it; such a row is left alone while the claim
 * lasts. A row remains until the storage has removed the artifact, or the claim has completed with it.
 */
export const removals = sqliteTable(
  'removals',
  {
    name: text('name').primaryKey(),
    jobId: text('job_id'),
    workerId: text('worker_id'),
    attempt: integer('attempt'),
  },
  () => [check('removals_claim', sql`(job_id IS NULL) = (worker_id IS NULL) AND (job_id IS NULL) = (attempt IS NULL)`)],
);

/** The disk usage of each account: bytes of pictures that are not deleted, and rows. Updated by triggers. */
export const accountStorage = sqliteTable(
  'account_storage',
  {
    accountId: text('account_id')
      .primaryKey()
      .references(() => accounts.id),
    pictureBytes: integer('picture_bytes').notNull().default(0),
    jobs: integer('jobs').notNull().default(0),
  },
  () => [check('account_storage_sums', sql`picture_bytes >= 0 AND jobs >= 0`)],
);

const ENDED = sql.raw(`state IN ('completed', 'failed')`);

export const jobs = sqliteTable(
  'jobs',
  {
    /** Order of acceptance. */
    seq: integer('seq').primaryKey({ autoIncrement: true }),
    id: text('id').notNull(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    keyId: text('key_id')
      .notNull()
      .references(() => apiKeys.id),
    requestId: text('request_id').notNull(),
    mode: text('mode', { enum: ['sync', 'async'] }).notNull(),
    state: text('state', { enum: ['waiting', 'prioritized', 'active', 'delayed', 'completed', 'failed'] }).notNull(),
    /** The queued state that the job has, or returns to. `prioritized` sorts before `waiting`. */
    lane: text('lane', { enum: ['prioritized', 'waiting'] }).notNull(),
    idempotencyKey: text('idempotency_key'),
    /** Keyed digests, as described in vault.ts. */
    identityDigest: text('identity_digest').notNull(),
    cacheDigest: text('cache_digest'),
    timeoutMs: integer('timeout_ms').notNull(),
    /** While set, the job waits for that job to end. */
    leaderId: text('leader_id').references((): AnySQLiteColumn => jobs.id),
    attemptsMade: integer('attempts_made').notNull(),
    attemptBudget: integer('attempt_budget').notNull(),
    enqueuedAt: integer('enqueued_at').notNull(),
    /** Due time of a delayed job. */
    dueAt: integer('due_at'),
    firstClaimedAt: integer('first_claimed_at'),
    /** Time of the latest claim. */
    claimedAt: integer('claimed_at'),
    /** Slot time in ms that the latest claim was charged in advance; corrected when it ends. */
    bookedMs: integer('booked_ms'),
    /** Lease end of an active job. */
    leaseExpiresAt: integer('lease_expires_at'),
    /** Kept after the end; for a cached result, the worker of the job that rendered it. */
    workerId: text('worker_id'),
    progress: integer('progress').notNull(),
    webhookUrl: text('webhook_url'),
    endedAt: integer('ended_at'),
    /** When this job itself rendered the picture; null for cached and shared results. */
    renderedAt: integer('rendered_at'),
    artifactName: text('artifact_name').references(() => artifacts.name),
    /** Fields that differ from `artifacts.data` (snapshot.ts), as JSON. */
    data: text('data'),
    /** StoredError as JSON. */
    error: text('error'),
    /** The `traceparent` of the submission, if captures are traced. */
    traceparent: text('traceparent'),
    /** Kept after the end, without its query; null if an older version created the row. */
    url: text('url'),
  },
  (t) => [
    uniqueIndex('jobs_id').on(t.id),
    index('jobs_of_key').on(t.keyId, t.state, t.seq),
    uniqueIndex('jobs_idempotency_key').on(t.accountId, t.idempotencyKey).where(sql`idempotency_key IS NOT NULL`),
    index('jobs_claimable').on(t.accountId, t.lane, t.seq).where(sql`state IN ('waiting', 'prioritized', 'delayed') AND leader_id IS NULL`),
    index('jobs_in_flight').on(t.accountId, t.cacheDigest).where(sql`cache_digest IS NOT NULL AND ended_at IS NULL AND leader_id IS NULL`),
    index('jobs_rendered').on(t.accountId, t.cacheDigest, t.renderedAt).where(sql`cache_digest IS NOT NULL AND rendered_at IS NOT NULL`),
    index('jobs_unfinished').on(t.accountId, t.state).where(sql`ended_at IS NULL`),
    index('jobs_followers').on(t.leaderId).where(sql`leader_id IS NOT NULL`),
    index('jobs_due').on(t.dueAt).where(sql`state = 'delayed'`),
    index('jobs_leased').on(t.leaseExpiresAt).where(sql`state = 'active'`),
    index('jobs_ended').on(t.endedAt).where(sql`ended_at IS NOT NULL`),
    index('jobs_artifact').on(t.artifactName).where(sql`artifact_name IS NOT NULL`),
    ...oneOf('jobs', { mode: t.mode, state: t.state, lane: t.lane }),
    check('jobs_queued_in_lane', sql`state NOT IN ('waiting', 'prioritized') OR state = lane`),
    check('jobs_followers_wait', sql`leader_id IS NULL OR state IN ('waiting', 'prioritized')`),
    check('jobs_attempts', sql`attempt_budget >= 1 AND attempts_made BETWEEN 0 AND attempt_budget`),
    check('jobs_progress', sql`progress BETWEEN 0 AND 100`),
    check('jobs_delayed_is_due', sql`(state = 'delayed') = (due_at IS NOT NULL)`),
    check('jobs_active_is_leased', sql`(state = 'active') = (lease_expires_at IS NOT NULL)`),
    check('jobs_ended_at', sql`(${ENDED}) = (ended_at IS NOT NULL)`),
    check('jobs_ended_by', sql`NOT (${ENDED}) OR worker_id IS NOT NULL`),
    check('jobs_completed', sql`(state = 'completed') = (data IS NOT NULL) AND (data IS NULL) = (artifact_name IS NULL)`),
    check('jobs_failed', sql`(state = 'failed') = (error IS NOT NULL)`),
  ],
);

/** Encrypted capture options, deleted when the job ends (decisions.md: proxy passwords are wiped then). */
export const orders = sqliteTable('orders', {
  jobId: text('job_id')
    .primaryKey()
    .references(() => jobs.id, { onDelete: 'cascade' }),
  sealed: blob('sealed', { mode: 'buffer' }).notNull(),
});

/** The ledger: a row per charged job. */
export const reservations = sqliteTable(
  'reservations',
  {
    jobId: text('job_id')
      .primaryKey()
      .references(() => jobs.id, { onDelete: 'cascade' }),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    /** UTC month of the submission, such as `2026-11`; the credits belong to it whenever they are settled. */
    period: text('period').notNull(),
    credits: integer('credits').notNull(),
    state: text('state', { enum: ['pending', 'settled', 'released'] }).notNull(),
    createdAt: integer('created_at').notNull(),
    /** The key whose link it was for; null if it was for none. */
    linkKeyId: text('link_key_id'),
  },
  (t) => [
    ...oneOf('reservations', { state: t.state }),
    check('reservations_credits', sql`credits > 0`),
    index('reservations_pending').on(t.createdAt).where(sql`state = 'pending'`),
  ],
);

/** Sums of the ledger by month; kept longer than the jobs. */
export const usage = sqliteTable(
  'usage',
  {
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    period: text('period').notNull(),
    settled: integer('settled').notNull(),
    reserved: integer('reserved').notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.period] }), check('usage_sums', sql`settled >= 0 AND reserved >= 0`)],
);

/** Outcomes of a month's jobs: `completed`, or the code of a failure. Kept longer than the jobs. */
export const outcomes = sqliteTable(
  'outcomes',
  {
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    period: text('period').notNull(),
    outcome: text('outcome').notNull(),
    jobs: integer('jobs').notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.period, t.outcome] }), check('outcomes_jobs', sql`jobs >= 0`)],
);

/** A job's webhook: created with the job, and due once it has ended. */
export const deliveries = sqliteTable(
  'deliveries',
  {
    jobId: text('job_id')
      .primaryKey()
      .references(() => jobs.id, { onDelete: 'cascade' }),
    deliveryId: text('delivery_id').notNull().unique(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    url: text('url').notNull(),
    origin: text('origin').notNull(),
    /** Encrypted. */
    secret: blob('secret', { mode: 'buffer' }).notNull(),
    event: text('event', { enum: ['capture.completed', 'capture.failed'] }),
    state: text('state', { enum: ['pending', 'delivered', 'failed'] }).notNull(),
    generation: integer('generation').notNull(),
    attempts: integer('attempts').notNull(),
    maxAttempts: integer('max_attempts').notNull(),
    lastStatus: integer('last_status'),
    lastError: text('last_error'),
    lastAttemptAt: integer('last_attempt_at'),
    nextAttemptAt: integer('next_attempt_at'),
    deliveredAt: integer('delivered_at'),
    /** When it may be claimed. */
    dueAt: integer('due_at'),
    claimedUntil: integer('claimed_until'),
    /** When it fails, even if attempts are left. */
    expiresAt: integer('expires_at'),
  },
  (t) => [
    ...oneOf('deliveries', { state: t.state }),
    check('deliveries_due', sql`(due_at IS NOT NULL) = (state = 'pending' AND event IS NOT NULL)`),
    check('deliveries_claimed', sql`claimed_until IS NULL OR due_at IS NOT NULL`),
    check('deliveries_expire', sql`(expires_at IS NOT NULL) = (due_at IS NOT NULL)`),
    check('deliveries_counts', sql`generation >= 1 AND attempts >= 0`),
    index('deliveries_waiting').on(t.accountId, t.origin, t.dueAt).where(sql`due_at IS NOT NULL AND claimed_until IS NULL`),
    index('deliveries_claimed_by').on(t.accountId, t.origin).where(sql`claimed_until IS NOT NULL`),
    index('deliveries_due_last').on(t.dueAt).where(sql`due_at IS NOT NULL`),
    index('deliveries_expiring').on(t.expiresAt).where(sql`expires_at IS NOT NULL`),
  ],
);

/**
 * The receivers of an account's pending deliveries, one row per origin. They save claims from reading a backlog, and record receivers that
 * do not respond.
 */
export const receivers = sqliteTable(
  'receivers',
  {
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    origin: text('origin').notNull(),
    /** When the next waiting delivery may be claimed; null if none waits. */
    readyAt: integer('ready_at'),
    /** Number of running attempts. */
    inHand: integer('in_hand').notNull(),
    /** Number of attempts in a row without a response. */
    silences: integer('silences').notNull().default(0),
    /** No attempt is made before this time, since the receiver did not respond. */
    pausedUntil: integer('paused_until').notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.accountId, t.origin] }),
    check('receivers_counts', sql`in_hand >= 0 AND silences >= 0`),
    index('receivers_of').on(t.accountId, t.readyAt).where(sql`ready_at IS NOT NULL`),
    index('receivers_next').on(t.readyAt).where(sql`ready_at IS NOT NULL`),
  ],
);

/** Maintained counts, so that health stays cheap with millions of old jobs. */
export const counters = sqliteTable('counters', { name: text('name').primaryKey(), value: integer('value').notNull() }, () => [
  check('counters_value', sql`value >= 0`),
]);

/** The table has one row. */
export const queue = sqliteTable(
  'queue',
  { id: integer('id').primaryKey(), paused: integer('paused', { mode: 'boolean' }).notNull() },
  () => [check('queue_one_row', sql`id = 1`), check('queue_paused', sql`paused IN (0, 1)`)],
);

/** Named values of the database itself. */
export const marks = sqliteTable('marks', { name: text('name').primaryKey(), value: text('value').notNull() });

/**
 * Access to the console: links, each for one sign-in, and the sessions that they were exchanged for. Only hashes of their secrets are
 * stored.
 */
export const consoleAccess = sqliteTable(
  'console_access',
  {
    hash: text('hash').primaryKey(),
    kind: text('kind', { enum: ['link', 'session'] }).notNull(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (t) => [...oneOf('console_access', { kind: t.kind })],
);

/** Builds a CHECK for each enumerated column, since drizzle's `enum` is only a type. */
function oneOf(table: string, columns: Record<string, SQLiteColumn>) {
  return Object.entries(columns).map(([name, column]) => {
    const values: SQL = sql.raw((column.enumValues ?? []).map((value) => `'${value}'`).join(', '));
    return check(`${table}_${name}`, sql`${sql.raw(name)} IN (${values})`);
  });
}
