/**
 * The tables of SQLite, from which drizzle-kit makes the migrations in drizzle/. Types are those of rows as the driver returns them. Times
 * are Unix ms. Triggers (counters, the finality of ended jobs) and the first rows stand at the end of the first migration.
 */
import { sql } from 'drizzle-orm';
import {
  type AnySQLiteColumn,
  blob,
  check,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import { sharedChecks, VALUES } from '../constraints.js';

const checks = (table: Parameters<typeof sharedChecks>[0]) =>
  sharedChecks(table).map(([name, condition]) => check(name, sql.raw(condition)));

export const accounts = sqliteTable(
  'accounts',
  {
    id: text().primaryKey(),
    name: text().notNull().unique(),
    quota: integer(),
    createdAt: integer().notNull(),
  },
  () => checks('accounts'),
);

const ofAccount = () =>
  text()
    .notNull()
    .references(() => accounts.id);

/**
 * The order of accounts, by start-time fair queueing (turns.ts). `queued` counts claimable and delayed jobs, so that a claim need not read
 * idle accounts.
 */
export const turns = sqliteTable(
  'turns',
  {
    accountId: text()
      .primaryKey()
      .references(() => accounts.id),
    queued: integer().notNull().default(0),
    /** Virtual ms of slot time. The waiting account with the smallest value is next. */
    tag: integer().notNull().default(0),
    /** Moving average of the ms that the account's recent jobs held their slots. */
    typicalMs: integer().notNull().default(1000),
    /** When the account last queued a job. */
    seenAt: integer().notNull().default(0),
  },
  (t) => [
    check('turns_queued', sql`queued >= 0`),
    index('turns_next').on(t.tag).where(sql`queued > 0`),
    index('turns_tag').on(t.tag),
    index('turns_seen').on(t.seenAt),
  ],
);

export const apiKeys = sqliteTable(
  'api_keys',
  {
    id: text().primaryKey(),
    accountId: ofAccount(),
    hash: text().notNull().unique(),
    label: text().notNull(),
    /** A list, as JSON. */
    scopes: text().notNull(),
    prefix: text().notNull(),
    createdAt: integer().notNull(),
    revokedAt: integer(),
    /** Credits per month that its links may cost; null for no limit. */
    linksLimit: integer(),
  },
  () => checks('api_keys'),
);

/** The cost of a key's links in a month, reserved credits included. */
export const linkCredits = sqliteTable(
  'link_credits',
  {
    keyId: text()
      .notNull()
      .references(() => apiKeys.id),
    period: text().notNull(),
    credits: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.keyId, t.period] }), check('link_credits_sum', sql`credits >= 0`)],
);

/** The secrets that sign a key's render links, encrypted. The previous one is valid until a given time. */
export const signingSecrets = sqliteTable(
  'signing_secrets',
  {
    keyId: text()
      .primaryKey()
      .references(() => apiKeys.id),
    secret: blob({ mode: 'buffer' }).notNull(),
    previous: blob({ mode: 'buffer' }),
    previousUntil: integer(),
  },
  () => checks('signing_secrets'),
);

export const artifacts = sqliteTable(
  'artifacts',
  {
    name: text().primaryKey(),
    bytes: integer().notNull(),
    sha256: text().notNull(),
    createdAt: integer().notNull(),
    goneAt: integer(),
    accountId: ofAccount(),
    /** CaptureData as JSON, for all jobs with this picture; empty for a picture that no job has as its first one. */
    data: text().notNull(),
    /** For a further picture of a job: the job's first picture, with which it is kept, deleted and forgotten. */
    firstName: text().references((): AnySQLiteColumn => artifacts.name, { onDelete: 'cascade' }),
    /** The run of a watch that keeps it, whatever its age. */
    watchRun: text().references((): AnySQLiteColumn => watchRuns.id, { onDelete: 'set null' }),
  },
  (t) => [
    ...checks('artifacts'),
    index('artifacts_expiring').on(t.createdAt).where(sql`gone_at IS NULL AND watch_run IS NULL`),
    index('artifacts_of_run').on(t.watchRun).where(sql`watch_run IS NOT NULL`),
    index('artifacts_of_account').on(t.accountId, t.createdAt).where(sql`gone_at IS NULL`),
    index('artifacts_further').on(t.firstName).where(sql`first_name IS NOT NULL`),
  ],
);

/**
 * Artifacts to be removed from the storage. A claim announces its artifact here before storing it; such a row is left alone while the claim
 * lasts. A row remains until the storage has removed the artifact, or the claim has completed with it.
 */
export const removals = sqliteTable(
  'removals',
  {
    name: text().primaryKey(),
    jobId: text(),
    workerId: text(),
    attempt: integer(),
  },
  () => checks('removals'),
);

/** The disk usage of each account: bytes of pictures that are not deleted, and rows. Updated by triggers. */
export const accountStorage = sqliteTable(
  'account_storage',
  {
    accountId: text()
      .primaryKey()
      .references(() => accounts.id),
    pictureBytes: integer().notNull().default(0),
    jobs: integer().notNull().default(0),
  },
  () => [check('account_storage_sums', sql`picture_bytes >= 0 AND jobs >= 0`)],
);

/** Captures that were submitted together. */
export const batches = sqliteTable(
  'batches',
  {
    id: text().primaryKey(),
    accountId: ofAccount(),
    keyId: text()
      .notNull()
      .references(() => apiKeys.id),
    requestId: text().notNull(),
    idempotencyKey: text(),
    /** A keyed digest, as described in vault.ts. */
    identityDigest: text().notNull(),
    total: integer().notNull(),
    webhookUrl: text(),
    createdAt: integer().notNull(),
    /** When the last of its jobs had ended, or it was removed. */
    completedAt: integer(),
    /** As of jobs. */
    removedAt: integer(),
    /** When all of its jobs had been removed. */
    clearedAt: integer(),
  },
  (t) => [
    uniqueIndex('batches_idempotency_key').on(t.accountId, t.idempotencyKey).where(sql`idempotency_key IS NOT NULL`),
    index('batches_of_key').on(t.keyId, t.id),
    index('batches_active').on(t.createdAt).where(sql`completed_at IS NULL`),
    index('batches_completed').on(t.completedAt).where(sql`completed_at IS NOT NULL`),
    index('batches_clearing').on(t.id).where(sql`removed_at IS NOT NULL AND cleared_at IS NULL`),
  ],
);

export const jobs = sqliteTable(
  'jobs',
  {
    /** Order of acceptance. */
    seq: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull(),
    accountId: ofAccount(),
    keyId: text()
      .notNull()
      .references(() => apiKeys.id),
    requestId: text().notNull(),
    mode: text({ enum: VALUES.jobs.mode }).notNull(),
    state: text({ enum: VALUES.jobs.state }).notNull(),
    /** The queued state that the job has, or returns to. `prioritized` sorts before `waiting`. */
    lane: text({ enum: VALUES.jobs.lane }).notNull(),
    idempotencyKey: text(),
    /** Keyed digests, as described in vault.ts. */
    identityDigest: text().notNull(),
    cacheDigest: text(),
    timeoutMs: integer().notNull(),
    /** While set, the job waits for that job to end. */
    leaderId: text().references((): AnySQLiteColumn => jobs.id),
    attemptsMade: integer().notNull(),
    attemptBudget: integer().notNull(),
    enqueuedAt: integer().notNull(),
    /** Due time of a delayed job. */
    dueAt: integer(),
    firstClaimedAt: integer(),
    /** Time of the latest claim. */
    claimedAt: integer(),
    /** Slot time in ms that the latest claim was charged in advance; corrected when it ends. */
    bookedMs: integer(),
    /** Lease end of an active job. */
    leaseExpiresAt: integer(),
    /** Kept after the end; for a cached result, the worker of the job that rendered it. */
    workerId: text(),
    progress: integer().notNull(),
    webhookUrl: text(),
    endedAt: integer(),
    /** When this job itself rendered the picture; null for cached and shared results. */
    renderedAt: integer(),
    artifactName: text().references(() => artifacts.name),
    /** Fields that differ from `artifacts.data`, as JSON. */
    data: text(),
    /** StoredError as JSON. */
    error: text(),
    /** The `traceparent` of the submission, if captures are traced. */
    traceparent: text(),
    /** Kept after the end, without its query. */
    url: text().notNull(),
    /** When the caller removed it: nobody finds it any more, but its idempotency key stays bound and its webhook is sent. */
    removedAt: integer(),
    batchId: text().references((): AnySQLiteColumn => batches.id),
    /** Its place in the batch. */
    batchIndex: integer(),
  },
  (t) => [
    uniqueIndex('jobs_id').on(t.id),
    index('jobs_of_batch').on(t.batchId, t.batchIndex).where(sql`batch_id IS NOT NULL`),
    index('jobs_unfinished_of_batch').on(t.batchId, t.accountId).where(sql`batch_id IS NOT NULL AND ended_at IS NULL`),
    index('jobs_of_key').on(t.keyId, t.state, t.seq).where(sql`removed_at IS NULL`),
    uniqueIndex('jobs_idempotency_key').on(t.accountId, t.idempotencyKey).where(sql`idempotency_key IS NOT NULL`),
    index('jobs_claimable')
      .on(t.accountId, t.lane, sql`(batch_id IS NOT NULL)`, t.seq)
      .where(sql`state IN ('waiting', 'prioritized', 'delayed') AND leader_id IS NULL`),
    index('jobs_in_flight')
      .on(t.accountId, t.cacheDigest)
      .where(sql`cache_digest IS NOT NULL AND ended_at IS NULL AND leader_id IS NULL`),
    index('jobs_rendered')
      .on(t.accountId, t.cacheDigest, t.renderedAt)
      .where(sql`cache_digest IS NOT NULL AND rendered_at IS NOT NULL`),
    index('jobs_unfinished').on(t.accountId, t.state).where(sql`ended_at IS NULL`),
    index('jobs_followers').on(t.leaderId).where(sql`leader_id IS NOT NULL`),
    index('jobs_due').on(t.dueAt).where(sql`state = 'delayed'`),
    index('jobs_leased').on(t.leaseExpiresAt).where(sql`state = 'active'`),
    index('jobs_ended').on(t.endedAt).where(sql`ended_at IS NOT NULL`),
    index('jobs_artifact').on(t.artifactName).where(sql`artifact_name IS NOT NULL`),
    ...checks('jobs'),
  ],
);

/** Encrypted capture options, deleted when the job ends (decisions.md: proxy passwords are wiped then). */
export const orders = sqliteTable('orders', {
  jobId: text()
    .primaryKey()
    .references(() => jobs.id, { onDelete: 'cascade' }),
  sealed: blob({ mode: 'buffer' }).notNull(),
});

/** The ledger: a row per charged job. */
export const reservations = sqliteTable(
  'reservations',
  {
    jobId: text()
      .primaryKey()
      .references(() => jobs.id, { onDelete: 'cascade' }),
    accountId: ofAccount(),
    /** UTC month of the submission, such as `2026-11`; the credits belong to it whenever they are settled. */
    period: text().notNull(),
    credits: integer().notNull(),
    state: text({ enum: VALUES.reservations.state }).notNull(),
    createdAt: integer().notNull(),
    /** The key whose link it was for; null if it was for none. */
    linkKeyId: text(),
  },
  (t) => [...checks('reservations'), index('reservations_pending').on(t.createdAt).where(sql`state = 'pending'`)],
);

/** Sums of the ledger by month; kept longer than the jobs. */
export const usage = sqliteTable(
  'usage',
  {
    accountId: ofAccount(),
    period: text().notNull(),
    settled: integer().notNull(),
    reserved: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.period] }), check('usage_sums', sql`settled >= 0 AND reserved >= 0`)],
);

/** Outcomes of a month's jobs: `completed`, or the code of a failure. Kept longer than the jobs. */
export const outcomes = sqliteTable(
  'outcomes',
  {
    accountId: ofAccount(),
    period: text().notNull(),
    outcome: text().notNull(),
    jobs: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.period, t.outcome] }), check('outcomes_jobs', sql`jobs >= 0`)],
);

/** The webhook of a job or of a batch: created with it, and due once it has ended. */
export const deliveries = sqliteTable(
  'deliveries',
  {
    /** The id of the job, or of the batch. */
    jobId: text().primaryKey(),
    deliveryId: text().notNull().unique('deliveries_delivery_id_unique'),
    accountId: ofAccount(),
    url: text().notNull(),
    origin: text().notNull(),
    /** Encrypted. */
    secret: blob({ mode: 'buffer' }).notNull(),
    event: text({ enum: VALUES.deliveries.event }),
    state: text({ enum: VALUES.deliveries.state }).notNull(),
    generation: integer().notNull(),
    attempts: integer().notNull(),
    maxAttempts: integer().notNull(),
    lastStatus: integer(),
    lastError: text(),
    lastAttemptAt: integer(),
    nextAttemptAt: integer(),
    deliveredAt: integer(),
    /** When it may be claimed. */
    dueAt: integer(),
    claimedUntil: integer(),
    /** When it fails, even if attempts are left. */
    expiresAt: integer(),
  },
  (t) => [
    ...checks('deliveries'),
    index('deliveries_waiting')
      .on(t.accountId, t.origin, t.dueAt)
      .where(sql`due_at IS NOT NULL AND claimed_until IS NULL`),
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
    accountId: ofAccount(),
    origin: text().notNull(),
    /** When the next waiting delivery may be claimed; null if none waits. */
    readyAt: integer(),
    /** Number of running attempts. */
    inHand: integer().notNull(),
    /** Number of attempts in a row without a response. */
    silences: integer().notNull().default(0),
    /** No attempt is made before this time, since the receiver did not respond. */
    pausedUntil: integer().notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.accountId, t.origin] }),
    check('receivers_counts', sql`in_hand >= 0 AND silences >= 0`),
    index('receivers_of').on(t.accountId, t.readyAt).where(sql`ready_at IS NOT NULL`),
    index('receivers_next').on(t.readyAt).where(sql`ready_at IS NOT NULL`),
  ],
);

/** Maintained counts, so that health stays cheap with millions of old jobs. */
export const counters = sqliteTable('counters', { name: text().primaryKey(), value: integer().notNull() }, () => [
  check('counters_value', sql`value >= 0`),
]);

/** The table has one row. */
export const queue = sqliteTable('queue', { id: integer().primaryKey(), paused: integer().notNull() }, () => [
  ...checks('queue'),
  check('queue_paused', sql`paused IN (0, 1)`),
]);

/** Named values of the database itself. */
export const marks = sqliteTable('marks', { name: text().primaryKey(), value: text().notNull() });

/**
 * Access to the console: links, each for one sign-in, and the sessions that they were exchanged for. Only hashes of their secrets are
 * stored.
 */
export const consoleAccess = sqliteTable(
  'console_access',
  {
    hash: text().primaryKey(),
    kind: text({ enum: VALUES.console_access.kind }).notNull(),
    createdAt: integer().notNull(),
    expiresAt: integer().notNull(),
  },
  () => checks('console_access'),
);

/** Watches. `sealed` is the whole definition, encrypted; the other columns are what the schedule and lists need of it. */
export const watches = sqliteTable(
  'watches',
  {
    id: text().primaryKey(),
    accountId: ofAccount(),
    keyId: text()
      .notNull()
      .references(() => apiKeys.id),
    sealed: blob({ mode: 'buffer' }).notNull(),
    /** The part of WatchTimes that the definition decides, as JSON. */
    schedule: text().notNull(),
    keepRuns: integer().notNull(),
    keepDays: integer().notNull(),
    /** When it is due; null if it is not going to be. */
    nextAt: integer(),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
    /** Failed runs in a row. */
    failures: integer().notNull().default(0),
    /** The failure that has been reported. */
    alarm: text({ enum: VALUES.watches.alarm }),
    previousRun: text(),
    approvedRun: text(),
  },
  (t) => [
    ...checks('watches'),
    index('watches_due').on(t.nextAt).where(sql`next_at IS NOT NULL`),
    index('watches_of_key').on(t.keyId, t.id),
    index('watches_of_account').on(t.accountId),
  ],
);

/** The versions of templates, which never change. The newest is never deleted alone, so that no number is given twice. */
export const templates = sqliteTable(
  'templates',
  {
    id: text().primaryKey(),
    accountId: ofAccount(),
    name: text().notNull(),
    version: integer().notNull(),
    /** TemplateManifest as JSON. */
    manifest: text().notNull(),
    /** A list of PageFile as JSON. */
    files: text().notNull(),
    bytes: integer().notNull(),
    /** The digest of the names and contents of all files. */
    sha256: text().notNull(),
    createdAt: integer().notNull(),
    /** The content of all files. The last column, so that the others are read without it. */
    content: blob({ mode: 'buffer' }).notNull(),
  },
  (t) => [...checks('templates'), uniqueIndex('templates_version').on(t.accountId, t.name, t.version)],
);

/** Runs of watches: one for each due time, and at most one that has not ended for each watch. */
export const watchRuns = sqliteTable(
  'watch_runs',
  {
    id: text().primaryKey(),
    watchId: text()
      .notNull()
      .references((): AnySQLiteColumn => watches.id, { onDelete: 'cascade' }),
    accountId: text().notNull(),
    dueAt: integer().notNull(),
    cause: text({ enum: VALUES.watch_runs.cause }).notNull(),
    state: text({ enum: VALUES.watch_runs.state }).notNull(),
    attempt: integer().notNull(),
    jobId: text(),
    /** When it is looked at next, or its claim ends; null once it has ended. */
    wakeAt: integer(),
    /** The token of the claim under which it is worked on, or was ended. */
    claim: text(),
    startedAt: integer(),
    endedAt: integer(),
    share: real(),
    picture: text(),
    changes: text(),
    /** RunData as JSON. */
    data: text(),
    /** StoredError as JSON. */
    error: text(),
  },
  (t) => [
    ...checks('watch_runs'),
    uniqueIndex('watch_runs_due').on(t.watchId, t.dueAt),
    uniqueIndex('watch_runs_unfinished').on(t.watchId).where(sql`ended_at IS NULL`),
    index('watch_runs_queued').on(t.accountId, t.wakeAt).where(sql`state = 'queued'`),
    index('watch_runs_running').on(t.wakeAt).where(sql`state = 'running'`),
    index('watch_runs_awake').on(t.wakeAt).where(sql`wake_at IS NOT NULL`),
    index('watch_runs_ended').on(t.endedAt).where(sql`ended_at IS NOT NULL`),
  ],
);

/** The messages of runs: one for each send and recipient, once for each event. */
export const watchMessages = sqliteTable(
  'watch_messages',
  {
    id: text().primaryKey(),
    watchId: text().notNull(),
    runId: text()
      .notNull()
      .references(() => watchRuns.id, { onDelete: 'cascade' }),
    accountId: text().notNull(),
    /** Index of the send, and the signed address there. */
    target: integer().notNull(),
    recipient: text().notNull(),
    kind: text({ enum: VALUES.watch_messages.kind }).notNull(),
    event: text({ enum: VALUES.watch_messages.event }).notNull(),
    state: text({ enum: VALUES.watch_messages.state }).notNull().default('pending'),
    attempts: integer().notNull().default(0),
    generation: integer().notNull().default(1),
    /** When the next attempt is due, or its claim ends; null once it has ended. */
    dueAt: integer(),
    claim: text(),
    lastStatus: integer(),
    lastError: text(),
    lastAttemptAt: integer(),
    deliveredAt: integer(),
  },
  (t) => [
    ...checks('watch_messages'),
    uniqueIndex('watch_messages_once').on(t.runId, t.event, t.target, t.recipient),
    index('watch_messages_due').on(t.accountId, t.dueAt).where(sql`due_at IS NOT NULL`),
    index('watch_messages_next').on(t.dueAt).where(sql`due_at IS NOT NULL`),
  ],
);
