/**
 * Trial "outage": the bucket or the database is away for a while, in each way that it can be, while captures run and wait. No job is lost or
 * failed, none is rendered more than once more, and the server goes on by itself. Once with SQLite, once with two servers on PostgreSQL.
 *
 * Sabotage that turns it red: give `limitMs: 0` to every `retryWhileUnavailable` of capture/run-job.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Database } from '../../src/store/sqlite/driver.js';
import { type BucketServer, startBucketServer, type Trouble } from '../fixtures/bucket-server.js';
import { startDatabaseProxy } from '../fixtures/database-proxy.js';
import { createDatabase, startPostgres } from '../fixtures/postgres.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { callApi, type Door, postCapture, SMALL } from './call-api.js';
import { aTrialDir, startServerProcess } from './server-process.js';
import type { TrialResult } from './trial-result.js';

export interface OutageOptions {
  /** Duration of each kind of outage, a comma list. */
  seconds?: number | string;
  /** Some of the outages, a comma list. Default: all. */
  only?: string;
}

type Away = () => unknown;
/** Begins an outage; the result ends it. */
type Outages = Record<string, () => Away | Promise<Away>>;

const JOBS = 8;
/** Longer than a capture takes, so that some are under way and some wait. */
const PAGE_MS = 1_000;
/** After its end: the lease of a lost answer, two attempts, and the machine may be busy. */
const SETTLED_WITHIN_MS = 180_000;
const TROUBLES: Trouble[] = ['down', 'silent', 503, 403, 'flaky', 'slow'];

export async function run({ seconds = '5,15,60', only }: OutageOptions = {}): Promise<TrialResult> {
  const lengths = String(seconds).split(',').map(Number);
  await using site = await startSite({ host: '127.0.0.2' });
  const trial = new Outage(site, lengths, only?.split(',') ?? null);
  await withSqlite(trial);
  await withPostgres(trial);
  return { figures: trial.figures, problems: trial.problems };
}

async function withSqlite(trial: Outage): Promise<void> {
  await using bucket = await startBucketServer();
  using dir = aTrialDir();
  await using server = startServerProcess({ ...dir, env: bucketSettings(bucket) });
  await trial.each('sqlite', await server.door(), { ...ofBucket(bucket), locked: () => lock(dir.dataDir) });
}

async function withPostgres(trial: Outage): Promise<void> {
  await using postgres = await startPostgres();
  await using proxy = await startDatabaseProxy(await createDatabase(postgres.adminUrl));
  await using bucket = await startBucketServer();
  using dirs = aTrialDir();
  const env = {
    ...bucketSettings(bucket),
    STILLFRAME_DATABASE_URL: proxy.url,
    STILLFRAME_SECRET_KEY: Buffer.alloc(32, 5).toString('base64'),
    STILLFRAME_BASE_URL: 'http://127.0.0.1:1',
  };
  await using one = startServerProcess({ dataDir: join(dirs.dataDir, '1'), env });
  const at = await one.door();
  await using other = startServerProcess({ dataDir: join(dirs.dataDir, '2'), env });
  await other.ready;
  const refused = async (): Promise<Away> => {
    await proxy.refuse();
    return () => proxy.admit();
  };
  const frozen = (): Away => {
    proxy.silence();
    return () => proxy.speak();
  };
  const killed = async (): Promise<Away> => {
    await postgres.kill();
    return () => postgres.start();
  };
  await trial.each('postgres', at, { down: ofBucket(bucket).down ?? refused, refused, frozen, killed });
}

function ofBucket(bucket: BucketServer): Outages {
  const begin = (trouble: Trouble) => () => {
    bucket.trouble(trouble);
    return () => bucket.trouble('none');
  };
  return Object.fromEntries(TROUBLES.map((trouble) => [String(trouble), begin(trouble)]));
}

function lock(dataDir: string): Away {
  const db = new Database(join(dataDir, 'stillframe.db'));
  db.exec('BEGIN IMMEDIATE');
  return () => db.close();
}

function bucketSettings({ options }: BucketServer): Record<string, string> {
  return {
    STILLFRAME_S3_ENDPOINT: options.endpoint,
    STILLFRAME_S3_BUCKET: options.bucket,
    STILLFRAME_S3_REGION: options.region,
    STILLFRAME_S3_ACCESS_KEY_ID: options.accessKeyId,
    STILLFRAME_S3_SECRET_ACCESS_KEY: options.secretAccessKey,
    STILLFRAME_S3_PREFIX: options.prefix,
  };
}

class Outage {
  readonly problems: string[] = [];
  readonly figures: Record<string, number | string> = { outages: 0, jobs: 0, not_completed: 0, most_renders_of_a_job: 0 };
  #nth = 0;

  constructor(
    private readonly site: Site,
    private readonly lengths: readonly number[],
    private readonly only: readonly string[] | null,
  ) {}

  async each(engine: string, at: Door, outages: Outages): Promise<void> {
    for (const [kind, begin] of Object.entries(outages)) {
      if (this.only !== null && !this.only.includes(kind)) continue;
      for (const length of this.lengths) await this.#one(`${engine} ${kind} ${length} s`, at, { begin, length });
    }
  }

  /** Half of the jobs are under way when it begins. */
  async #one(name: string, at: Door, { begin, length }: { begin: Outages[string]; length: number }): Promise<void> {
    const pages = Array.from({ length: JOBS }, () => `/slow?ms=${PAGE_MS}&nth=${++this.#nth}`);
    const ids: string[] = [];
    for (const page of pages) ids.push(await this.#submit(at, page));
    while (this.#rendersOf(pages[0] ?? '') === 0) await pause(20);
    const end = await begin();
    await pause(length * 1_000);
    await end();
    const endedAt = performance.now();
    const states = await Promise.all(ids.map((id) => this.#untilEnded(at, id)));
    const completed = states.filter((state) => state === 'completed').length;
    const renders = Math.max(...pages.map((page) => this.#rendersOf(page)));
    this.#add('outages', 1);
    this.#add('jobs', JOBS);
    this.#add('not_completed', JOBS - completed);
    this.figures.most_renders_of_a_job = Math.max(Number(this.figures.most_renders_of_a_job), renders);
    this.figures[`${name.replaceAll(' ', '_')}_ended_after_ms`] = Math.round(performance.now() - endedAt);
    if (completed < JOBS) this.problems.push(`${name}: ${JOBS - completed} of ${JOBS} jobs were not completed (${states.join(', ')})`);
    if (renders > 2) this.problems.push(`${name}: a job was rendered ${renders} times`);
  }

  async #submit(at: Door, page: string): Promise<string> {
    const body = { ...SMALL, url: this.site.url(page) };
    // The outage before may have left the storage unknown for a moment.
    for (;;) {
      const answer = await postCapture(at, body, { query: '?mode=async' });
      if (answer.status === 202) return String(answer.body.data.job_id);
      await pause(200);
    }
  }

  async #untilEnded(at: Door, id: string): Promise<string> {
    for (const until = performance.now() + SETTLED_WITHIN_MS; performance.now() < until; await pause(200)) {
      const { status, body } = await callApi(`${at.url}/v1/jobs/${id}`, at.key);
      if (status === 404) return 'lost';
      if (status === 200 && body.data.result !== undefined)
        return body.data.result.ok ? 'completed' : String(body.data.result.error.message);
    }
    return 'stuck';
  }

  #rendersOf(page: string): number {
    return this.site.hits.filter(({ path }) => path === page).length;
  }

  #add(figure: string, value: number): void {
    this.figures[figure] = Number(this.figures[figure]) + value;
  }
}
