/**
 * How far several servers on one PostgreSQL go. Part "servers" is the product with a stand-in for its renderer, everything else real: each
 * case runs a window at a set rate of submissions, and one in which clients wait for their captures and submit the next at once. Part
 * "stores" leaves out HTTP and pictures, so that the database has most of the processor, and "sqlite" is one server with SQLite.
 *
 * `npm run bench -- scale --parts servers,stores,sqlite --nodes 1,4 --rows 0,1000000 --accounts 1,1000 --extras none,webhooks,keys --rate 40
 * --seconds 5 --statements 8`
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { hashApiKey, newApiKey, SCOPES } from '../../src/contract/api-key.js';
import { aCluster, type Cluster } from '../cluster/a-cluster.js';
import { buildProgram } from '../fixtures/build-program.js';
import { listen } from '../fixtures/listen.js';
import { startPostgres } from '../fixtures/postgres.js';
import { descendantsOf } from '../fixtures/process-tree.js';
import { STAND_IN, type StandInSettings } from '../fixtures/stand-in-renderer.js';
import { FREE_NODE, openAt } from '../store/factories.js';
import { type Figure, quantile } from './figure.js';
import { submitAt, submitTogether, submitter } from './scale-load.js';
import { seedEnded } from './scale-rows.js';
import { benchSqlite } from './scale-sqlite.js';
import { runStores } from './scale-store.js';

/** Each server's captures at the same time; with renders of 50 to 150 ms, one server could make 320 a second. */
const CONCURRENCY = 32;
const RENDERS = { fromMs: 50, toMs: 150 };
const IDLE_MS = 2_000;
/** Callers of each store without a server. */
const CALLERS = 8;
const EXTRAS = ['none', 'webhooks', 'keys'] as const;

export interface ScaleCase {
  rows: number;
  nodes: number;
  accounts: number;
  extras: (typeof EXTRAS)[number];
}

/** The total cost of a measured period to the database. */
interface Cost {
  seconds: number;
  processorMs: number;
  statements: number;
  walBytes: number;
  claims: number;
  notifications: number;
}

interface Meter {
  cost(): Promise<Omit<Cost, 'seconds'>>;
  rows<Row>(text: string, values?: unknown[]): Promise<Row[]>;
}

export async function benchScale(options: ReadonlyMap<string, string>): Promise<Figure[]> {
  const numbers = (name: string, values: string) =>
    (options.get(name) ?? values)
      .split(',')
      .filter((value) => value !== 'none')
      .map(Number);
  const [seconds = 5, rate = 40, most = 0] = [
    numbers('seconds', '5'),
    numbers('rate', '40'),
    numbers('statements', '0'),
  ].flat();
  const parts = (options.get('parts') ?? 'stores,servers,sqlite').split(',');
  const standInFile = new URL('../fixtures/stand-in-renderer.ts', import.meta.url);
  await using program = await buildProgram(new URL('../../src/main.ts', import.meta.url), {
    '/src/service/renderer.ts': standInFile,
    '/src/render/capture.ts': standInFile,
  });
  const dir = mkdtempSync(join(tmpdir(), 'stillframe-bench-'));
  const standIn: StandInSettings = { ...RENDERS, rendered: join(dir, 'rendered') };
  const env = { STILLFRAME_CONCURRENCY: String(CONCURRENCY), [STAND_IN]: JSON.stringify(standIn) };
  if (parts.includes('sqlite')) print(await benchSqlite(program.file, env, seconds));
  if (!parts.includes('stores') && !parts.includes('servers')) return [];
  await using server = await startPostgres({
    shared_preload_libraries: 'pg_stat_statements',
    max_connections: '400',
    max_wal_size: '4GB',
  });
  const nodeCounts = numbers('nodes', '1,2,4,8,16');
  for (const rows of numbers('rows', '0,1000000')) {
    rmSync(standIn.rendered, { force: true });
    await using receiver = await listen(
      createServer((incoming, outgoing) => void incoming.resume().on('end', () => outgoing.writeHead(204).end())),
    );
    await using cluster = await aCluster(server.adminUrl);
    const urls: string[] = [];
    const settings = { ...env, STILLFRAME_MAX_QUEUE: '100000', STILLFRAME_LOG: 'info' };
    const begin = async () => {
      const started = cluster.start({ ...settings, STILLFRAME_WEBHOOK_ALLOW: receiver.origin }, program.file);
      urls.push((await started.ready).url);
    };
    await (await openAt(cluster.databaseUrl))[Symbol.asyncDispose]();
    const db = new pg.Pool({ connectionString: cluster.databaseUrl, max: 2 });
    db.on('error', () => undefined);
    try {
      const meter = await startMeter(db, cluster);
      const keys = await addAccounts(db, Math.max(...numbers('accounts', '1,1000')));
      if (rows > 0) await seedEnded(db, rows);
      await db.query('VACUUM ANALYZE');
      await db.query('CHECKPOINT');
      const withStatements = async (run: () => Promise<Figure[]>) => {
        if (most > 0) await db.query('SELECT pg_stat_statements_reset()');
        print(await run());
        if (most > 0) await printStatements(meter, most);
      };
      for (const nodes of parts.includes('stores') ? nodeCounts : []) {
        for (const one of casesOf(options, { rows, nodes, all: nodeCounts }).filter(({ extras }) => extras === 'none'))
          await withStatements(() => runStoresCase(meter, one, { databaseUrl: cluster.databaseUrl, seconds }));
      }
      for (const nodes of parts.includes('servers') ? nodeCounts : []) {
        while (urls.length < nodes) await begin();
        for (const one of casesOf(options, { rows, nodes, all: nodeCounts })) {
          const order = { one, urls, keys: keys.slice(0, one.accounts), receiver: receiver.origin };
          await withStatements(() => runCase(meter, order, { seconds, rate }));
        }
      }
      if (parts.includes('servers')) print(await audit(meter, standIn.rendered));
    } finally {
      await db.end();
    }
  }
  rmSync(dir, { recursive: true, force: true });
  return [];
}

function print(found: readonly Figure[]): void {
  for (const [what, value] of found) process.stdout.write(`  ${what.padEnd(64)} ${value}\n`);
}

/** All variants with four nodes, or with the first number that is asked for; with the other numbers of nodes, one account without extras. */
function casesOf(
  options: ReadonlyMap<string, string>,
  of: { rows: number; nodes: number; all: number[] },
): ScaleCase[] {
  const { rows, nodes, all } = of;
  const accounts = (options.get('accounts') ?? '1,1000').split(',').map(Number);
  const extras = (options.get('extras') ?? EXTRAS.join(',')).split(',') as ScaleCase['extras'][];
  const plain = { rows, nodes, accounts: accounts[0] ?? 1, extras: extras[0] ?? 'none' };
  if (nodes !== (all.includes(4) ? 4 : all[0])) return [plain];
  return [
    plain,
    ...accounts.slice(1).map((count) => ({ ...plain, accounts: count })),
    ...extras.slice(1).map((extra) => ({ ...plain, extras: extra })),
  ];
}

interface CaseOrder {
  one: ScaleCase;
  urls: string[];
  keys: string[];
  receiver: string;
}

async function runCase(
  meter: Meter,
  order: CaseOrder,
  { seconds, rate }: { seconds: number; rate: number },
): Promise<Figure[]> {
  const { rows, nodes, accounts, extras } = order.one;
  const name = `${nodes} nodes, ${rows} rows, ${accounts} accounts, ${extras}`;
  const { extras: extra } = order.one;
  const webhook = extra === 'webhooks' ? `${order.receiver}/hook` : null;
  const submit = submitter({ urls: order.urls.slice(0, nodes), keys: order.keys, webhook, hasKeys: extra === 'keys' });
  // Prepares the statements of all connections.
  for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 4 * nodes }, () => submit(true)));
  await meter.rows('ANALYZE');
  const idle = await measured(meter, () => pause(IDLE_MS));
  const paced = await measured(meter, () => submitAt(submit, rate, seconds));
  const crowd = await measured(meter, () => submitTogether(submit, seconds));
  const figures: Figure[] = [
    [
      `${name}: idle, database processor`,
      `${(idle.cost.processorMs / idle.cost.seconds).toFixed(1)} ms/s, ${(idle.cost.statements / idle.cost.seconds).toFixed(0)} statements/s`,
    ],
  ];
  const idleMs = idle.cost.processorMs / idle.cost.seconds;
  for (const [label, window] of Object.entries({ paced, crowd }))
    figures.push([`${name}: ${label}`, described(window, { nodes, idleMs })]);
  const [{ n: connections = '0' } = {}] = await meter.rows<{ n: string }>(
    `SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'stillframe'`,
  );
  figures.push([`${name}: connections`, connections]);
  return figures;
}

/** Runs stores without servers, as many as nodes, with so many callers that the processor is the limit. */
async function runStoresCase(
  meter: Meter,
  { rows, nodes, accounts: count }: ScaleCase,
  { databaseUrl, seconds }: { databaseUrl: string; seconds: number },
): Promise<Figure[]> {
  const stores = await Promise.all(
    Array.from({ length: nodes }, () => openAt(databaseUrl, () => ({ ...FREE_NODE, concurrency: 1_000 }))),
  );
  try {
    const accounts = Array.from({ length: count }, (_, nth) => ({
      accountId: `acc_bench${nth}`,
      keyId: `key_acc_bench${nth}`,
    }));
    const load = { callers: CALLERS, seconds };
    // Prepares the statements of all connections.
    await runStores(stores, accounts, { ...load, seconds: 2 + nodes / 2 });
    // As PostgreSQL does by itself each minute: plans that were made for empty tables are made anew.
    await meter.rows('ANALYZE');
    const idle = await measured(meter, () => pause(IDLE_MS));
    const window = await measured(meter, () => runStores(stores, accounts, load));
    const idleMs = idle.cost.processorMs / idle.cost.seconds;
    return [[`${nodes} stores, ${rows} rows, ${count} accounts`, described(window, { nodes, idleMs })]];
  } finally {
    await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
  }
}

/** @param nodes and what they cost the database each second without captures */
function described(
  { cost, accepted, ended, waits }: Awaited<ReturnType<typeof measured>>,
  { nodes, idleMs }: { nodes: number; idleMs: number },
): string {
  const per = (sum: number, digits = 2) => (sum / Math.max(1, ended)).toFixed(digits);
  const perSecond = (count: number) => (count / cost.seconds).toFixed(0);
  return [
    `accepted ${perSecond(accepted)} claimed ${perSecond(waits.length)} finished ${perSecond(ended)} /s`,
    `processor ${per(cost.processorMs)} ms (${per(cost.processorMs - idleMs * cost.seconds)} without idle)`,
    `statements ${per(cost.statements, 1)}`,
    `WAL ${per(cost.walBytes / 1_000, 1)} kB`,
    `claims ${per(cost.claims)}`,
    `wake-ups ${per(cost.notifications * nodes)}`,
    `claim p50 ${quantile(waits, 0.5)} p99 ${quantile(waits, 0.99)} ms`,
  ].join(', ');
}

/** A window from when nothing waits until nothing waits again. */
async function measured(meter: Meter, work: () => Promise<unknown>) {
  const [{ since = 0 } = {}] = await meter.rows<{ since: number }>(
    'SELECT coalesce(max(seq), 0)::float8 AS since FROM jobs',
  );
  const [before, from] = [await meter.cost(), performance.now()];
  await work();
  await untilQuiet(meter);
  const seconds = (performance.now() - from) / 1_000;
  const after = await meter.cost();
  const names = Object.keys(before) as (keyof typeof before)[];
  const cost = { ...Object.fromEntries(names.map((name) => [name, after[name] - before[name]])), seconds } as Cost;
  const jobs = await meter.rows<{ wait: number | null; ended: boolean }>(
    'SELECT (first_claimed_at - enqueued_at)::float8 AS wait, ended_at IS NOT NULL AS ended FROM jobs WHERE seq > $1',
    [since],
  );
  const waits = jobs.flatMap(({ wait }) => (wait === null ? [] : [wait]));
  return { cost, accepted: jobs.length, ended: jobs.filter(({ ended }) => ended).length, waits };
}

async function untilQuiet(meter: Meter): Promise<void> {
  for (;;) {
    const [{ busy = false } = {}] = await meter.rows<{ busy: boolean }>(
      'SELECT EXISTS (SELECT 1 FROM jobs WHERE ended_at IS NULL) OR EXISTS (SELECT 1 FROM deliveries WHERE due_at IS NOT NULL) AS busy',
    );
    if (!busy) return;
    await pause(50);
  }
}

async function startMeter(db: pg.Pool, { databaseUrl }: Cluster): Promise<Meter> {
  await db.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
  const listener = new pg.Client({ connectionString: databaseUrl });
  await listener.connect();
  listener.on('error', () => undefined);
  let notifications = 0;
  listener.on('notification', () => notifications++);
  await listener.query('LISTEN stillframe');
  const {
    rows: [postmaster],
  } = await db.query<{ pid: number }>(`SELECT pg_backend_pid() AS pid`);
  const root = parentOf(postmaster?.pid ?? 0);
  return {
    rows: async <Row>(text: string, values: unknown[] = []) => (await db.query(text, values)).rows as Row[],
    async cost() {
      const {
        rows: [sums],
      } = await db.query<{ statements: string; claims: string; wal: string }>(
        `SELECT coalesce(sum(calls), 0) AS statements, coalesce(sum(calls) FILTER (WHERE query LIKE '%stillframe_claim_corrected%'), 0) AS claims,
            pg_current_wal_lsn() - '0/0' AS wal FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      return {
        processorMs: processorMs(root),
        statements: Number(sums?.statements),
        claims: Number(sums?.claims),
        walBytes: Number(sums?.wal),
        notifications,
      };
    },
  };
}

/** Prints the statements that took most of the database's time. */
async function printStatements(meter: Meter, most: number): Promise<void> {
  const found = await meter.rows<{ calls: string; ms: number; mean: number; wal: string; query: string }>(
    `SELECT calls, total_exec_time AS ms, mean_exec_time AS mean, wal_bytes AS wal, query FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT $1`,
    [most],
  );
  for (const { calls, ms, mean, wal, query } of found)
    process.stdout.write(
      `    ${ms.toFixed(0)} ms, ${calls} calls of ${mean.toFixed(3)} ms, ${wal} bytes: ${query.replace(/\s+/g, ' ').slice(0, 140)}\n`,
    );
}

/** Processor time of the server and all its processes, also those that have ended. */
function processorMs(root: number): number {
  const live = [root, ...descendantsOf(root)].map((pid) => {
    try {
      return Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ', 1)[0]) / 1e6;
    } catch {
      return 0;
    }
  });
  const fields = statOf(root);
  const ended = (Number(fields[13]) + Number(fields[14])) * 10;
  return live.reduce((sum, ms) => sum + ms, ended);
}

function parentOf(pid: number): number {
  return Number(statOf(pid)[1]);
}

/** The fields of /proc/PID/stat after the name. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Makes accounts with a key each. @returns the secrets */
async function addAccounts(db: pg.Pool, count: number): Promise<string[]> {
  const secrets = Array.from({ length: count }, newApiKey);
  const [ids, names] = [secrets.map((_, nth) => `acc_bench${nth}`), secrets.map((_, nth) => `bench ${nth}`)];
  await db.query('INSERT INTO accounts (id, name, created_at) SELECT *, 0 FROM unnest($1::text[], $2::text[])', [
    ids,
    names,
  ]);
  await db.query('INSERT INTO turns (account_id) SELECT unnest($1::text[])', [ids]);
  await db.query(
    `INSERT INTO api_keys (id, account_id, hash, label, scopes, prefix, created_at)
      SELECT 'key_' || id, id, hash, 'bench', $3, left(hash, 16), 0 FROM unnest($1::text[], $2::text[]) AS made(id, hash)`,
    [ids, secrets.map(hashApiKey), JSON.stringify(SCOPES)],
  );
  return secrets;
}

/** Checks that no capture was made twice, and no credit charged twice. */
async function audit(meter: Meter, rendered: string): Promise<Figure[]> {
  const ids = readFileSync(rendered, 'utf8').trimEnd().split('\n');
  const [{ n = '0' } = {}] = await meter.rows<{ n: string }>('SELECT count(*) AS n FROM jobs WHERE attempts_made > 1');
  return [['captures that were claimed twice', `${ids.length - new Set(ids).size + Number(n)} of ${ids.length}`]];
}
