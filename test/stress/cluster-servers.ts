/** Parts of trial "cluster" with real servers, through the front door. */
import pg from 'pg';
import { quantile } from '../bench/figure.js';
import { aCluster, type Cluster } from '../cluster/a-cluster.js';
import { startDatabaseProxy } from '../fixtures/database-proxy.js';
import type { PostgresServer } from '../fixtures/postgres.js';
import { startSite } from '../fixtures/site/site.js';
import { Callers } from './cluster-callers.js';
import type { PartFound, PartOptions } from './cluster-ground.js';
import { servePages } from './crowd.js';
import { nextVersionOf } from './next-version.js';
import { mainFile, type ServerProcess } from './server-process.js';

/** No program can look for waiting connections and close its socket in one step. Without waiting for a quiet moment there were twice as many. */
const REPLACEMENTS_PER_RESET = 6;
/** Each page takes that long to come, so that captures are under way when a server is to stop. */
const PAGE_MS = 200;
/** By which another server than the renderer may answer later, and that much later when no notification comes: one look a second. */
const ANSWERS_LATER_MS = 20;
const LOOKS_EVERY_MS = 1_000;

/** Each round replaces all servers one by one under load: by those of this version, then by those of the next one. */
export async function rolling(server: PostgresServer, { rounds, servers: count, sameVersion }: PartOptions): Promise<PartFound> {
  await using site = await aSite(PAGE_MS);
  await using cluster = await aCluster(server.adminUrl);
  using next = nextVersionOf(mainFile());
  const servers: ServerProcess[] = [];
  const doors: string[] = [];
  const begin = async (at: number, main?: string): Promise<string | null> => {
    const started = cluster.start({}, main);
    servers[at] = started;
    const { url, firstKey } = await started.ready;
    doors[at] = url;
    return firstKey;
  };
  const key = (await begin(0)) ?? '';
  for (let at = 1; at < count; at++) await begin(at);
  let pages = 0;
  const callers = new Callers({ clients: 6, key, doors, page: () => `${site.origin}/page?${pages++}` });
  const problems: string[] = [];
  const replace = async (at: number, main?: string): Promise<void> => {
    const old = servers[at];
    const before = callers.counts.answered;
    old?.kill('SIGTERM');
    const exit = await old?.exited;
    if (exit?.code !== 0) problems.push(`a server ended with ${exit?.code ?? exit?.signal}`);
    await begin(at, main);
    while (callers.counts.answered < before + 20 && callers.problems.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  };
  for (let round = 0; round < rounds; round++) {
    // From the second round on, servers of this version start on a database of the next one, beside its servers.
    for (let at = 0; at < count && sameVersion === 1; at++) await replace(at);
    for (let at = 0; at < count; at++) await replace(at, next.main);
  }
  await callers.stop();
  problems.push(...new Set(callers.problems), ...(await auditOf(cluster)));
  const replacements = rounds * (1 + sameVersion) * count;
  if (callers.counts.reset > Math.max(1, replacements / REPLACEMENTS_PER_RESET))
    problems.push(`${callers.counts.reset} connections were reset`);
  return { figures: { replacements, captures: pages, ...callers.counts }, problems };
}

/** The same captures by a server that does everything, through one that leaves them to another, and so without notifications. */
export async function listen(server: PostgresServer, { measured }: PartOptions): Promise<PartFound> {
  await using site = await aSite(0);
  // Without times to compare, nothing is taken of a server that does everything.
  const isCompared = measured > 0;
  await using alone = await aCluster(server.adminUrl);
  await using shared = await aCluster(server.adminUrl);
  await using proxy = await startDatabaseProxy(shared.databaseUrl);
  const through = { STILLFRAME_DATABASE_URL: proxy.url };
  const one = isCompared ? await shot(alone.start()) : null;
  const api = await shot(shared.start({ ...through, STILLFRAME_ROLES: 'api,webhook' }));
  await shared.start({ ...through, STILLFRAME_ROLES: 'capture' }).ready;
  const problems: string[] = [];
  let pages = 0;
  const time = async (take: (page: string) => Promise<unknown>): Promise<number> => {
    const page = `${site.origin}/page?${pages++}`;
    const from = performance.now();
    const data = await take(page);
    if ((data as { url?: string } | null)?.url !== page) problems.push(`a wrong answer: ${JSON.stringify(data)?.slice(0, 200)}`);
    return performance.now() - from;
  };
  const count = Math.max(measured, 2);
  const own: number[] = [];
  const others: number[] = [];
  for (let i = 0; i < 5 && one !== null; i++) await Promise.all([time(one), time(api)]);
  for (let i = 0; i < count; i++) {
    if (one !== null) own.push(await time(one));
    others.push(await time(api));
  }
  proxy.cutListeners(true);
  const deaf: number[] = [];
  for (let i = 0; i < count; i++) deaf.push(await time(api));
  proxy.cutListeners(false);
  const later = median(others) - median(own);
  if (isCompared && later > ANSWERS_LATER_MS) problems.push(`${later} ms more at p50 through another server`);
  if (isCompared && median(deaf) > median(own) + 2 * LOOKS_EVERY_MS) problems.push(`p50 ${median(deaf)} ms without notifications`);
  problems.push(...(await auditOf(shared)));
  return { figures: { 'p50 of one (ms)': median(own), 'of another (ms)': median(others), 'without LISTEN (ms)': median(deaf) }, problems };
}

async function shot(server: ServerProcess): Promise<(page: string) => Promise<unknown>> {
  const { url, firstKey } = await server.ready;
  return async (page) => {
    const response = await fetch(`${url}/v1/screenshot`, {
      method: 'POST',
      headers: { authorization: `Bearer ${firstKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: page, cache_ttl: 0, sync: true }),
    });
    const answer = (await response.json()) as { data?: unknown };
    return response.status === 200 ? answer.data : answer;
  };
}

async function aSite(pageMs: number) {
  const site = await startSite({ host: '127.0.0.2' });
  servePages(site, pageMs);
  return site;
}

/** Every job ended well, at its first attempt, and was charged once; the bucket has its picture. */
async function auditOf({ databaseUrl, bucket }: Cluster): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ what: string; n: string }>(`
      SELECT 'jobs that did not complete' AS what, count(*) AS n FROM jobs WHERE state <> 'completed'
      UNION ALL SELECT 'jobs with a second attempt', count(*) FROM jobs WHERE attempts_made > 1
      UNION ALL SELECT 'credits that are not settled', count(*) FROM reservations WHERE state <> 'settled'
      UNION ALL SELECT 'charges too many or few', abs((SELECT sum(settled) FROM sums) - (SELECT count(*) FROM jobs))`);
    const names = new Set(bucket.names());
    const pictures = await client.query<{ name: string }>('SELECT name FROM artifacts');
    const missing = pictures.rows.filter(({ name }) => !names.has(name)).length;
    const found = [...rows.map(({ what, n }) => ({ what, n: Number(n) })), { what: 'pictures missing in the bucket', n: missing }];
    return found.flatMap(({ what, n }) => (n === 0 ? [] : [`${n} ${what}`]));
  } finally {
    await client.end();
  }
}

function median(times: readonly number[]): number {
  return times.length === 0 ? 0 : Math.round(quantile(times, 0.5));
}
