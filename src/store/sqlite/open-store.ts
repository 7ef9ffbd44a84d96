/**
 * The store in one SQLite file, shared with the other processes of this machine (the commands): nothing is cached, rows are the truth. Must
 * not know HTTP, browsers, sockets or the bytes of artifacts.
 */
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { GAP_MS, type KeptClock } from '../../contract/kept-clock.js';
import { periodOf } from '../../contract/pricing.js';
import type { Log } from '../../log.js';
import {
  ANY_KEY,
  accountSteps,
  consoleSteps,
  INSERT_KEY,
  keySteps,
  keyValues,
  renewKey,
  toJobCounts,
} from '../accounts.js';
import { batchSteps } from '../batches.js';
import { type JobLookUps, jobLookUps } from '../job-look-ups.js';
import { FOUND_JOB, type FoundJob, IS_HELD, ownData, type Queries, type RunTogether } from '../rows.js';
import { digestsOf, toProgress } from '../rules/jobs.js';
import { ANNOUNCE_FILES, DUE_REMOVALS, dueValues, RECORDED_FILES } from '../rules/retention.js';
import type {
  AccountStore,
  AccountUsage,
  BatchStore,
  Claim,
  DeliveryStore,
  EngineStore,
  JobCounts,
  JobStore,
  KeyStore,
  RetentionStore,
  Store,
} from '../store.js';
import { StoreError } from '../store-error.js';
import { templateSteps } from '../templates.js';
import { decryptAllOptions, encryptOptions, markOf, recognizes, type Vault, vaultOf } from '../vault.js';
import { watchSteps } from '../watches.js';
import { accept, cachedArtifacts, findJob, findLinkAnswer } from './accept.js';
import { acceptBatch, completeBatches, type PreparedJob, removeBatch } from './batches.js';
import { Checkpoints } from './checkpoints.js';
import { connect, DATABASE_FILE, type Db, guardOpening, startRunning } from './connect.js';
import { backup, Connection, migrate, outdatedAt, type Sql } from './connection.js';
import { openVault } from './data-directory.js';
import {
  claimNextDelivery,
  expireDeliveries,
  findDelivery,
  nextReadyAt,
  nextReceiver,
  recordAttempt,
  redeliver,
} from './deliveries.js';
import { DatabaseIntegrity, refuseReplaced } from './integrity.js';
import { claimNextJobs, endFollowers, endJob, isFollowed, recover, release, retryLater } from './jobs.js';
import { charge, countersOf, countQueued, isPaused, queueStatus, settlement } from './ledger.js';
import { removeJob } from './remove-job.js';
import {
  databaseSize,
  deleteJobs,
  expireArtifacts,
  insertArtifact,
  markMissing,
  picturesBytes,
  shrinkDatabase,
} from './retention.js';
import { LogSync, Writer } from './writer.js';

const CLOCK_MARK = 'clock';
/** Maximum age of the stored time. A write for each call would wear out a disk that has nothing else to do. */
const KEPT_FOR_MS = 60_000;
const CLOCK_ACCEPTED = 'accepted';
/** Jobs of a batch that are encrypted in one turn of the event loop. */
const PREPARED_AT_ONCE = 50;

export interface StoreOptions {
  /** Created when it is missing. */
  dataDir: string;
  /** The folder drizzle/ of this program. */
  migrationsDir: string;
  /** The built checkpoint-thread.js. */
  checkpointThread: URL;
  /** Keys of `KEY_BYTES`; the first one encrypts new data. Default: the key file of the data directory, created on first use. */
  secretKeys?: Buffer[] | null;
  /**
   * Whether an older database is migrated or refused. Only the holder of the data directory's lock may migrate it: a server passes
   * `at start`, and the command `migrate` passes `wholly`.
   */
  migrates: 'no' | 'at start' | 'wholly';
  log: Log;
}

/** Reads run at once; writes are grouped, and resolve when they are durable. */
interface Engine {
  connection: Connection;
  vault: Vault;
  writer: Writer;
  /** @throws CaptureError `internal_error` 503 when the file cannot be read */
  read: Step;
  /**
   * Reads data that clients see of their jobs: nothing that a power failure could still undo.
   * @throws as `read` does
   */
  readDurable: Step;
}

type Step = <T>(step: () => T) => Promise<T>;

/**
 * Opens the store of a data directory, and creates or migrates it.
 * @throws StoreError with one line for the operator
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { dataDir, migrationsDir, checkpointThread, migrates, log, secretKeys = null } = options;
  const file = join(dataDir, DATABASE_FILE);
  if (migrates === 'no') refuseReplaced(dataDir);
  const db = connect(dataDir);
  try {
    if (migrates !== 'no') await copyOutdated(db, { migrationsDir, log });
    const { applied, made } = guardOpening(file, () => migrate(db, { migrationsDir, isAllowed: migrates !== 'no' }));
    if (applied > 0 && !made) log.info({ applied }, 'database migrated');
    if (made && migrates === 'no')
      log.warn(
        `created a new, empty database: ${file} (servers may use another one: STILLFRAME_DATABASE_URL, STILLFRAME_DATA_DIR)`,
      );
    const vault = secretKeys === null ? openVault(dataDir) : vaultOf(secretKeys);
    const connection = new Connection(db);
    const isFormer = guardOpening(file, () => hasFormerKey(connection, vault, dataDir));
    startRunning(db);
    const checkpoints = new Checkpoints(connection, checkpointThread);
    const logSync = new LogSync(connection, checkpoints);
    const integrity = new DatabaseIntegrity(connection, log, migrates === 'at start');
    const writer = new Writer(connection, logSync, integrity);
    const engine = { connection, vault, writer, ...readers(logSync, integrity) };
    const queries = queriesOf(engine);
    const together: RunTogether = (statements) =>
      writer.run(() => statements.map(([text, values]) => connection.run(text, values)));
    if (isFormer) await renewKey(queries, vault);
    return {
      ...accountSteps(queries),
      ...keySteps(queries, vault),
      ...consoleSteps(queries, together),
      ...watchSteps(queriesOf({ ...engine, read: engine.readDurable }), vault, together),
      ...templateSteps(queries, together),
      ...accountSums(engine),
      ...jobSteps(engine),
      ...jobLookUps(queriesOf({ ...engine, read: engine.readDurable }), (seqs) =>
        engine.readDurable(() => jobsBySeqs(connection, seqs)),
      ),
      ...batchStepsOf(engine),
      ...deliverySteps(engine),
      ...retentionSteps(engine, checkpoints),
      ...engineSteps(engine, { checkpoints, logSync, file }),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Copies a database that is about to be migrated beside itself, in place of the copy of an earlier migration, so that the version before can
 * go on with it.
 * @throws StoreError
 */
async function copyOutdated(
  db: Db,
  { migrationsDir, log }: Pick<StoreOptions, 'migrationsDir' | 'log'>,
): Promise<void> {
  const migrations = guardOpening(db.name, () => outdatedAt(db, migrationsDir));
  if (migrations === null) return;
  const copy = `${db.name}.before-migration`;
  log.info({ copy, migrations }, 'copying the database before its migration');
  const next = `${copy}.new`;
  rmSync(next, { force: true });
  try {
    await backup(db.name, next);
    renameSync(next, copy);
  } catch (error) {
    throw new StoreError(
      `The database was not migrated, since it is copied first, and the copy failed. ${(error as Error).message}`,
    );
  }
}

/** Runs the statements that both engines share, each as a step of its own. */
function queriesOf({ connection, writer, read }: Pick<Engine, 'connection' | 'writer' | 'read'>): Queries {
  return {
    all: <Found>(text: string, values?: readonly unknown[]) => read(() => connection.all<Found>(text, values)),
    one: <Found>(text: string, values?: readonly unknown[]) => read(() => connection.one<Found>(text, values)),
    run: (text, values) => writer.run(() => connection.run(text, values)),
  };
}

type AccountSums = Pick<AccountStore & KeyStore, 'usage' | 'jobCounts' | 'charge' | 'insertFirstKey' | 'linkCredits'>;

function accountSums({ connection: sql, writer, read }: Engine): AccountSums {
  return {
    usage: (accountId, now) => read(() => usageOf(sql, accountId, now)),
    jobCounts: (accountId, now) => read(() => countJobs(sql, accountId, now)),
    charge: (order) => writer.run(() => charge(sql, order)),
    insertFirstKey: (key) => writer.run(() => sql.one(ANY_KEY) === null && sql.run(INSERT_KEY, keyValues(key)) === 1),
    linkCredits: (now) =>
      read(() => {
        const sums = sql.all<{ keyId: string; credits: number }>(
          'SELECT key_id, credits FROM link_credits WHERE period = $1 AND credits > 0',
          [periodOf(now)],
        );
        return new Map(sums.map(({ keyId, credits }) => [keyId, credits]));
      }),
  };
}

function jobSteps({ connection: sql, vault, writer, read }: Engine): Omit<JobStore, keyof JobLookUps> {
  return {
    cachedArtifacts: (job) => read(() => cachedArtifacts(sql, vault, job)),
    findLinkAnswer: (request) => read(() => findLinkAnswer(sql, vault, request)),
    accept: (job, rules) => writer.run(() => accept(sql, vault, { job, rules })),
    claimNextJobs: async (claims) => {
      // The check of an idle worker must not cost a write.
      const idle = await read(() => isPaused(sql) || countQueued(sql) === 0);
      return idle ? [] : await writer.run(() => claimNextJobs(sql, vault, claims));
    },
    renewLease: ({ id, workerId, attempt }, { now, leaseMs, progress }) =>
      writer.run(() => {
        const values = [id, workerId, attempt, now + leaseMs, toProgress(progress)];
        return (
          sql.run(`UPDATE jobs SET lease_expires_at = $4, progress = max(progress, $5) WHERE ${IS_HELD}`, values) === 1
        );
      }),
    announceArtifact: (claim, name) =>
      writer.run(() => {
        if (accountOfHeld(sql, claim) === null) return false;
        sql.run(
          'INSERT INTO removals (name, job_id, worker_id, attempt) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
          [name, claim.id, claim.workerId, claim.attempt],
        );
        return true;
      }),
    complete: (claim, capture, now) =>
      writer.run(() => {
        const ending = { state: 'completed' as const, data: ownData(capture), error: null, now };
        if ('stored' in capture) return endJob(sql, claim, { ...ending, artifactName: capture.stored, isStored: true });
        const { artifact, data, further = [] } = capture;
        const accountId = accountOfHeld(sql, claim);
        if (accountId !== null) {
          sql.run('DELETE FROM removals WHERE name = $1', [artifact.name]);
          insertArtifact(sql, { ...artifact, createdAt: now, accountId, data: JSON.stringify(data) });
          for (const file of further) {
            sql.run('DELETE FROM removals WHERE name = $1', [file.name]);
            insertArtifact(sql, { ...file, createdAt: now, accountId, firstName: artifact.name });
          }
        }
        return endJob(sql, claim, { ...ending, artifactName: artifact.name });
      }),
    fail: (claim, error, now) =>
      writer.run(() =>
        endJob(sql, claim, { state: 'failed', error: JSON.stringify(error), data: null, artifactName: null, now }),
      ),
    endFollowers: async (leaderId) => {
      // Most jobs have no followers, and finding that out must not cost a write.
      if (!(await read(() => isFollowed(sql, leaderId)))) return null;
      return await writer.run(() => {
        const leader = findJob(sql, leaderId);
        return leader === null ? null : endFollowers(sql, leader);
      });
    },
    endedLeaders: () =>
      read(() =>
        sql
          .all<{ id: string }>(
            'SELECT id FROM jobs WHERE ended_at IS NOT NULL AND id IN (SELECT DISTINCT leader_id FROM jobs WHERE leader_id IS NOT NULL)',
          )
          .map((leader) => leader.id),
      ),
    removeJob: (id, keyId, now) => writer.run(() => removeJob(sql, id, keyId, now)),
    retryLater: (claim, dueAt, now, begunAt) => writer.run(() => retryLater(sql, claim, { dueAt, now, begunAt })),
    release: (claim) => writer.run(() => release(sql, claim)),
    recover: (recovery) => writer.run(() => recover(sql, recovery)),
    findOrders: (jobIds) => read(() => findOrders(sql, vault, jobIds)),
    nextDueAt: () =>
      read(
        () => sql.one<{ at: number | null }>(`SELECT min(due_at) AS at FROM jobs WHERE state = 'delayed'`)?.at ?? null,
      ),
    setQueuePaused: async (paused) =>
      void (await writer.run(() => sql.run('UPDATE queue SET paused = $1', [paused ? 1 : 0]))),
    queueStatus: () => read(() => queueStatus(sql)),
  };
}

function batchStepsOf({ connection: sql, vault, writer, read, readDurable }: Engine): BatchStore {
  const steps = batchSteps(queriesOf({ connection: sql, writer, read: readDurable }));
  return {
    ...steps,
    async acceptBatch(batch, jobs, rules) {
      const prepared: PreparedJob[] = [];
      for (const job of jobs) {
        prepared.push({ job, digests: digestsOf(vault, job), sealed: encryptOptions(vault, job.id, job.options) });
        if (prepared.length % PREPARED_AT_ONCE === 0) await nextTurn();
      }
      const refusal = await writer.runLong((apart) => acceptBatch(apart, vault, { batch, jobs: prepared, rules }));
      if (refusal !== null) return refusal;
      const accepted = await steps.findBatch(batch.id);
      if (accepted === null) throw new Error(`batch ${batch.id} was not found after its acceptance`);
      return { kind: 'accepted', batch: accepted };
    },
    completeBatches: async (now) => {
      const due = await read(() => sql.one(`SELECT 1 FROM batches WHERE completed_at IS NULL LIMIT 1`));
      if (due !== null) await writer.run(() => completeBatches(sql, now, ''));
    },
    removeBatch: (id, keyId, now) => writer.run(() => removeBatch(sql, id, keyId, now)),
    async jobsToClear(limit, now) {
      const due = await read(() =>
        sql.one(`SELECT 1 FROM batches WHERE removed_at IS NOT NULL AND cleared_at IS NULL LIMIT 1`),
      );
      return due === null ? [] : await steps.jobsToClear(limit, now);
    },
  };
}

function deliverySteps({ connection: sql, vault, writer, read, readDurable }: Engine): DeliveryStore {
  return {
    claimNextDelivery: async (claim) => {
      const idle = await read(() => nextReceiver(sql, claim) === null);
      return idle ? null : writer.run(() => claimNextDelivery(sql, vault, claim));
    },
    recordAttempt: (delivery, outcome, now) => writer.run(() => recordAttempt(sql, delivery, { outcome, now })),
    findDelivery: (jobId) => readDurable(() => findDelivery(sql, jobId)),
    redeliver: (jobId, generation, now) => writer.run(() => redeliver(sql, { jobId, generation, now })),
    nextDeliveryDueAt: (perReceiver) => read(() => nextReadyAt(sql, perReceiver)),
    webhookTotals: () =>
      read(() => {
        const of = countersOf(sql);
        return { delivered: of('webhooks/delivered'), failed: of('webhooks/failed'), errors: of('webhooks/errors') };
      }),
  };
}

function retentionSteps({ connection, writer, read }: Engine, checkpoints: Checkpoints): RetentionStore {
  const sql: Sql = connection;
  const names = (text: string, values: readonly unknown[]) =>
    read(() => sql.all<{ name: string }>(text, values).map((row) => row.name));
  return {
    findArtifact: (name) =>
      read(() => sql.one('SELECT name, bytes, sha256, created_at, gone_at FROM artifacts WHERE name = $1', [name])),
    keepArtifact: (artifact) => writer.run(() => insertArtifact(sql, artifact)),
    markGone: (name, now) => writer.run(() => markMissing(sql, name, now)),
    storageUse: () => read(() => ({ pictures: picturesBytes(sql), ...databaseSize(connection) })),
    cleansUp: () => true,
    shrinkDatabase: () => shrinkDatabase(connection, writer, checkpoints),
    expireArtifacts: (rules) => expireArtifacts(sql, writer, rules),
    announceFiles: ({ name, jobId, accountId }) =>
      writer.run(() => sql.run(ANNOUNCE_FILES, [name, jobId, accountId]) === 1),
    dueRemovals: (page) => names(DUE_REMOVALS, dueValues(page)),
    forgetRemovals: (removed) =>
      writer.run(() => removed.forEach((name) => void sql.run('DELETE FROM removals WHERE name = $1', [name]))),
    expireDeliveries: (rules) => writer.run(() => expireDeliveries(sql, rules)),
    deleteJobs: (rules) => deleteJobs(sql, writer, rules),
    keptArtifacts: async (wanted) =>
      new Set(
        await names(
          `SELECT name FROM artifacts WHERE gone_at IS NULL AND name IN (SELECT value FROM json_each($1))
            UNION ALL ${RECORDED_FILES} IN (SELECT value FROM json_each($1))`,
          [JSON.stringify(wanted)],
        ),
      ),
    artifactNames: ({ after, limit }) =>
      names('SELECT name FROM artifacts WHERE gone_at IS NULL AND name > $1 ORDER BY name LIMIT $2', [after, limit]),
  };
}

function engineSteps(
  { connection, writer, read }: Engine,
  { checkpoints, logSync, file }: { checkpoints: Checkpoints; logSync: LogSync; file: string },
): EngineStore {
  return {
    shared: false,
    now: Date.now,
    keptClock: () => read(() => keptClock(connection)),
    keepClock: (clock) => writer.run(() => keepClock(connection, clock)),
    acceptClock: (now) => writer.run(() => setMark(connection, CLOCK_MARK, `${now} ${CLOCK_ACCEPTED}`)),
    watch: () => undefined,
    endedAmong: () => Promise.resolve([]),
    nodes: () => Promise.resolve([]),
    settlement: (now) => read(() => settlement(connection, now)),
    ping: () =>
      writer.run(() => {
        const at = String(Date.now());
        setMark(connection, 'ping', at);
        if (markNamed(connection, 'ping') !== at) throw new Error('the database does not return what was written');
      }),
    findDamage: () =>
      read(() => {
        const result = String(connection.db.pragma('quick_check(1)', { simple: true }));
        return result === 'ok' ? null : result;
      }),
    backup: (to) => backup(file, to),
    async [Symbol.asyncDispose]() {
      await writer.close();
      await logSync.close();
      await checkpoints.close();
      connection.db.close();
    },
  };
}

function markNamed(sql: Sql, name: string): string | null {
  return sql.one<{ value: string }>('SELECT value FROM marks WHERE name = $1', [name])?.value ?? null;
}

function setMark(sql: Sql, name: string, value: string): void {
  sql.run('INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value', [
    name,
    value,
  ]);
}

/**
 * Checks that the key belongs to the database.
 * @returns whether it is one that a new key has replaced
 */
function hasFormerKey(sql: Sql, vault: Vault, dataDir: string): boolean {
  sql.run(`INSERT INTO marks (name, value) VALUES ('vault', $1) ON CONFLICT DO NOTHING`, [markOf(vault)]);
  const known = markNamed(sql, 'vault') ?? '';
  if (recognizes(vault, known)) return known !== markOf(vault);
  throw new StoreError(`secret.key in ${dataDir} is not the key of its database: restore both from the same backup.`);
}

function accountOfHeld(sql: Sql, { id, workerId, attempt }: Claim): string | null {
  return (
    sql.one<{ accountId: string }>(`SELECT account_id FROM jobs WHERE ${IS_HELD}`, [id, workerId, attempt])
      ?.accountId ?? null
  );
}

function jobsBySeqs(sql: Sql, seqs: readonly number[]): FoundJob[] {
  const text = `${FOUND_JOB} WHERE job.seq IN (SELECT value FROM json_each($1)) ORDER BY job.seq DESC`;
  return sql.all<FoundJob>(text, [JSON.stringify(seqs)]);
}

function findOrders(sql: Sql, vault: Vault, jobIds: readonly string[]): Map<string, CaptureOptions> {
  const found = sql.all<{ jobId: string; sealed: Buffer }>(
    'SELECT job_id, sealed FROM orders WHERE job_id IN (SELECT value FROM json_each($1))',
    [JSON.stringify(jobIds)],
  );
  return decryptAllOptions(vault, found);
}

function readers(logSync: LogSync, integrity: DatabaseIntegrity): Pick<Engine, 'read' | 'readDurable'> {
  const read = async <T>(step: () => T): Promise<T> => {
    try {
      return step();
    } catch (error) {
      throw integrity.translate(error);
    }
  };
  return {
    read,
    async readDurable(step) {
      const found = await read(step);
      await logSync.durable().catch((error: unknown) => {
        throw integrity.translate(error);
      });
      return found;
    },
  };
}

/**
 * Reads the clock of the last run from a mark: the trusted time, then how far and for how long the machine's clock has been off, or
 * `accepted`.
 */
function keptClock(sql: Sql): KeptClock | null {
  const [trusted = 0, aheadMs = Number.NaN, forMs = 0] = (markNamed(sql, CLOCK_MARK) ?? '').split(' ').map(Number);
  return trusted > 0 ? { trusted, doubt: Number.isNaN(aheadMs) ? null : { aheadMs, forMs } } : null;
}

/** Runs inside the caller's transaction. */
function keepClock(sql: Sql, { trusted, doubt }: KeptClock): boolean {
  const before = keptClock(sql);
  if (before !== null && markNamed(sql, CLOCK_MARK)?.endsWith(CLOCK_ACCEPTED)) {
    setMark(sql, CLOCK_MARK, String(before.trusted));
    // An acceptance while no server ran does not apply to a clock that has gone wrong since.
    const wall = trusted + (doubt?.aheadMs ?? 0);
    if (Math.abs(wall - before.trusted) <= GAP_MS) return false;
  }
  const ageMs = trusted - (before?.trusted ?? 0);
  const isKept = ageMs >= 0 && ageMs < KEPT_FOR_MS && (before?.doubt === null) === (doubt === null);
  if (!isKept)
    setMark(sql, CLOCK_MARK, doubt === null ? String(trusted) : `${trusted} ${doubt.aheadMs} ${doubt.forMs}`);
  return true;
}

/** @throws Error for an account that does not exist */
function usageOf(sql: Sql, accountId: string, now: number): AccountUsage {
  const period = periodOf(now);
  const found = sql.one<Omit<AccountUsage, 'period'>>(
    `SELECT accounts.name AS account, accounts.quota, ifnull(usage.settled, 0) AS credits, ifnull(usage.reserved, 0) AS reserved
      FROM accounts LEFT JOIN usage ON usage.account_id = accounts.id AND usage.period = $2 WHERE accounts.id = $1`,
    [accountId, period],
  );
  if (found === null) throw new Error(`no account ${accountId}`);
  return { ...found, period };
}

function countJobs(sql: Sql, accountId: string, now: number): JobCounts {
  const unfinished = sql.all<{ state: string; jobs: number }>(
    'SELECT state, count(*) AS jobs FROM jobs INDEXED BY jobs_unfinished WHERE account_id = $1 AND ended_at IS NULL GROUP BY state',
    [accountId],
  );
  const outcomes = sql.all<{ outcome: string; jobs: number }>(
    'SELECT outcome, jobs FROM outcomes WHERE account_id = $1 AND period = $2',
    [accountId, periodOf(now)],
  );
  return toJobCounts(unfinished, new Map(outcomes.map(({ outcome, jobs }) => [outcome, jobs])));
}
