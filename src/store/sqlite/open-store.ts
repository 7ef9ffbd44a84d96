/**
 * The store in one SQLite file, shared with the other processes of this machine (the commands): nothing is cached, rows are the truth. Must
 * not know HTTP, browsers, sockets or the bytes of artifacts.
 */
import { join } from 'node:path';
import { GAP_MS, type KeptClock } from '../../contract/kept-clock.js';
import { periodOf } from '../../contract/pricing.js';
import type { Log } from '../../log.js';
import { chooseJobs, EXAMINED_JOBS_MAX, storedStates } from '../rules.js';
import { RENDERED_DATA, toSnapshot } from '../snapshot.js';
import type {
  AccountStore,
  Claim,
  ConsoleStore,
  DeliveryStore,
  JobCounts,
  JobPage,
  JobPageRequest,
  JobStore,
  KeyStore,
  RetentionStore,
  Store,
} from '../store.js';
import { StoreError } from '../store-error.js';
import { type Vault, vaultOf } from '../vault.js';
import { accept, cachedArtifact, findLinkAnswer } from './accept.js';
import { backup } from './backup.js';
import { Checkpoints } from './checkpoints.js';
import { claimNextDelivery, expireDeliveries, nextReceiver, recordAttempt, redeliver } from './claim-delivery.js';
import { claimNextJob, release, retryLater } from './claim-job.js';
import { connect, DATABASE_FILE, type Db, guardOpening, startRunning } from './connect.js';
import { Connection } from './connection.js';
import { queueStatusOf } from './counters.js';
import { DatabaseFile } from './database-file.js';
import { toDeliveryStatus } from './deliveries.js';
import { endFollowers, endJob } from './end-job.js';
import { DatabaseIntegrity, refuseReplaced } from './integrity.js';
import type { FoundJob } from './job-look-ups.js';
import { openVault } from './key-file.js';
import { LogSync } from './log-sync.js';
import { migrate } from './migrate.js';
import { recover } from './recover.js';
import { deleteJobs, expireArtifacts } from './retention.js';
import type { Tables } from './tables.js';
import { Writer } from './writer.js';

const INCREMENTAL_VACUUM = 2;
/** A database of this size is rewritten within about a second; a larger one only by `stillframe migrate`. */
export const REWRITE_AT_START_BYTES = 200_000_000;

const CLOCK_MARK = 'clock';
/** Maximum age of the stored time. A write for each call would wear out a disk that has nothing else to do. */
const KEPT_FOR_MS = 60_000;
const CLOCK_ACCEPTED = 'accepted';

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
   * Whether an older database is migrated or refused; only the holder of the data directory's lock may migrate it. `wholly` takes as long
   * as the migration needs, however large the database is.
   */
  migrates: 'no' | 'at start' | 'wholly';
  log: Log;
}

/** Reads run at once; writes are grouped, and resolve when they are durable. */
interface Engine {
  /** Look tables up at each use, since a reopened connection replaces them. */
  tables: Tables;
  vault: Vault;
  writer: Writer;
  /** @throws CaptureError `internal_error` 503 when the file cannot be read */
  read<T>(step: () => T): Promise<T>;
  /**
   * Reads data that clients see of their jobs: nothing that a power failure could still undo.
   * @throws as `read` does
   */
  readDurable<T>(step: () => T): Promise<T>;
}

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
    const { applied, made } = guardOpening(file, () => migrate(db, { migrationsDir, isAllowed: migrates !== 'no' }));
    if (applied > 0 && !made) log.info({ applied }, 'database migrated');
    if (made && migrates === 'no')
      log.warn(`created a new, empty database: ${file} (servers may use another one: STILLFRAME_DATABASE_URL, STILLFRAME_DATA_DIR)`);
    if (migrates !== 'no') makeShrinkable(db, { maxBytes: migrates === 'wholly' ? Infinity : REWRITE_AT_START_BYTES, log });
    const vault = secretKeys === null ? openVault(dataDir) : vaultOf(secretKeys);
    const connection = new Connection(db, vault);
    guardOpening(file, () => checkVault(connection.tables, vault, dataDir));
    startRunning(db);
    const checkpoints = new Checkpoints(connection, checkpointThread);
    const logSync = new LogSync({ connection, checkpoints });
    const integrity = new DatabaseIntegrity({ connection, serves: migrates === 'at start', log });
    const writer = new Writer(connection, logSync, integrity);
    const engine = { tables: connection.tables, vault, writer, ...readers(logSync, integrity) };
    return {
      ...accountSteps(engine),
      ...jobSteps(engine),
      ...jobLookUps(engine),
      ...deliverySteps(engine),
      ...retentionSteps(engine, new DatabaseFile({ connection, writer, checkpoints })),
      ...consoleSteps(engine),
      ...engineSteps(engine, { connection, checkpoints, logSync, file }),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

function accountSteps({ tables, writer, read }: Engine): AccountStore & KeyStore {
  return {
    createAccount: (name, now) => writer.run(() => tables.accounts.insert(name, now)),
    listAccounts: () => read(() => tables.accounts.list()),
    findAccount: (name) => read(() => tables.accounts.find(name)),
    setQuota: (name, quota) => writer.run(() => tables.accounts.setQuota(name, quota)),
    usage: (accountId, now) => read(() => tables.accounts.usage(accountId, now)),
    jobCounts: (accountId, now) => read(() => countJobs(tables, accountId, now)),
    insertKey: (key) => writer.run(() => tables.apiKeys.insert(key)),
    insertFirstKey: (key) => writer.run(() => tables.apiKeys.insertFirst(key)),
    findKeyByHash: (hash) => read(() => tables.apiKeys.findByHash(hash)),
    listKeys: () => read(() => tables.apiKeys.list()),
    findKey: (id) => read(() => tables.apiKeys.find(id)),
    rotateSigningSecret: (keyId, secret, previousUntil) =>
      writer.run(() => {
        if (tables.apiKeys.find(keyId) === null) return false;
        tables.signingSecrets.rotate(keyId, secret, previousUntil);
        return true;
      }),
    signingSecrets: (keyId, now) => read(() => tables.signingSecrets.valid(keyId, now)),
    setLinksLimit: (keyId, limit) => writer.run(() => tables.apiKeys.setLinksLimit(keyId, limit)),
    linkCredits: (now) => read(() => tables.linkCredits.ofMonth(periodOf(now))),
    revokeKey: (idOrPrefix, now) => writer.run(() => tables.apiKeys.revoke(idOrPrefix, now)),
  };
}

type JobLookUps = Pick<
  JobStore,
  | 'findJob'
  | 'listJobs'
  | 'listAllJobs'
  | 'findOrders'
  | 'findJobByIdempotencyKey'
  | 'nextDueAt'
  | 'newestJobAt'
  | 'queueStatus'
  | 'setQueuePaused'
>;

function jobSteps({ tables, vault, writer, read }: Engine): Omit<JobStore, keyof JobLookUps> {
  return {
    cachedArtifact: (job) => read(() => cachedArtifact(tables, vault, job)),
    findLinkAnswer: (request) => read(() => findLinkAnswer(tables, vault, request)),
    accept: (job, rules) => writer.run(() => accept(tables, vault, { job, rules })),
    claimNextJobs: async ([claim]) => {
      // The check of an idle worker must not cost a write.
      const idle = await read(() => tables.counters.isPaused() || tables.counters.queued() === 0);
      const job = idle || claim === undefined ? null : await writer.run(() => claimNextJob(tables, claim));
      return job === null ? [] : [job];
    },
    renewLease: (claim, { now, leaseMs, progress }) =>
      writer.run(() => tables.jobs.renew(claim, now + leaseMs, Math.max(0, Math.min(99, Math.round(progress))))),
    announceArtifact: (claim, name) =>
      writer.run(() => {
        if (heldJob(tables, claim) === null) return false;
        tables.removals.announce(name, claim);
        return true;
      }),
    complete: (claim, capture, now) =>
      writer.run(() => {
        const job = heldJob(tables, claim);
        const { name: artifactName } = capture.artifact;
        if (job !== null) {
          tables.removals.forget(artifactName);
          tables.artifacts.insert({ ...capture.artifact, createdAt: now, accountId: job.accountId, data: JSON.stringify(capture.data) });
        }
        return endJob(tables, claim, { state: 'completed', data: RENDERED_DATA, artifactName, error: null, now });
      }),
    fail: (claim, error, now) =>
      writer.run(() => endJob(tables, claim, { state: 'failed', error: JSON.stringify(error), data: null, artifactName: null, now })),
    endFollowers: async (leaderId) => {
      // Most jobs have no followers, and finding that out must not cost a write.
      const isFollowed = await read(() => tables.jobs.followersOf(leaderId, 1).length > 0);
      if (!isFollowed) return null;
      return await writer.run(() => {
        const leader = tables.jobs.find(leaderId);
        return leader === null ? null : endFollowers(tables, leader);
      });
    },
    endedLeaders: () => read(() => tables.jobs.endedLeaders()),
    retryLater: (claim, dueAt, now, begunAt) => writer.run(() => retryLater(tables, claim, { dueAt, now, begunAt })),
    release: (claim) => writer.run(() => release(tables, claim)),
    recover: (recovery) => writer.run(() => recover(tables, recovery)),
  };
}

function jobLookUps({ tables, writer, read, readDurable }: Engine): JobLookUps {
  return {
    findJob: (id) => readDurable(() => orNull(tables.jobs.find(id), toSnapshot)),
    listJobs: (keyId, page) => readDurable(() => listJobs(tables, keyId, page)),
    listAllJobs: (page) => readDurable(() => listAllJobs(tables, page)),
    findOrders: (jobIds) =>
      read(() => {
        const orders = jobIds.map((id) => [id, tables.orders.open(id)] as const);
        return new Map(orders.flatMap(([id, options]) => (options === null ? [] : [[id, options]])));
      }),
    findJobByIdempotencyKey: (accountId, key) => readDurable(() => orNull(tables.jobs.findByIdempotencyKey(accountId, key), toSnapshot)),
    nextDueAt: () => read(() => tables.jobs.nextDueAt()),
    newestJobAt: () => read(() => tables.jobs.newestAt()),
    setQueuePaused: (paused) => writer.run(() => tables.counters.setPaused(paused)),
    queueStatus: () => read(() => queueStatusOf(tables.counters)),
  };
}

function deliverySteps({ tables, writer, read, readDurable }: Engine): DeliveryStore {
  return {
    claimNextDelivery: async (claim) => {
      const idle = await read(() => nextReceiver(tables, claim) === null);
      return idle ? null : writer.run(() => claimNextDelivery(tables, claim));
    },
    recordAttempt: (delivery, outcome, now) => writer.run(() => recordAttempt(tables, delivery, outcome, now)),
    findDelivery: (jobId) => readDurable(() => orNull(tables.deliveries.find(jobId), toDeliveryStatus)),
    redeliver: (jobId, generation, now) => writer.run(() => redeliver(tables, { jobId, generation, now })),
    nextDeliveryDueAt: (perReceiver) => read(() => tables.receivers.nextReadyAt(perReceiver)),
    webhookTotals: () =>
      read(() => {
        const counts = tables.counters.all();
        const of = (name: string) => counts.get(`webhooks/${name}`) ?? 0;
        return { delivered: of('delivered'), failed: of('failed'), errors: of('errors') };
      }),
  };
}

function retentionSteps({ tables, writer, read }: Engine, database: DatabaseFile): RetentionStore {
  return {
    findArtifact: (name) => read(() => tables.artifacts.find(name)),
    markGone: (name, now) => writer.run(() => tables.artifacts.markGone(name, now)),
    storageUse: () => read(() => ({ pictures: tables.counters.artifactBytes(), ...database.size() })),
    shrinkDatabase: () => database.shrink(),
    expireArtifacts: (rules) => expireArtifacts(tables, writer, rules),
    dueRemovals: ({ after, limit }) => read(() => tables.removals.due(after, limit)),
    forgetRemovals: (names) => writer.run(() => names.forEach(tables.removals.forget)),
    expireDeliveries: (rules) => writer.run(() => expireDeliveries(tables, rules)),
    deleteJobs: (rules) => deleteJobs(tables, writer, rules),
    keptArtifacts: (names) => read(() => new Set(names.filter((name) => tables.artifacts.find(name)?.goneAt === null))),
    artifactNames: ({ after, limit }) => read(() => tables.artifacts.namesAfter(after, limit)),
  };
}

function consoleSteps({ tables, writer, read }: Engine): ConsoleStore {
  return {
    addConsoleLink: (link) => writer.run(() => tables.consoleAccess.addLink(link)),
    exchangeConsoleLink: (linkHash, session) => writer.run(() => tables.consoleAccess.exchange(linkHash, session)),
    findConsoleSession: (hash, now) => read(() => tables.consoleAccess.findSession(hash, now)),
    countConsoleSessions: (now) => read(() => tables.consoleAccess.countSessions(now)),
    endConsoleSession: (hash) => writer.run(() => tables.consoleAccess.endSession(hash)),
    endConsoleAccess: () => writer.run(() => tables.consoleAccess.endAll()),
  };
}

type EngineSteps = Omit<
  Store,
  keyof AccountStore | keyof KeyStore | keyof JobStore | keyof DeliveryStore | keyof RetentionStore | keyof ConsoleStore
>;

function engineSteps(
  { tables, writer, read }: Engine,
  { connection, checkpoints, logSync, file }: { connection: Connection; checkpoints: Checkpoints; logSync: LogSync; file: string },
): EngineSteps {
  return {
    shared: false,
    now: Date.now,
    keptClock: () => read(() => keptClock(tables)),
    keepClock: (clock) => writer.run(() => keepClock(tables, clock)),
    acceptClock: (now) => writer.run(() => acceptClock(tables, now)),
    watch: () => undefined,
    endedAmong: () => Promise.resolve([]),
    nodes: () => Promise.resolve([]),
    settlement: (now) => read(() => tables.reservations.status(now)),
    ping: () =>
      writer.run(() => {
        const at = String(Date.now());
        tables.marks.set('ping', at);
        if (tables.marks.get('ping') !== at) throw new Error('the database does not return what was written');
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

const CHECK = 'this key belongs to this database';

/**
 * Checks that the key belongs to the database, since another one would open no order and recognise no idempotency key. A new key
 * re-encrypts permanent data, so that the former one is needed only as long as the jobs of its time.
 */
function checkVault({ marks, signingSecrets }: Pick<Tables, 'marks' | 'signingSecrets'>, vault: Vault, dataDir: string): void {
  const mark = vault.digest('check', CHECK);
  marks.add('vault', mark);
  const known = marks.get('vault') ?? '';
  if (known === mark) return;
  if (!vault.matches('check', CHECK, known)) {
    throw new StoreError(`secret.key in ${dataDir} is not the key of its database: restore both from the same backup.`);
  }
  signingSecrets.sealAgain();
  marks.set('vault', mark);
}

function heldJob({ jobs }: Pick<Tables, 'jobs'>, claim: Claim): FoundJob | null {
  const job = jobs.find(claim.id);
  return job?.state === 'active' && job.workerId === claim.workerId && job.attemptsMade === claim.attempt ? job : null;
}

function orNull<Row, Result>(row: Row | null, convert: (row: Row) => Result): Result | null {
  return row === null ? null : convert(row);
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
function keptClock({ marks }: Pick<Tables, 'marks'>): KeptClock | null {
  const [trusted = 0, aheadMs = Number.NaN, forMs = 0] = (marks.get(CLOCK_MARK) ?? '').split(' ').map(Number);
  return trusted > 0 ? { trusted, doubt: Number.isNaN(aheadMs) ? null : { aheadMs, forMs } } : null;
}

/** Runs inside the caller's transaction. */
function keepClock({ marks }: Pick<Tables, 'marks'>, { trusted, doubt }: KeptClock): boolean {
  const before = keptClock({ marks });
  if (before !== null && marks.get(CLOCK_MARK)?.endsWith(CLOCK_ACCEPTED)) {
    marks.set(CLOCK_MARK, String(before.trusted));
    // An acceptance while no server ran does not apply to a clock that has gone wrong since.
    const wall = trusted + (doubt?.aheadMs ?? 0);
    if (Math.abs(wall - before.trusted) <= GAP_MS) return false;
  }
  const ageMs = trusted - (before?.trusted ?? 0);
  const isKept = ageMs >= 0 && ageMs < KEPT_FOR_MS && (before?.doubt === null) === (doubt === null);
  if (!isKept) marks.set(CLOCK_MARK, doubt === null ? String(trusted) : `${trusted} ${doubt.aheadMs} ${doubt.forMs}`);
  return true;
}

/** Runs inside the caller's transaction. */
function acceptClock({ marks }: Pick<Tables, 'marks'>, now: number): void {
  marks.set(CLOCK_MARK, `${now} ${CLOCK_ACCEPTED}`);
}

/** Reads a page of a key's jobs, newest first. Each state is read through an index, so that a rare one needs no scan of the others. */
function listJobs({ jobs, counters }: Pick<Tables, 'jobs' | 'counters'>, keyId: string, page: JobPageRequest): JobPage {
  const before = page.before ?? Number.MAX_SAFE_INTEGER;
  const found = storedStates(page.state, counters.isPaused())
    .flatMap((state) => jobs.ofKey(keyId, { state, before, limit: page.limit + 1 }))
    .sort((one, other) => other.seq - one.seq);
  const shown = found.slice(0, page.limit);
  return { jobs: shown.map(toSnapshot), next: found.length > page.limit ? (shown.at(-1)?.seq ?? null) : null };
}

/** Reads a page of the jobs of all keys, newest first. */
function listAllJobs({ jobs, counters }: Pick<Tables, 'jobs' | 'counters'>, page: JobPageRequest): JobPage {
  const states = storedStates(page.state, counters.isPaused());
  const examined = jobs.newestStates(page.before ?? Number.MAX_SAFE_INTEGER, EXAMINED_JOBS_MAX);
  const { seqs, next } = chooseJobs(examined, { states, limit: page.limit });
  return { jobs: jobs.bySeqs(seqs).map(toSnapshot), next };
}

function countJobs({ jobs, outcomes }: Pick<Tables, 'jobs' | 'outcomes'>, accountId: string, now: number): JobCounts {
  const ended = outcomes.of(accountId, periodOf(now));
  const completed = ended.get('completed') ?? 0;
  ended.delete('completed');
  const byCode = Object.fromEntries([...ended].sort(([one], [other]) => one.localeCompare(other)));
  const failed = [...ended.values()].reduce((sum, count) => sum + count, 0);
  const byState = { waiting: 0, prioritized: 0, active: 0, delayed: 0, completed, failed };
  for (const { state, jobs: count } of jobs.unfinished(accountId)) byState[state] = count;
  return { byState, byCode };
}

/**
 * Enables a database of an older version to release free pages, which rewrites it once. The caller must hold the data directory's lock. A
 * database that is larger than `maxBytes`, or for whose copy the disk has no room, stays unchanged.
 */
export function makeShrinkable(db: Db, { maxBytes, log }: { maxBytes: number; log: Log }): void {
  if (db.pragma('auto_vacuum', { simple: true }) === INCREMENTAL_VACUUM) return;
  const bytes = Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }));
  if (bytes > maxBytes) {
    log.warn({ bytes }, 'the database cannot release disk space: stop the server and run stillframe migrate once');
    return;
  }
  try {
    db.pragma('auto_vacuum = INCREMENTAL');
    db.exec('VACUUM');
    log.info({ bytes }, 'database rewritten, so that it can release disk space');
  } catch (error) {
    log.warn({ err: error }, 'the database could not be rewritten; it works, but cannot release disk space');
  }
}
