/** Parts of trial "cluster" with real servers, through the front door. */

import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { quantile } from '../bench/figure.js';
import { aCluster, type Cluster } from '../cluster/a-cluster.js';
import { startDatabaseProxy } from '../fixtures/database-proxy.js';
import type { PostgresServer } from '../fixtures/postgres.js';
import { startSite } from '../fixtures/site/site.js';
import type { PartFound, PartOptions } from './cluster-ground.js';
import { servePages } from './crowd.js';
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
  await using alone = await aCluster(server.adminUrl);
  await using shared = await aCluster(server.adminUrl);
  await using proxy = await startDatabaseProxy(shared.databaseUrl);
  const through = { STILLFRAME_DATABASE_URL: proxy.url };
  const one = await shot(alone.start());
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
  const own: number[] = [];
  const others: number[] = [];
  for (let i = 0; i < 5; i++) await Promise.all([time(one), time(api)]);
  for (let i = 0; i < measured; i++) {
    own.push(await time(one));
    others.push(await time(api));
  }
  proxy.cutListeners(true);
  const deaf: number[] = [];
  for (let i = 0; i < measured; i++) deaf.push(await time(api));
  proxy.cutListeners(false);
  const later = median(others) - median(own);
  if (later > ANSWERS_LATER_MS) problems.push(`${later} ms more at p50 through another server`);
  if (median(deaf) > median(own) + 2 * LOOKS_EVERY_MS) problems.push(`p50 ${median(deaf)} ms without notifications`);
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
  return Math.round(quantile(times, 0.5));
}

interface CallersOptions {
  clients: number;
  key: string;
  /** The URLs of the servers; read at each request. */
  doors: readonly string[];
  /** The URL of a page that was not captured yet. */
  page(): string;
}

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a client's view of JSON
  body: any;
}

/** An idle connection that the server closes as a request arrives on it is a race of HTTP, not a failure of the server. */
const agent = new Agent({ keepAlive: false });
const FOLLOW_MS = 100;

/** Clients of several servers that take turns, as behind a load balancer which only knows that a connection was refused. */
class Callers {
  readonly counts = { answered: 0, refused: 0, reset: 0 };
  readonly problems: string[] = [];
  #turn = 0;
  #stopped = false;
  readonly #loops: Promise<void>[];

  constructor(private readonly options: CallersOptions) {
    this.#loops = Array.from({ length: options.clients }, (_, i) => this.#call(i));
  }

  /** Resolves when everything that was submitted has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  async #call(client: number): Promise<void> {
    while (!this.#stopped) {
      const isAsync = client % 2 === 1;
      const body = JSON.stringify({ url: this.options.page(), cache_ttl: 0, sync: !isAsync });
      const answer = await this.#ask('POST', '/v1/screenshot', body);
      if (answer.status === 200) await this.#look(new URL(answer.body.data.cdn_url).pathname);
      else if (answer.status === 202) await this.#follow(answer.body.data.job_id);
      else this.#blame('a submission', answer);
    }
  }

  async #follow(jobId: string): Promise<void> {
    for (;;) {
      const answer = await this.#ask('GET', `/v1/jobs/${jobId}`);
      if (answer.status !== 200) return this.#blame('a look-up', answer);
      if (answer.body.data.state === 'completed') return;
      if (answer.body.data.state === 'failed') return this.#blame('a job', answer);
      await new Promise((resolve) => setTimeout(resolve, FOLLOW_MS));
    }
  }

  async #look(path: string): Promise<void> {
    const answer = await this.#ask('GET', path);
    if (answer.status !== 200) this.#blame('a picture', answer);
  }

  #blame(what: string, { status, body }: Answer): void {
    this.problems.push(`${what} was answered ${status} ${JSON.stringify(body)?.slice(0, 300)}`);
  }

  /** Goes on to the next server when a connection is refused or reset; any other failure of a connection is a problem. */
  async #ask(method: string, path: string, body?: string): Promise<Answer> {
    const idempotencyKey = randomUUID();
    for (;;) {
      const door = this.options.doors[this.#turn++ % this.options.doors.length] ?? '';
      try {
        const answer = await send({ method, url: `${door}${path}`, key: this.options.key, body, idempotencyKey });
        this.counts.answered += 1;
        return answer;
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        if (code === 'ECONNREFUSED') this.counts.refused += 1;
        // Never accepted: the system resets what has come since a server last looked when it closes its socket. Repeating is safe by the
        // idempotency key.
        else if (code === 'ECONNRESET') this.counts.reset += 1;
        else this.problems.push(`${method} ${path}: ${code ?? message}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  }
}

interface Call {
  method: string;
  url: string;
  key: string;
  body: string | undefined;
  idempotencyKey: string;
}

function send({ method, url, key, body, idempotencyKey }: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': idempotencyKey };
    const sent = request(url, { method, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => resolve({ status: response.statusCode ?? 0, body: asJson(Buffer.concat(chunks)) }))
        .on('error', reject);
    });
    sent.on('error', reject).end(body);
  });
}

function asJson(content: Buffer): unknown {
  try {
    return JSON.parse(content.toString('utf8'));
  } catch {
    return null;
  }
}

const TAG = '9999_of_the_next_version';
/** Later than any migration of today. */
const WHEN = 4_102_444_800_000;
/** Changes that a release may make without disturbing the version before. */
const MIGRATION = `ALTER TABLE jobs ADD COLUMN of_the_next_version text;
--> statement-breakpoint
ALTER TABLE nodes ADD COLUMN of_the_next_version int NOT NULL DEFAULT 0;
--> statement-breakpoint
CREATE INDEX jobs_of_the_next_version ON jobs (of_the_next_version) WHERE of_the_next_version IS NOT NULL;
--> statement-breakpoint
CREATE TABLE of_the_next_version (job_id text PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE);`;

/** @param main of the program of today @returns that of the copy, which goes with it */
function nextVersionOf(main: string): { main: string } & Disposable {
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
