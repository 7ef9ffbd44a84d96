/**
 * The tables of PostgreSQL, from which drizzle-kit makes the migrations in drizzle-pg/. Columns that SQLite has too are described in its
 * schema. What the other engine keeps in counters that every writer updates is here a sum over `tallies`: rows that are only inserted, so
 * that no two writers wait for each other. Functions, triggers and the first rows stand at the end of the first migration.
 */
import { sql } from 'drizzle-orm';
import {
  type AnyPgColumn,
  bigint,
  boolean,
  check,
  customType,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  pgView,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import type { Scope } from '../../contract/api-key.js';
import { sharedChecks, VALUES } from '../constraints.js';
import type { NodeFacts } from '../store.js';

const checks = (table: Parameters<typeof sharedChecks>[0]) =>
  sharedChecks(table).map(([name, condition]) => check(name, sql.raw(condition)));

/** A time, a sum or a size. The driver returns it as a number (connect.ts). */
const int8 = () => bigint({ mode: 'number' });
const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });
/** Compared byte by byte, as objects of a bucket are listed. */
const bytewise = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });

export const accounts = pgTable(
  'accounts',
  { id: text().primaryKey(), name: text().notNull().unique(), quota: int8(), createdAt: int8().notNull() },
  () => checks('accounts'),
);

const ofAccount = () =>
  text()
    .notNull()
    .references(() => accounts.id);

export const apiKeys = pgTable(
  'api_keys',
  {
    id: text().primaryKey(),
    accountId: ofAccount(),
    hash: text().notNull().unique(),
    label: text().notNull(),
    scopes: jsonb().$type<Scope[]>().notNull(),
    prefix: text().notNull(),
    createdAt: int8().notNull(),
    revokedAt: int8(),
    linksLimit: int8(),
  },
  () => checks('api_keys'),
);

export const signingSecrets = pgTable(
  'signing_secrets',
  {
    keyId: text()
      .primaryKey()
      .references(() => apiKeys.id),
    secret: bytea().notNull(),
    previous: bytea(),
    previousUntil: int8(),
  },
  () => checks('signing_secrets'),
);

export const artifacts = pgTable(
  'artifacts',
  {
    name: text().primaryKey(),
    bytes: int8().notNull(),
    sha256: text().notNull(),
    createdAt: int8().notNull(),
    goneAt: int8(),
    accountId: ofAccount(),
    data: text().notNull(),
    firstName: text().references((): AnyPgColumn => artifacts.name, { onDelete: 'cascade' }),
    watchRun: text().references((): AnyPgColumn => watchRuns.id, { onDelete: 'set null' }),
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
 * A claim changes no column of an index, so that it writes none: of all writes, those of the indexes cost the most. `lease_expires_at` and
 * `state` are looked for among the unfinished jobs. The fill factor, at the end of the migration, leaves room for the claimed version of
 * each job beside the queued one.
 */
export const jobs = pgTable(
  'jobs',
  {
    seq: int8().generatedAlwaysAsIdentity().primaryKey(),
    id: text().notNull().unique(),
    accountId: ofAccount(),
    keyId: text()
      .notNull()
      .references(() => apiKeys.id),
    requestId: text().notNull(),
    mode: text({ enum: VALUES.jobs.mode }).notNull(),
    state: text({ enum: VALUES.jobs.state }).notNull(),
    lane: text({ enum: VALUES.jobs.lane }).notNull(),
    idempotencyKey: text(),
    identityDigest: text().notNull(),
    cacheDigest: text(),
    timeoutMs: int8().notNull(),
    /** The least time that a capture takes, known from its options. */
    delayMs: int8().notNull(),
    leaderId: text().references((): AnyPgColumn => jobs.id),
    attemptsMade: integer().notNull(),
    attemptBudget: integer().notNull(),
    enqueuedAt: int8().notNull(),
    dueAt: int8(),
    firstClaimedAt: int8(),
    claimedAt: int8(),
    bookedMs: int8(),
    leaseExpiresAt: int8(),
    /** The node that holds an active job. */
    nodeId: text(),
    workerId: text(),
    progress: integer().notNull(),
    webhookUrl: text(),
    endedAt: int8(),
    renderedAt: int8(),
    artifactName: text().references(() => artifacts.name),
    data: text(),
    error: text(),
    traceparent: text(),
    url: text().notNull(),
    removedAt: int8(),
    batchId: text().references((): AnyPgColumn => batches.id),
    batchIndex: integer(),
  },
  // A trigger checks the rules of rows: PostgreSQL plans conditions of CHECK anew in each statement, which took a third of its time.
  (t) => [
    uniqueIndex('jobs_idempotency_key').on(t.accountId, t.idempotencyKey).where(sql`idempotency_key IS NOT NULL`),
    index('jobs_in_flight')
      .on(t.accountId, t.cacheDigest, t.seq)
      .where(sql`cache_digest IS NOT NULL AND ended_at IS NULL AND leader_id IS NULL`),
    index('jobs_rendered')
      .on(t.accountId, t.cacheDigest, t.renderedAt)
      .where(sql`cache_digest IS NOT NULL AND rendered_at IS NOT NULL`),
    index('jobs_unfinished').on(t.accountId).where(sql`ended_at IS NULL`),
    index('jobs_unfinished_of_key').on(t.keyId, t.seq).where(sql`ended_at IS NULL`),
    index('jobs_completed_of_key').on(t.keyId, t.seq).where(sql`data IS NOT NULL AND removed_at IS NULL`),
    index('jobs_failed_of_key').on(t.keyId, t.seq).where(sql`error IS NOT NULL AND removed_at IS NULL`),
    index('jobs_followers').on(t.leaderId, t.seq).where(sql`leader_id IS NOT NULL`),
    index('jobs_ended').on(t.endedAt, t.seq).where(sql`ended_at IS NOT NULL`),
    index('jobs_artifact').on(t.artifactName).where(sql`artifact_name IS NOT NULL`),
    index('jobs_of_batch').on(t.batchId, t.batchIndex).where(sql`batch_id IS NOT NULL`),
    index('jobs_unfinished_of_batch').on(t.batchId, t.accountId).where(sql`batch_id IS NOT NULL AND ended_at IS NULL`),
  ],
);

/** Captures that were submitted together. */
export const batches = pgTable(
  'batches',
  {
    id: text().primaryKey(),
    accountId: ofAccount(),
    keyId: text()
      .notNull()
      .references(() => apiKeys.id),
    requestId: text().notNull(),
    idempotencyKey: text(),
    identityDigest: text().notNull(),
    total: integer().notNull(),
    webhookUrl: text(),
    createdAt: int8().notNull(),
    completedAt: int8(),
    removedAt: int8(),
    clearedAt: int8(),
  },
  (t) => [
    uniqueIndex('batches_idempotency_key').on(t.accountId, t.idempotencyKey).where(sql`idempotency_key IS NOT NULL`),
    index('batches_of_key').on(t.keyId, t.id),
    index('batches_active').on(t.createdAt).where(sql`completed_at IS NULL`),
    index('batches_completed').on(t.completedAt).where(sql`completed_at IS NOT NULL`),
    index('batches_clearing').on(t.id).where(sql`removed_at IS NOT NULL AND cleared_at IS NULL`),
  ],
);

export const removals = pgTable(
  'removals',
  { name: bytewise().primaryKey(), jobId: text(), workerId: text(), attempt: integer() },
  () => checks('removals'),
);

/** A row per job that can be claimed now or later: narrow, since each claim deletes one. */
export const queueEntries = pgTable(
  'queue_entries',
  {
    seq: int8()
      .primaryKey()
      .references(() => jobs.seq, { onDelete: 'cascade' }),
    accountId: text().notNull(),
    /** 0: prioritized, 1: waiting, 2: of a batch. */
    lane: smallint().notNull(),
    dueAt: int8(),
  },
  (t) => [
    index('queue_entries_next').on(t.accountId, t.lane, t.seq),
    index('queue_entries_single').on(t.seq).where(sql`lane < 2`),
    index('queue_entries_due').on(t.dueAt).where(sql`due_at IS NOT NULL`),
  ],
);

export const turns = pgTable(
  'turns',
  {
    accountId: text()
      .primaryKey()
      .references(() => accounts.id),
    /** The older one of two accounts with the same tag is next. */
    seq: int8().generatedAlwaysAsIdentity(),
    tag: int8().notNull().default(0),
    typicalMs: int8().notNull().default(1000),
    seenAt: int8().notNull().default(0),
  },
  (t) => [index('turns_seen').on(t.seenAt)],
);

export const orders = pgTable('orders', {
  jobId: text()
    .primaryKey()
    .references(() => jobs.id, { onDelete: 'cascade' }),
  sealed: bytea().notNull(),
});

export const reservations = pgTable(
  'reservations',
  {
    jobId: text()
      .primaryKey()
      .references(() => jobs.id, { onDelete: 'cascade' }),
    accountId: text().notNull(),
    period: text().notNull(),
    credits: int8().notNull(),
    state: text({ enum: VALUES.reservations.state }).notNull(),
    createdAt: int8().notNull(),
    linkKeyId: text(),
  },
  (t) => [...checks('reservations'), index('reservations_pending').on(t.createdAt).where(sql`state = 'pending'`)],
);

/**
 * Changes of an account's sums. `name` is empty or an outcome: `completed`, or the code of a failure; for the credits of links, `link/` and
 * the id of the key. With an empty period, it names what is not of a month: jobs deleted by state, webhooks by outcome, pictures.
 */
export const tallies = pgTable(
  'tallies',
  {
    id: int8().generatedAlwaysAsIdentity().primaryKey(),
    accountId: text().notNull(),
    period: text().notNull(),
    name: text().notNull(),
    reserved: int8().notNull().default(0),
    settled: int8().notNull().default(0),
    jobs: int8().notNull().default(0),
    bytes: int8().notNull().default(0),
  },
  (t) => [index('tallies_of_account').on(t.accountId, t.period)],
);

/** The tallies that the sweep has added up. */
export const totals = pgTable(
  'totals',
  {
    accountId: ofAccount(),
    period: text().notNull(),
    name: text().notNull(),
    reserved: int8().notNull(),
    settled: int8().notNull(),
    jobs: int8().notNull(),
    bytes: int8().notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.period, t.name] })],
);

const SUMMED = sql.raw('SELECT account_id, period, name, reserved, settled, jobs, bytes FROM');
export const sums = pgView('sums', {}).as(sql`${SUMMED} totals UNION ALL ${SUMMED} tallies`);

export const deliveries = pgTable(
  'deliveries',
  {
    jobId: text().primaryKey(),
    deliveryId: text().notNull().unique('deliveries_delivery_id_unique'),
    accountId: text().notNull(),
    url: text().notNull(),
    origin: text().notNull(),
    secret: bytea().notNull(),
    event: text({ enum: VALUES.deliveries.event }),
    state: text({ enum: VALUES.deliveries.state }).notNull(),
    generation: integer().notNull(),
    attempts: integer().notNull(),
    maxAttempts: integer().notNull(),
    lastStatus: integer(),
    lastError: text(),
    lastAttemptAt: int8(),
    nextAttemptAt: int8(),
    deliveredAt: int8(),
    dueAt: int8(),
    claimedUntil: int8(),
    nodeId: text(),
    expiresAt: int8(),
  },
  (t) => [
    ...checks('deliveries'),
    check('deliveries_node', sql`(claimed_until IS NULL) = (node_id IS NULL)`),
    index('deliveries_waiting')
      .on(t.accountId, t.origin, t.dueAt)
      .where(sql`due_at IS NOT NULL AND claimed_until IS NULL`),
    index('deliveries_claimed_by').on(t.accountId, t.origin).where(sql`claimed_until IS NOT NULL`),
    index('deliveries_due').on(t.dueAt).where(sql`due_at IS NOT NULL`),
    index('deliveries_expiring').on(t.expiresAt).where(sql`expires_at IS NOT NULL`),
  ],
);

/** Receivers that have not responded lately, per account. */
export const receivers = pgTable(
  'receivers',
  { accountId: ofAccount(), origin: text().notNull(), silences: integer().notNull(), pausedUntil: int8().notNull() },
  (t) => [primaryKey({ columns: [t.accountId, t.origin] }), check('receivers_silences', sql`silences >= 0`)],
);

/** The table has one row. */
export const queue = pgTable(
  'queue',
  {
    id: integer().primaryKey(),
    paused: boolean().notNull(),
    /** Virtual time: the tag of the latest claim. It never decreases. */
    turn: int8().notNull(),
  },
  () => checks('queue'),
);

export const marks = pgTable('marks', { name: text().primaryKey(), value: text().notNull() });

/** Servers that work on this database. Each holds an advisory lock, of class 4 and its `lock_key`, for as long as it lives. */
export const nodes = pgTable('nodes', {
  id: text().primaryKey(),
  lockKey: integer().generatedAlwaysAsIdentity().unique('nodes_lock_key_unique'),
  startedAt: int8().notNull(),
  seenAt: int8().notNull(),
  facts: jsonb().$type<NodeFacts>().notNull(),
});

export const consoleAccess = pgTable(
  'console_access',
  {
    hash: text().primaryKey(),
    kind: text({ enum: VALUES.console_access.kind }).notNull(),
    createdAt: int8().notNull(),
    expiresAt: int8().notNull(),
  },
  () => checks('console_access'),
);

export const watches = pgTable(
  'watches',
  {
    id: text().primaryKey(),
    accountId: ofAccount(),
    keyId: text()
      .notNull()
      .references(() => apiKeys.id),
    sealed: bytea().notNull(),
    schedule: text().notNull(),
    keepRuns: integer().notNull(),
    keepDays: integer().notNull(),
    nextAt: int8(),
    createdAt: int8().notNull(),
    updatedAt: int8().notNull(),
    failures: integer().notNull().default(0),
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

export const templates = pgTable(
  'templates',
  {
    id: text().primaryKey(),
    accountId: ofAccount(),
    name: bytewise().notNull(),
    version: integer().notNull(),
    manifest: text().notNull(),
    files: text().notNull(),
    bytes: int8().notNull(),
    sha256: text().notNull(),
    createdAt: int8().notNull(),
    content: bytea().notNull(),
  },
  (t) => [...checks('templates'), uniqueIndex('templates_version').on(t.accountId, t.name, t.version)],
);

export const watchRuns = pgTable(
  'watch_runs',
  {
    id: text().primaryKey(),
    watchId: text()
      .notNull()
      .references((): AnyPgColumn => watches.id, { onDelete: 'cascade' }),
    accountId: text().notNull(),
    dueAt: int8().notNull(),
    cause: text({ enum: VALUES.watch_runs.cause }).notNull(),
    state: text({ enum: VALUES.watch_runs.state }).notNull(),
    attempt: integer().notNull(),
    jobId: text(),
    wakeAt: int8(),
    claim: text(),
    startedAt: int8(),
    endedAt: int8(),
    share: doublePrecision(),
    picture: text(),
    changes: text(),
    data: text(),
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

export const watchMessages = pgTable(
  'watch_messages',
  {
    id: text().primaryKey(),
    watchId: text().notNull(),
    runId: text()
      .notNull()
      .references(() => watchRuns.id, { onDelete: 'cascade' }),
    accountId: text().notNull(),
    target: integer().notNull(),
    recipient: text().notNull(),
    kind: text({ enum: VALUES.watch_messages.kind }).notNull(),
    event: text({ enum: VALUES.watch_messages.event }).notNull(),
    state: text({ enum: VALUES.watch_messages.state }).notNull().default('pending'),
    attempts: integer().notNull().default(0),
    generation: integer().notNull().default(1),
    dueAt: int8(),
    claim: text(),
    lastStatus: integer(),
    lastError: text(),
    lastAttemptAt: int8(),
    deliveredAt: int8(),
  },
  (t) => [
    ...checks('watch_messages'),
    uniqueIndex('watch_messages_once').on(t.runId, t.event, t.target, t.recipient),
    index('watch_messages_due').on(t.accountId, t.dueAt).where(sql`due_at IS NOT NULL`),
    index('watch_messages_next').on(t.dueAt).where(sql`due_at IS NOT NULL`),
  ],
);
