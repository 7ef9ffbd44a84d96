/**
 * Trial "failing-node": eight servers with a stand-in for the renderer, under a steady load, and one fault after the other. Faults: kill
 * (SIGKILL), stop (SIGSTOP and SIGCONT), cut (a server that the network cuts off from the database), slow (100 ms more for each statement of
 * each server), restart (of PostgreSQL), full (a bucket that refuses what is stored), upgrade (the servers are replaced one by one by those
 * of a version with one further migration). No capture is lost, none is charged twice, and as many complete as before within 5 s after the fault.
 *
 * Sabotage that turns it red: let `retryWhileUnavailable` of capture/run-job.ts throw at once ("full").
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { aCluster } from '../cluster/a-cluster.js';
import { buildProgram } from '../fixtures/build-program.js';
import { type DatabaseProxy, startDatabaseProxy } from '../fixtures/database-proxy.js';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.js';
import { STAND_IN, type StandInSettings } from '../fixtures/stand-in-renderer.js';
import { callApi } from './call-api.js';
import { auditOf, nextVersionOf } from './cluster-servers.js';
import { mainFile, type ServerProcess } from './server-process.js';
import { firstOf, type TrialResult, until } from './trial-result.js';

const STAND_IN_RENDERER = new URL('../fixtures/stand-in-renderer.ts', import.meta.url);
const STAND_INS = { '/src/service/renderer.ts': STAND_IN_RENDERER, '/src/render/capture.ts': STAND_IN_RENDERER };
const RENDERS = { fromMs: 50, toMs: 150 };
const CONCURRENCY = 4;
/** Before each fault, as many captures as are submitted complete for so long. */
const STEADY_MS = 8_000;
const WARM_MS = 60_000;
const BACK_WITHIN_MS = 5_000;
/** A client that has no answer until then tries another server. */
const ANSWER_MS = 3_000;
const SLOW_MS = 100;
/** Goodput is back when as many captures as before complete in such a time. */
const WINDOW_MS = 2_000;
const BACK_SHARE = 0.9;

const AS_PROMISED = { nodes: 8, rate: 20, stopMs: 60_000, faultMs: 15_000 };

interface Ground {
  nodes: { server: ServerProcess; proxy: DatabaseProxy }[];
  replace(at: number): Promise<void>;
  postgres: PostgresServer;
  bucket: Awaited<ReturnType<typeof aCluster>>['bucket'];
}

/** Causes a fault. Resolves when it has ended. */
type Cause = (ground: Ground, options: typeof AS_PROMISED) => Promise<void>;

const FAULTS: Record<string, Cause> = {
  async kill({ nodes }) {
    await nodes[1]?.server.end('SIGKILL');
  },
  async stop({ nodes }, { stopMs }) {
    nodes[2]?.server.kill('SIGSTOP');
    await pause(stopMs);
    nodes[2]?.server.kill('SIGCONT');
  },
  async cut({ nodes }, { faultMs }) {
    nodes[3]?.proxy.silence();
    await pause(faultMs);
    nodes[3]?.proxy.speak();
  },
  async slow({ nodes }, { faultMs }) {
    for (const { proxy } of nodes) proxy.delay(SLOW_MS);
    await pause(faultMs);
    for (const { proxy } of nodes) proxy.delay(0);
  },
  async restart({ postgres }) {
    await postgres.kill();
    await postgres.start();
  },
  async full({ bucket }, { faultMs }) {
    bucket.trouble(507, /^PUT/);
    await pause(faultMs);
    bucket.trouble('none');
  },
  async upgrade({ nodes, replace }) {
    for (const at of nodes.keys()) await replace(at);
  },
};

/** @param faults which, with commas between them */
export async function run({
  faults = Object.keys(FAULTS).join(),
  ...given
}: Partial<typeof AS_PROMISED> & { faults?: string }): Promise<TrialResult> {
  const options = { ...AS_PROMISED, ...given };
  const source = new URL('../../src/main.ts', import.meta.url);
  await using program = await buildProgram(source, STAND_INS);
  using copy = nextVersionOf(mainFile());
  await using next = await buildProgram(source, STAND_INS, pathToFileURL(copy.main));
  await using postgres = await startPostgres();
  await using cluster = await aCluster(postgres.adminUrl);
  const dir = mkdtempSync(join(tmpdir(), 'stillframe-trial-'));
  const standIn: StandInSettings = { ...RENDERS, rendered: join(dir, 'rendered') };
  const nodes: Ground['nodes'] = [];
  const doors: { url: string; key: string }[] = [];
  const start = async (at: number, main: string) => {
    const proxy = nodes[at]?.proxy ?? (await startDatabaseProxy(cluster.databaseUrl));
    const env = {
      STILLFRAME_DATABASE_URL: proxy.url,
      STILLFRAME_CONCURRENCY: String(CONCURRENCY),
      STILLFRAME_MAX_QUEUE: '100000',
      [STAND_IN]: JSON.stringify(standIn),
    };
    const server = cluster.start(env, main);
    nodes[at] = { server, proxy };
    doors[at] = await server.door();
  };
  await start(0, program.file);
  await Promise.all(firstOf(options.nodes - 1).map((at) => start(at + 1, program.file)));
  const replace = async (at: number) => {
    await nodes[at]?.server.end('SIGTERM');
    await start(at, next.file);
  };
  const db = new pg.Pool({ connectionString: cluster.databaseUrl, max: 2 });
  db.on('error', () => undefined);
  const completedSince = async (from: number, to: number): Promise<number> => {
    const text = `SELECT count(*) AS n FROM jobs WHERE state = 'completed' AND ended_at >= $1 AND ended_at < $2`;
    return Number((await db.query(text, [from, to])).rows[0].n);
  };
  const load = startLoad({ doors, rate: options.rate });
  const figures: TrialResult['figures'] = {};
  const problems: string[] = [];
  try {
    for (const fault of String(faults).split(',')) {
      const completed = () => completedSince(Date.now() - STEADY_MS, Date.now());
      const isSteady = async () => (await completed()) >= (BACK_SHARE * options.rate * STEADY_MS) / 1_000;
      if (!(await until(isSteady, WARM_MS, 250)))
        problems.push(`${fault}: fewer completed before it than were submitted`);
      const usual = (await completed()) / STEADY_MS;
      const from = Date.now();
      await FAULTS[fault]?.({ nodes, replace, postgres, bucket: cluster.bucket }, options);
      const to = Date.now();
      await pause(BACK_WITHIN_MS + WINDOW_MS);
      const during = to - from < 1_000 ? null : (await completedSince(from, to)) / (to - from);
      const back = await backAfter(usual, to, completedSince);
      figures[fault] = [
        `${(usual * 1_000).toFixed(1)}/s before`,
        ...(during === null ? [] : [`${(during * 1_000).toFixed(1)}/s during ${Math.round((to - from) / 1_000)} s`]),
        back === null ? `not back after ${BACK_WITHIN_MS} ms` : `back after ${back} ms`,
      ].join(', ');
      if (back === null) problems.push(`${fault}: goodput was not back ${BACK_WITHIN_MS} ms after it ended`);
      if (fault === 'kill') await start(1, program.file);
      if (fault === 'upgrade') await db.query('SELECT of_the_next_version FROM jobs LIMIT 1');
    }
    await load.stop();
    const pending = async () =>
      Number((await db.query('SELECT count(*) AS n FROM jobs WHERE ended_at IS NULL')).rows[0].n);
    await until(async () => (await pending()) === 0, 90_000, 200);
    const { rows } = await db.query<{ n: string }>('SELECT count(*) AS n FROM jobs');
    const jobs = Number(rows[0]?.n);
    if (jobs !== load.counts.accepted) problems.push(`${jobs} jobs for ${load.counts.accepted} idempotency keys`);
    problems.push(...new Set(load.problems), ...(await auditOf(cluster, { repeats: true })));
    const logged = nodes.flatMap(({ server }) => server.said.filter((line) => line.includes('"level":50')));
    if (problems.length > 0) problems.push(...logged.slice(0, 3));
    const { accepted, repeated, slowestMs } = load.counts;
    Object.assign(figures, {
      captures: `${accepted}, ${repeated} requests repeated, the slowest accepted after ${slowestMs} ms`,
    });
  } finally {
    await load.stop();
    await db.end();
    for (const { server, proxy } of nodes) {
      server.kill('SIGCONT');
      await server[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    }
    rmSync(dir, { recursive: true, force: true });
  }
  return { figures, problems };
}

/** Milliseconds after which as many captures as usual complete; null if that takes longer than it may. */
async function backAfter(
  usual: number,
  from: number,
  completed: (from: number, to: number) => Promise<number>,
): Promise<number | null> {
  for (let ms = 0; ms <= BACK_WITHIN_MS; ms += 250) {
    if ((await completed(from + ms, from + ms + WINDOW_MS)) >= BACK_SHARE * usual * WINDOW_MS) return ms;
  }
  return null;
}

/** Submits captures at a rate, each to any server, and to the next one while no server accepts it. */
function startLoad({ doors, rate }: { doors: { url: string; key: string }[]; rate: number }) {
  const counts = { accepted: 0, repeated: 0, slowestMs: 0 };
  const problems: string[] = [];
  const open = new Set<Promise<void>>();
  let turn = 0;
  // Only the first start of a server has it.
  const key = doors[0]?.key ?? '';
  const submit = async (): Promise<void> => {
    const body = JSON.stringify({ url: `http://127.0.0.2:8080/${randomUUID()}`, cache_ttl: 0 });
    const headers = { 'idempotency-key': randomUUID() };
    const from = performance.now();
    for (; ; await pause(50)) {
      const signal = AbortSignal.timeout(ANSWER_MS);
      const url = `${doors[turn++ % doors.length]?.url}/v1/screenshot?mode=async`;
      const answer = await callApi(url, key, { method: 'POST', body, headers, signal }).catch(() => null);
      if (answer?.status === 202 || answer?.status === 200) break;
      counts.repeated += 1;
      if (answer === null || answer.status >= 500 || answer.status === 409) continue;
      problems.push(`a submission was answered ${answer.status} ${JSON.stringify(answer.body)}`);
      return;
    }
    counts.accepted += 1;
    counts.slowestMs = Math.max(counts.slowestMs, Math.round(performance.now() - from));
  };
  const timer = setInterval(() => {
    const submitting = submit().finally(() => open.delete(submitting));
    open.add(submitting);
  }, 1_000 / rate);
  return {
    counts,
    problems,
    /** Resolves when everything that was begun has been accepted. */
    async stop(): Promise<void> {
      clearInterval(timer);
      await Promise.all(open);
    },
  };
}
