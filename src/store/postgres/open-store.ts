/**
 * The store in PostgreSQL, shared by several servers: rows are the truth, notifications only hints. Must not know HTTP, browsers, sockets
 * or the bytes of artifacts.
 */
import { LRUCache } from 'lru-cache';
import { CaptureError } from '../../contract/capture-error.js';
import type { Log } from '../../log.js';
import { consoleSteps, renewKey } from '../accounts.js';
import { batchSteps } from '../batches.js';
import { type JobLookUps, jobLookUps } from '../job-look-ups.js';
import type { RunTogether } from '../rows.js';
import type {
  BatchStore,
  Claim,
  DeliveryStore,
  EndedJob,
  EngineStore,
  JobClaim,
  JobStore,
  NodeFacts,
  Store,
} from '../store.js';
import { StoreError } from '../store-error.js';
import { templateSteps } from '../templates.js';
import { decryptAllOptions, markOf, recognizes, type Vault, vaultOf } from '../vault.js';
import { watchSteps } from '../watches.js';
import { accept, cachedArtifacts, findLinkAnswer } from './accept.js';
import { acceptBatch, completeBatches, removeBatch } from './batches.js';
import { type Database, migrate, openDatabase } from './connect.js';
import { claimNextDelivery, findDelivery, nextDeliveryDueAt, recordAttempt, redeliver } from './deliveries.js';
import {
  type Announcement,
  announceArtifacts,
  type ClaimEnd,
  Corrections,
  claimNextJobs,
  type Ending,
  endedLeaders,
  endFollowers,
  endJobs,
  recover,
  release,
  renewLease,
  retryLater,
  undoUnknown,
} from './jobs.js';
import { accountsAndKeys, jobsBySeqs, nextDueAt, queueStatus, settlement, webhookTotals } from './look-ups.js';
import { ClusterNode, NOTIFY, Notifier } from './node.js';
import { removeJob } from './remove-job.js';
import { retentionSteps, rollUp } from './retention.js';
import { StatementBatcher } from './statement-batcher.js';

export interface PostgresStoreOptions {
  /** A URL `postgres://…`. */
  url: string;
  /** Keys of `KEY_BYTES`, the same for all nodes. The first one encrypts new data. */
  secretKeys: readonly Buffer[];
  /** The folder drizzle-pg/ of this program. */
  migrationsDir: string;
  /** Whether an older database is migrated or refused. */
  migrates: boolean;
  /** Facts that the other nodes get about this one; null for a command, which is no node and claims nothing. */
  facts: (() => NodeFacts) | null;
  log: Log;
}

/** A server that has not been heard of for this long is probably gone. */
const HEARD_MS = 5_000;

interface Engine {
  database: Database;
  vault: Vault;
  notifier: Notifier;
  /** Id in the rows of claims. */
  nodeId: string;
  now(): number;
  /** Other nodes, as this one has seen them. */
  others: Pick<ClusterNode, 'lost' | 'alive' | 'isGuard'>;
  corrections: Corrections;
  /** Facts about this node; null for a command. */
  facts: (() => NodeFacts) | null;
  log: Log;
}

/**
 * Opens the store of a database, and creates or migrates it.
 * @throws StoreError with one line for the operator
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  try {
    return await open(options);
  } catch (error) {
    throw unusable(error);
  }
}

async function open(options: PostgresStoreOptions): Promise<Store> {
  const { url, secretKeys, migrationsDir, migrates, facts, log } = options;
  const applied = await migrate(url, { migrationsDir, isAllowed: migrates });
  if (applied > 0) log.info({ applied }, 'database migrated');
  const database = openDatabase(url);
  try {
    const vault = vaultOf(secretKeys);
    await checkVault(database, vault);
    const node = facts === null ? null : await ClusterNode.join({ url, queries: database, facts, log });
    const engine = {
      database,
      vault,
      nodeId: node?.id ?? 'none',
      facts,
      now: node?.now ?? Date.now,
      others: node ?? { lost: () => [], alive: () => [], isGuard: () => true },
      log,
      corrections: new Corrections(database),
      notifier: new Notifier((payloads) => database.run(NOTIFY, [payloads])),
    };
    return {
      ...accountsAndKeys(database, vault),
      ...jobSteps(engine),
      ...jobLookUps(database, (seqs) => jobsBySeqs(database, seqs)),
      ...batchStepsOf(engine),
      ...deliverySteps(engine),
      ...retentionSteps(database, engine.others.isGuard),
      ...consoleSteps(database, togetherIn(database)),
      ...watchSteps(database, vault, togetherIn(database)),
      ...templateSteps(database, togetherIn(database)),
      ...engineSteps(engine, node),
    };
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

function togetherIn(database: Database): RunTogether {
  return (statements) =>
    database.transaction(async (queries) => {
      const changed: number[] = [];
      for (const [text, values] of statements) changed.push(await queries.run(text, values));
      return changed;
    });
}

/** The period for which the time of the next delayed job is kept, unless this node changes it. */
const DUE_KEPT_MS = 400;

/** The time at which the next delayed job is due, which is not read anew for each claim. */
function dueTime({ database, now }: Pick<Engine, 'database' | 'now'>) {
  let due: { at: number | null; readAt: number } | null = null;
  return {
    forget(): void {
      due = null;
    },
    async read(): Promise<number | null> {
      const isFresh = due !== null && performance.now() - due.readAt < DUE_KEPT_MS && (due.at ?? Infinity) > now();
      if (due === null || !isFresh) due = { at: await nextDueAt(database), readAt: performance.now() };
      return due.at;
    },
  };
}

/**
 * Whether another node must be woken for a job or a delivery of this one. A notification wakes all of them, and each then looks for work, so
 * none is sent while this node can do the work itself.
 */
function ownWork({ facts, notifier }: Engine) {
  /** A job was accepted for this node itself, and no claim has found it yet. */
  let isHeld = false;
  return {
    queued(): void {
      const { roles = [], readyBrowsers = 0, running = 0, concurrency = 0 } = facts?.() ?? {};
      if (roles.includes('capture') && readyBrowsers > 0 && running < concurrency) isHeld = true;
      else notifier.add({ kind: 'queued' });
    },
    due(): void {
      if (!facts?.().roles.includes('webhook')) notifier.add({ kind: 'due' });
    },
    /** A claim that filled all slots that may take any job may have left jobs to others. */
    claimed(jobs: number, claims: readonly JobClaim[]): void {
      const open = claims.filter(({ keptSlot = false, takesBatches = true }) => !keptSlot && takesBatches).length;
      if (isHeld && jobs >= open) notifier.add({ kind: 'queued' });
      isHeld = false;
    },
  };
}

function jobSteps(engine: Engine): Omit<JobStore, keyof JobLookUps> {
  const { database, vault, notifier, nodeId, others, log, corrections, now: nowOf } = engine;
  const own = ownWork(engine);
  /** Jobs whose end need not be announced to other nodes: nobody waits for them, or only their submitter, who waits here. */
  const quiet = new LRUCache<string, true>({ max: 10_000 });
  const due = dueTime(engine);
  const notifyEnded = async (ended: EndedJob[], now = nowOf()): Promise<EndedJob[]> => {
    // The sweep completes it if this fails.
    if (ended.some(({ isOfBatch }) => isOfBatch) && (await completeBatches(database, now).catch(() => false)))
      notifier.add({ kind: 'due' });
    for (const job of ended) {
      if (!quiet.delete(job.id)) notifier.add({ kind: 'ended', jobId: job.id });
      if (job.hasWebhook) own.due();
    }
    return ended;
  };
  /** Claims whose end may have been committed, although its call lost the connection. */
  const unsure = new LRUCache<string, true>({ max: 1_000 });
  const endAll = (some: readonly ClaimEnd[]) => endJobs(database, some, corrections);
  const ends = { completed: new StatementBatcher(endAll), failed: new StatementBatcher(endAll) };
  const claim = claimer(engine);
  const announcements = new StatementBatcher((some: readonly Announcement[]) => announceArtifacts(database, some));
  const end = async (held: Claim, ending: Ending): Promise<EndedJob[]> => {
    const key = `${held.id} ${held.workerId} ${held.attempt}`;
    try {
      return await notifyEnded(
        await ends[ending.state].add({ held, ending, mayHaveEnded: unsure.delete(key) }),
        ending.now,
      );
    } catch (error) {
      if (error instanceof CaptureError) unsure.set(key, true);
      throw error;
    }
  };
  return {
    cachedArtifacts: (job) => cachedArtifacts(database, vault, job),
    findLinkAnswer: (request) => findLinkAnswer(database, vault, request),
    async accept(job, rules) {
      const acceptance = await accept(database, vault, { job, rules, corrections });
      if (acceptance.kind === 'queued') {
        quiet.set(job.id, true);
        own.queued();
      }
      if (acceptance.kind === 'cached' && job.webhook !== null) own.due();
      return acceptance;
    },
    async claimNextJobs(claims) {
      const jobs = await claim(claims);
      own.claimed(jobs.length, claims);
      for (const { id, mode } of jobs) if (mode === 'async') quiet.set(id, true);
      if (jobs.some(({ dueAt }) => dueAt !== null)) due.forget();
      return jobs;
    },
    renewLease: (claim, renewal) => renewLease(database, claim, renewal),
    announceArtifact: (claim, name) => announcements.add({ claim, name }),
    complete: (claim, capture, now) => end(claim, { state: 'completed', capture, now }),
    fail: (claim, error, now) => end(claim, { state: 'failed', error: JSON.stringify(error), now }),
    endFollowers: async (leaderId) => {
      const ended = await endFollowers(database, leaderId);
      return ended === null ? null : await notifyEnded(ended);
    },
    endedLeaders: () => endedLeaders(database),
    async removeJob(id, keyId, now) {
      const removed = await removeJob(database, { id, keyId, now, corrections });
      if (removed?.canceled != null) {
        await notifyEnded([removed.canceled], now);
        notifier.add({ kind: 'canceled', jobId: id });
        if (removed.canceled.isFollowed) notifier.add({ kind: 'queued' });
      }
      return removed;
    },
    retryLater: (claim, dueAt, now, begunAt) => {
      due.forget();
      return retryLater(database, claim, { dueAt, now, begunAt, corrections });
    },
    release: (claim) => release(database, claim),
    async recover(recovery) {
      const known = {
        nodeId,
        corrections,
        lost: others.lost(),
        alive: others.alive(),
        isGuard: recovery.starting || others.isGuard(),
      };
      const { requeued, ended, failures } = await recover(database, known, recovery);
      await notifyEnded(ended, recovery.now);
      if (requeued > 0) notifier.add({ kind: 'queued' });
      for (const error of failures) log.error({ err: error }, 'a job could not be recovered; it is tried again');
      await completeBatches(database, recovery.now);
      await rollUp(database);
      return { requeued, ended };
    },
    findOrders: async (jobIds) =>
      decryptAllOptions(
        vault,
        await database.all('SELECT job_id, sealed FROM orders WHERE job_id = ANY($1)', [jobIds]),
      ),
    nextDueAt: () => due.read(),
    async setQueuePaused(paused) {
      await database.run('UPDATE queue SET paused = $1', [paused]);
      if (!paused) notifier.add({ kind: 'queued' });
    },
    queueStatus: () => queueStatus(database),
  };
}

function claimer({ database, vault, nodeId, corrections }: Engine): JobStore['claimNextJobs'] {
  /** Workers that may hold jobs that their lost connection did not report. */
  const unsure = new Set<string>();
  return async (claims) => {
    if (unsure.size > 0) await undoUnknown(database, nodeId, [...unsure]);
    unsure.clear();
    try {
      return await claimNextJobs(database, vault, claims, { nodeId, corrections });
    } catch (error) {
      for (const { workerId } of claims) unsure.add(workerId);
      throw error;
    }
  };
}

function batchStepsOf({ database, vault, notifier }: Engine): BatchStore {
  return {
    ...batchSteps(database),
    async acceptBatch(batch, jobs, rules) {
      const acceptance = await acceptBatch(database, vault, { batch, jobs, rules });
      if (acceptance.kind === 'accepted') notifier.add({ kind: 'queued' });
      return acceptance;
    },
    async completeBatches(now) {
      if (await completeBatches(database, now)) notifier.add({ kind: 'due' });
    },
    async removeBatch(id, keyId, now) {
      const removed = await removeBatch(database, id, keyId, now);
      if (removed) notifier.add({ kind: 'due' });
      return removed;
    },
  };
}

function deliverySteps({ database, vault, notifier, nodeId }: Engine): DeliveryStore {
  return {
    claimNextDelivery: (claim) => claimNextDelivery(database, vault, { ...claim, nodeId }),
    recordAttempt: (held, outcome, now) => recordAttempt(database, held, outcome, now),
    findDelivery: (jobId) => findDelivery(database, jobId),
    async redeliver(jobId, generation, now) {
      const redelivery = await redeliver(database, jobId, generation, now);
      if (redelivery.kind === 'accepted') notifier.add({ kind: 'due' });
      return redelivery;
    },
    nextDeliveryDueAt: (perReceiver) => nextDeliveryDueAt(database, perReceiver),
    webhookTotals: () => webhookTotals(database),
  };
}

function engineSteps({ database, notifier, corrections }: Engine, node: ClusterNode | null): EngineStore {
  return {
    shared: true,
    now: node?.now ?? Date.now,
    keptClock: async () => null,
    keepClock: async () => true,
    acceptClock: () =>
      Promise.reject(new StoreError("With PostgreSQL the database's clock decides: there is nothing to accept.")),
    watch: (listener) => node?.watch(listener),
    async endedAmong(ids) {
      const ended = await database.all<{ id: string }>(
        'SELECT id FROM jobs WHERE id = ANY($1) AND ended_at IS NOT NULL',
        [ids],
      );
      return ended.map((job) => job.id);
    },
    nodes: () =>
      database.all(`SELECT id, started_at, seen_at, facts FROM nodes
        WHERE seen_at > stillframe_now() - ${HEARD_MS} ORDER BY started_at, id`),
    settlement: (now) => settlement(database, now),
    async ping() {
      const at = String(Date.now());
      const written = await database.one<{ value: string }>(
        `INSERT INTO marks (name, value) VALUES ('ping', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING value`,
        [at],
      );
      if (written?.value !== at) throw new Error('the database does not return what was written');
    },
    findDamage: async () => null,
    backup: () => Promise.reject(new StoreError('The database is backed up with the tools of PostgreSQL.')),
    async [Symbol.asyncDispose]() {
      await notifier.allSent();
      await corrections.flush();
      await node?.[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** Checks that the key belongs to the database. */
async function checkVault(database: Database, vault: Vault): Promise<void> {
  await database.run(`INSERT INTO marks (name, value) VALUES ('vault', $1) ON CONFLICT (name) DO NOTHING`, [
    markOf(vault),
  ]);
  const known = (await database.one<{ value: string }>(`SELECT value FROM marks WHERE name = 'vault'`))?.value ?? '';
  if (!recognizes(vault, known)) {
    throw new StoreError(
      'STILLFRAME_SECRET_KEY is not the key that this database was made with: give every server the same key.',
    );
  }
  if (known !== markOf(vault)) await renewKey(database, vault);
}

/** Converts any error that prevents the use of the database to one line for the operator. */
function unusable(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError(
    `The database of STILLFRAME_DATABASE_URL cannot be used (${reasonOf(error)}): check that it runs and that the URL names a user who may create tables in it.`,
    { cause: error },
  );
}

/**
 * Describes the innermost error, since those around it name only the statement. Node reports several addresses that refuse as one error
 * without a message.
 */
function reasonOf(error: unknown): string {
  const { message, code, cause } = error as { message?: string; code?: string; cause?: unknown };
  return cause instanceof Error ? reasonOf(cause) : message || code || String(error);
}
