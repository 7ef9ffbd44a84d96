import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { hashApiKey, newApiKey } from '../../src/contract/api-key.js';
import type { CaptureData } from '../../src/contract/capture-data.js';
import type { CaptureOptions } from '../../src/contract/capture-request.js';
import { newId } from '../../src/contract/ids.js';
import { parseSubmission } from '../../src/contract/submission.js';
import { silentLog } from '../../src/log.js';
import { PG_MIGRATIONS_DIR, STORE_FILES } from '../../src/package-files.js';
import { openPostgresStore } from '../../src/store/postgres/open-store.js';
import { openStore } from '../../src/store/sqlite/open-store.js';
import type {
  Acceptance,
  AcceptRules,
  ClaimedJob,
  EndedJob,
  FinishedCapture,
  JobClaim,
  NewJob,
  NodeFacts,
  Store,
} from '../../src/store/store.js';
import { createDatabase, dropDatabase } from '../fixtures/databases.js';

export const { migrationsDir: MIGRATIONS_DIR } = STORE_FILES;
export const RULES: AcceptRules = { maxQueue: 1_000, webhookMaxAttempts: 5 };
export const NOON = Date.UTC(2026, 10, 15, 12);

/** A data directory or database of its own, removed with its store. */
export interface TestStore extends AsyncDisposable {
  store: Store;
  /** The place for `openAt`. */
  dataDir: string;
  /** Replaces `store` by one that is opened after it was closed. */
  restart(): Promise<void>;
}

/** The engine that the tests of this run use (vitest.config.ts). */
export const IS_POSTGRES = process.env.STILLFRAME_TEST_ENGINE === 'postgres';

export function aDataDir(): string {
  return mkdtempSync(join(tmpdir(), 'stillframe-store-'));
}

/** Opens a store of a data directory, or of the URL of a database. @param facts null for a command, which is no node of the cluster */
export function openAt(place: string, facts: (() => NodeFacts) | null = noFacts): Promise<Store> {
  return place.startsWith('postgres:')
    ? openPostgresStore({
        url: place,
        secretKeys: [SECRET_KEY],
        migrationsDir: PG_MIGRATIONS_DIR,
        migrates: true,
        facts,
        log: silentLog(),
      })
    : openStore({ dataDir: place, ...STORE_FILES, migrates: 'at start', log: silentLog() });
}

/** A place for `openAt`, of the engine of this run, and its removal. */
export async function aPlace(): Promise<{ place: string; remove: () => Promise<void> }> {
  if (IS_POSTGRES) {
    // Programs outside of the runner use this file as well.
    const { inject } = await import('vitest');
    const url = await createDatabase(inject('postgresUrl'), inject('migratedDatabase'));
    return { place: url, remove: () => dropDatabase(url) };
  }
  const place = aDataDir();
  return { place, remove: async () => rmSync(place, { recursive: true, force: true }) };
}

export async function aStore(): Promise<TestStore> {
  const { place, remove } = await aPlace();
  const it: TestStore = {
    store: await openAt(place),
    dataDir: place,
    async restart() {
      await it.store[Symbol.asyncDispose]();
      it.store = await openAt(place);
    },
    async [Symbol.asyncDispose]() {
      await it.store[Symbol.asyncDispose]();
      await remove();
    },
  };
  return it;
}

/** Gathers statistics about a store's tables, as PostgreSQL does by itself after a while: it may then choose other plans. */
export async function gatherStatistics(place: string): Promise<void> {
  if (!place.startsWith('postgres:')) return;
  const client = new pg.Client({ connectionString: place });
  await client.connect();
  await client.query('ANALYZE');
  await client.end();
}

/** The key of the stores in PostgreSQL. */
export const SECRET_KEY = Buffer.alloc(32, 7);

function noFacts(): NodeFacts {
  return { name: 'test', version: '0', roles: [], readyBrowsers: 0, sandboxed: false, running: 0, concurrency: 0 };
}

/** A server that takes every kind of work and has a free slot. */
export const FREE_NODE: NodeFacts = {
  name: 'test',
  version: '0',
  roles: ['api', 'capture', 'webhook'],
  readyBrowsers: 1,
  sandboxed: false,
  running: 0,
  concurrency: 2,
};

export interface Caller {
  accountId: string;
  accountName: string;
  keyId: string;
  secret: string;
}

const DEFAULTS = parseSubmission({ url: 'https://example.com/' }, { forceAsync: true, webhookAllow: [] }).options;

let names = 0;

/** An account with one key. */
export async function aCaller(store: Store, given: { quota?: number } = {}): Promise<Caller> {
  names += 1;
  const account = await store.createAccount(`account ${names}`, NOON);
  if (account === null) throw new Error('the name is taken');
  if (given.quota !== undefined) await store.setQuota(account.name, given.quota);
  return { accountId: account.id, accountName: account.name, ...(await aKey(store, account.id)) };
}

export async function aKey(store: Store, accountId: string): Promise<{ keyId: string; secret: string }> {
  const secret = newApiKey();
  const id = newId('key', NOON);
  await store.insertKey({
    id,
    accountId,
    hash: hashApiKey(secret),
    label: 'test',
    scopes: ['screenshot:write', 'jobs:read'],
    prefix: secret.slice(0, 16),
    createdAt: NOON,
  });
  return { keyId: id, secret };
}

export function someOptions(given: Partial<CaptureOptions> = {}): CaptureOptions {
  return { ...DEFAULTS, ...given };
}

/** A submission that equals no other: give `identity` or `cacheIdentity` to make it equal one. */
export function aNewJob(caller: Pick<Caller, 'accountId' | 'keyId'>, given: Partial<NewJob> = {}): NewJob {
  const id = newId('job', NOON);
  return {
    id,
    accountId: caller.accountId,
    keyId: caller.keyId,
    requestId: newId('request', NOON),
    mode: 'async',
    idempotencyKey: null,
    identity: `identity of ${id}`,
    cacheIdentity: null,
    cacheTtl: 3_600,
    options: someOptions(),
    webhook: null,
    price: 1,
    link: false,
    attemptBudget: 2,
    enqueuedAt: NOON,
    traceparent: null,
    ...given,
  };
}

export function aCapture(given: Partial<CaptureData> = {}): FinishedCapture {
  const name = given.artifact ?? `${newId('job').slice(4)}${newId('job').slice(4)}.webp`;
  return {
    artifact: { name, bytes: given.bytes ?? 1_000, sha256: 'ab'.repeat(32) },
    data: {
      url: 'https://example.com/',
      finalUrl: 'https://example.com/',
      format: 'webp',
      width: 2560,
      height: 1440,
      bytes: 1_000,
      durationMs: 400,
      cached: false,
      blockedRequests: 0,
      region: null,
      egressCountry: null,
      diagnostics: {
        algorithm: 'native',
        sections: 1,
        deviceScaleFactor: 2,
        scrollHeight: 720,
        stoppedReason: 'viewport',
        truncated: false,
      },
      inspection: null,
      ...given,
      artifact: name,
    },
  };
}

/** The job of an acceptance that must have made or found one. */
export function jobOf(acceptance: Acceptance) {
  if (!('job' in acceptance)) throw new Error(`not accepted: ${acceptance.kind}`);
  return acceptance.job;
}

/** Like a loop with one free slot. */
export async function claimOne(store: Pick<Store, 'claimNextJobs'>, claim: JobClaim): Promise<ClaimedJob | null> {
  return (await store.claimNextJobs([claim]))[0] ?? null;
}

export async function claimNext(store: Store, given: Partial<JobClaim> = {}): Promise<ClaimedJob> {
  const claimed = await claimOne(store, { workerId: 'host-1-0', now: NOON, leaseMs: 30_000, ...given });
  if (claimed === null) throw new Error('nothing to claim');
  return claimed;
}

/** A job that has been captured. */
export async function aCaptured(
  store: Store,
  caller: Caller,
  { endedAt = NOON, ...given }: Partial<NewJob> & { endedAt?: number } = {},
) {
  const [job, capture] = [aNewJob(caller, given), aCapture()];
  await store.accept(job, RULES);
  await store.complete(claimOf(await claimNext(store, { now: endedAt })), capture, endedAt);
  return { ...job, name: capture.artifact.name, data: capture.data };
}

/** A job that has been accepted. */
export async function aQueued(
  store: Store,
  caller: Pick<Caller, 'accountId' | 'keyId'>,
  given: Partial<NewJob> = {},
): Promise<NewJob> {
  const job = aNewJob(caller, given);
  await store.accept(job, RULES);
  return job;
}

/** Claims the next job and completes it. Returns the jobs that ended. */
export async function completeNext(store: Store, capture = aCapture(), now = NOON): Promise<EndedJob[]> {
  return await store.complete(claimOf(await claimNext(store)), capture, now);
}

/** Returns the claim of a claimed job. */
export function claimOf({ id, workerId, attempt }: ClaimedJob) {
  return { id, workerId, attempt };
}
