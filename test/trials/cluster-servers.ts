/** The part of trial "cluster" with real servers, through the front door. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { aCluster, type Cluster } from '../cluster/a-cluster.js';
import type { PostgresServer } from '../fixtures/postgres.js';
import { startSite } from '../fixtures/site/site.js';
import type { Door } from './call-api.js';
import type { PartOptions } from './cluster-ground.js';
import { servePages } from './crowd.js';
import { mainFile, type ServerProcess } from './server-process.js';
import { firstOf, type TrialResult, until } from './trial-result.js';

/** No program can look for waiting connections and close its socket in one step. Without waiting for a quiet moment there were twice as many. */
const REPLACEMENTS_PER_RESET = 6;
/** Each page takes that long to come, so that captures are under way when a server is to stop. */
const PAGE_MS = 200;
/** Each round replaces all servers one by one under load: by those of this version, then by those of the next one. */
export async function rolling(
  server: PostgresServer,
  { rounds, servers: count, sameVersion }: PartOptions,
): Promise<TrialResult> {
  await using site = await startSite({ host: '127.0.0.2' });
  servePages(site, PAGE_MS);
  await using cluster = await aCluster(server.adminUrl);
  using next = nextVersionOf(mainFile());
  const servers: ServerProcess[] = [];
  const doors: Door[] = [];
  const begin = async (at: number, main?: string): Promise<void> => {
    const started = cluster.start({}, main);
    servers[at] = started;
    doors[at] = await started.door();
  };
  for (let at = 0; at < count; at++) await begin(at);
  let pages = 0;
  const callers = startCallers({ clients: 6, doors, page: () => `${site.origin}/page?${pages++}` });
  const problems: string[] = [];
  const replace = async (at: number, main?: string): Promise<void> => {
    const before = callers.counts.answered;
    const exit = await servers[at]?.end('SIGTERM');
    if (exit?.code !== 0) problems.push(`a server ended with ${exit?.code ?? exit?.signal}`);
    await begin(at, main);
    await until(() => callers.counts.answered >= before + 20 || callers.problems.length > 0);
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

/**
 * Every job ended well, and was charged once; the bucket has its picture.
 * @param repeats whether a job may have had another attempt than the first
 */
export async function auditOf({ databaseUrl, bucket }: Cluster, { repeats = false } = {}): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ what: string; n: string }>(`
      SELECT 'jobs that did not complete' AS what, count(*) AS n FROM jobs WHERE state <> 'completed'
      UNION ALL SELECT 'jobs with a second attempt', count(*) FROM jobs WHERE attempts_made > 1 AND NOT ${repeats}
      UNION ALL SELECT 'credits that are not settled', count(*) FROM reservations WHERE state <> 'settled'
      UNION ALL SELECT 'charges too many or few', abs((SELECT sum(settled) FROM sums) - (SELECT count(*) FROM jobs))`);
    const names = new Set(bucket.names());
    const pictures = await client.query<{ name: string }>('SELECT name FROM artifacts');
    const missing = pictures.rows.filter(({ name }) => !names.has(name)).length;
    const found = [
      ...rows.map(({ what, n }) => ({ what, n: Number(n) })),
      { what: 'pictures missing in the bucket', n: missing },
    ];
    return found.flatMap(({ what, n }) => (n === 0 ? [] : [`${n} ${what}`]));
  } finally {
    await client.end();
  }
}

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a client's view of JSON
  body: any;
}

/**
 * Clients of several servers that take turns, as behind a load balancer which only knows that a connection was refused.
 *
 * @param of.doors of the servers, the first with the key; read at each request
 * @param of.page the URL of a page that was not captured yet
 */
function startCallers({ clients, doors, page }: { clients: number; doors: readonly Door[]; page(): string }) {
  const counts = { answered: 0, refused: 0, reset: 0 };
  const problems: string[] = [];
  const key = doors[0]?.key ?? '';
  let turn = 0;
  let isStopped = false;
  const blame = (what: string, { status, body }: Answer) =>
    void problems.push(`${what} was answered ${status} ${JSON.stringify(body)?.slice(0, 300)}`);
  /** Goes on to the next server when a connection is refused or reset; any other failure of a connection is a problem. */
  const expectAnswer = async (method: string, path: string, statuses: number[], body?: string): Promise<Answer> => {
    const idempotencyKey = randomUUID();
    for (; ; await pause(5)) {
      try {
        const answer = await send(`${doors[turn++ % doors.length]?.url}${path}`, { method, key, body, idempotencyKey });
        counts.answered += 1;
        if (!statuses.includes(answer.status)) blame(`${method} ${path}`, answer);
        return answer;
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        if (code === 'ECONNREFUSED') counts.refused += 1;
        // Never accepted: the system resets what has come since a server last looked when it closes its socket. Repeating is safe by the
        // idempotency key.
        else if (code === 'ECONNRESET') counts.reset += 1;
        else problems.push(`${method} ${path}: ${code ?? message}`);
      }
    }
  };
  const call = async (sync: boolean): Promise<void> => {
    while (!isStopped) {
      const order = JSON.stringify({ url: page(), cache_ttl: 0, sync });
      const { status, body } = await expectAnswer('POST', '/v1/screenshot', [200, 202], order);
      if (status === 200) await expectAnswer('GET', new URL(body.data.cdn_url).pathname, [200]);
      for (let ended = status !== 202; !ended; await pause(100)) {
        const job = await expectAnswer('GET', `/v1/jobs/${body.data.job_id}`, [200]);
        ended = job.status !== 200 || job.body.data.result !== undefined;
        if (job.body?.data?.state === 'failed') blame('a job', job);
      }
    }
  };
  const calls = firstOf(clients).map((client) => call(client % 2 === 0));
  /** Resolves when everything that was submitted has ended. */
  const stop = async (): Promise<void> => {
    isStopped = true;
    await Promise.all(calls);
  };
  return { counts, problems, stop };
}

/** On a connection of its own: an idle one that the server closes as a request arrives is a race of HTTP, not a failure of the server. */
async function send(
  url: string,
  of: { method: string; key: string; idempotencyKey: string; body: string | undefined },
): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${of.key}`,
    'content-type': 'application/json',
    'idempotency-key': of.idempotencyKey,
  };
  const sent = request(url, { method: of.method, headers, agent: false }).end(of.body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const content = await text(response);
  return {
    status: response.statusCode ?? 0,
    body: /json/.test(response.headers['content-type'] ?? '') ? JSON.parse(content) : null,
  };
}

const TAG = '9999_of_the_next_version';
const WHEN = 4_102_444_800_000;
const MIGRATION = `ALTER TABLE jobs ADD COLUMN of_the_next_version text;
--> statement-breakpoint
ALTER TABLE nodes ADD COLUMN of_the_next_version int NOT NULL DEFAULT 0;
--> statement-breakpoint
CREATE INDEX jobs_of_the_next_version ON jobs (of_the_next_version) WHERE of_the_next_version IS NOT NULL;
--> statement-breakpoint
CREATE TABLE of_the_next_version (job_id text PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE);`;

/** A copy of a program with one further migration, which only adds. @param main the program's file in dist/ */
export function nextVersionOf(main: string): { main: string } & Disposable {
  const program = dirname(dirname(main));
  const copy = `${program}-next-${process.pid}`;
  mkdirSync(copy, { recursive: true });
  cpSync(program, copy, { recursive: true });
  const journal = join(copy, 'drizzle-pg/meta/_journal.json');
  const told = JSON.parse(readFileSync(journal, 'utf8')) as { entries: unknown[] };
  told.entries.push({ idx: told.entries.length, version: '7', when: WHEN, tag: TAG, breakpoints: true });
  writeFileSync(journal, JSON.stringify(told));
  writeFileSync(join(copy, 'drizzle-pg', `${TAG}.sql`), MIGRATION);
  return { main: join(copy, 'dist/main.js'), [Symbol.dispose]: () => rmSync(copy, { recursive: true, force: true }) };
}
