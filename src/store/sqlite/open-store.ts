/**
 * The store in one SQLite file, shared with the other processes of this machine (the commands): nothing is cached, rows are the
 * truth. Must not know HTTP, browsers, sockets or the bytes of artifacts.
 */
import { join } from 'node:path';
import { periodOf } from '../../contract/pricing.js';
import type { Log } from '../../log.js';
import { RENDERED_DATA } from '../result-data.js';
import { toSnapshot } from '../snapshot.js';
import type { AccountStore, Claim, ConsoleStore, DeliveryStore, JobStore, KeyStore, RetentionStore, Store } from '../store.js';
import { StoreError } from '../store-error.js';
import { type Vault, vaultOf } from '../vault.js';
import { accept, cachedArtifact, findLinkAnswer } from './accept.js';
import { backup } from './backup.js';
import { Checkpoints } from './checkpoints.js';
import { claimNextDelivery, expireDeliveries, nextReceiver, recordAttempt, redeliver } from './claim-delivery.js';
import { claimNextJob, release, retryLater } from './claim-job.js';
import { connect, DATABASE_FILE, guardOpening, startRunning } from './connect.js';
import { Connection } from './connection.js';
import { queueStatusOf } from './counters.js';
import { DatabaseFile } from './database-file.js';
import { toDeliveryStatus } from './deliveries.js';
import { endFollowers, endJob } from './end-job.js';
import type { FoundJob } from './job-look-ups.js';
import { acceptClock, keepClock, keptClock } from './kept-clock.js';
import { openVault } from './key-file.js';
import { countJobs, listAllJobs, listJobs } from './list-jobs.js';
import { LogSync } from './log-sync.js';
import { makeShrinkable, REWRITE_AT_START_BYTES } from './make-shrinkable.js';
import { migrate } from './migrate.js';
import { recover } from './recover.js';
import { deleteJobs, expireArtifacts } from './retention.js';
import { refuseReplaced, Soundness } from './soundness.js';
import type { Tables } from './tables.js';
import { Writer } from './writer.js';

export interface StoreOptions {
  /** Made when it is missing. */
  dataDir: string;
  /** The folder drizzle/ of this program. */
  migrationsDir: string;
  /** The built checkpoint-thread.js. */
  checkpointThread: URL;
  /** Of `KEY_BYTES`, the one for what is stored from now on first. Default: the key file of the data directory, made on first use. */
  secretKeys?: Buffer[] | null;
  /**
   * Whether an older database is brought up to date, or refused; only the holder of the data directory's lock may. `wholly` takes the
   * time that it needs, however large the database is.
   */
  migrates: 'no' | 'at start' | 'wholly';
  log: Log;
}

/** Reads run at once; writes are grouped, and resolve when they are durable. */
interface Engine {
  /** Each table is to be asked for where it is used: a connection that was opened again has others. */
  tables: Tables;
  vault: Vault;
  writer: Writer;
  /** @throws CaptureError `internal_error` 503 when the file cannot be read */
  read<T>(step: () => T): Promise<T>;
  /** What a client is told of its jobs: nothing that a power failure could still undo. @throws as `read` does */
  readKept<T>(step: () => T): Promise<T>;
}

/**
 * Opens, and makes or migrates, the store of a data directory.
 *
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
    const sound = new Soundness({ connection, serves: migrates === 'at start', log });
    const writer = new Writer(connection, logSync, sound);
    const engine = { tables: connection.tables, vault, writer, ...readers(logSync, sound) };
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
    findLinkAnswer: (wish) => read(() => findLinkAnswer(tables, vault, wish)),
    accept: (job, rules) => writer.run(() => accept(tables, vault, { job, rules })),
    claimNextJobs: async ([claim]) => {
      // An idle worker's look must not cost a write.
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
      // Most jobs have none, which must not cost a write.
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

function jobLookUps({ tables, writer, read, readKept }: Engine): JobLookUps {
  return {
    findJob: (id) => readKept(() => orNull(tables.jobs.find(id), toSnapshot)),
    listJobs: (keyId, page) => readKept(() => listJobs(tables, keyId, page)),
    listAllJobs: (page) => readKept(() => listAllJobs(tables, page)),
    findOrders: (jobIds) =>
      read(() => {
        const orders = jobIds.map((id) => [id, tables.orders.open(id)] as const);
        return new Map(orders.flatMap(([id, options]) => (options === null ? [] : [[id, options]])));
      }),
    findJobByIdempotencyKey: (accountId, key) => readKept(() => orNull(tables.jobs.findByIdempotencyKey(accountId, key), toSnapshot)),
    nextDueAt: () => read(() => tables.jobs.nextDueAt()),
    newestJobAt: () => read(() => tables.jobs.newestAt()),
    setQueuePaused: (paused) => writer.run(() => tables.counters.setPaused(paused)),
    queueStatus: () => read(() => queueStatusOf(tables.counters)),
  };
}

function deliverySteps({ tables, writer, read, readKept }: Engine): DeliveryStore {
  return {
    claimNextDelivery: async (claim) => {
      const idle = await read(() => nextReceiver(tables, claim) === null);
      return idle ? null : writer.run(() => claimNextDelivery(tables, claim));
    },
    recordAttempt: (delivery, outcome, now) => writer.run(() => recordAttempt(tables, delivery, outcome, now)),
    findDelivery: (jobId) => readKept(() => orNull(tables.deliveries.find(jobId), toDeliveryStatus)),
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
        const said = String(connection.db.pragma('quick_check(1)', { simple: true }));
        return said === 'ok' ? null : said;
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
 * A key that does not belong to the database would open no order and recognise no idempotency key. A new key takes over what stays
 * encrypted for ever, so that the one before it is needed no longer than the jobs of its time.
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

function orNull<Row, Told>(row: Row | null, tell: (row: Row) => Told): Told | null {
  return row === null ? null : tell(row);
}

function readers(logSync: LogSync, sound: Soundness): Pick<Engine, 'read' | 'readKept'> {
  const read = async <T>(step: () => T): Promise<T> => {
    try {
      return step();
    } catch (error) {
      throw sound.translate(error);
    }
  };
  return {
    read,
    async readKept(step) {
      const found = await read(step);
      await logSync.settled().catch((error: unknown) => {
        throw sound.translate(error);
      });
      return found;
    },
  };
}
