/**
 * Trial "drain": the built server gets SIGTERM under load, again and again: it is not ready at once, takes nothing more, ends with 0
 * within 35 s, and nothing that it had accepted is lost. A second signal ends it within 2 s.
 *
 * Sabotage that turns it red: let service.drain say `draining` only when the loops have drained.
 */
import { startSite } from '../fixtures/site/site.js';
import { callApi, postCapture } from './call-api.js';
import { Crowd, unexplainedFailures } from './crowd.js';
import { auditBooks, damageOf, openCopy, readJobs } from './ledger.js';
import { seeded } from './seeded.js';
import { aTrialDir, type ServerProcess, startServerProcess } from './server-process.js';

export interface DrainOptions {
  /** Signals. */
  rounds?: number;
  seed?: number;
}

export interface DrainResult {
  ok: boolean;
  figures: Record<string, number>;
  problems: string[];
}

const EXIT_MS = 35_000;
const SECOND_EXIT_MS = 2_000;
/** Every so many rounds a second signal follows. */
const SECOND_EVERY = 5;
const LOAD_MAX_MS = 800;
/** Each page takes that long to come, so that captures are under way when the signal comes. */
const PAGE_MS = 300;
const CLIENTS = 5;
const STUCK_AFTER_MS = 60_000;

export async function run({ rounds = 50, seed = 3 }: DrainOptions = {}): Promise<DrainResult> {
  const problems: string[] = [];
  const random = seeded(seed);
  await using site = await startSite({ host: '127.0.0.2' });
  site.route('/page', (_, response) => {
    setTimeout(
      () => response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Page</title><p>Here</p>'),
      PAGE_MS,
    );
  });
  using dir = aTrialDir();
  await using crowd = Crowd.begin({ site, hook: null, clients: CLIENTS, problem: (what) => problems.push(what) });
  const start = () => startServerProcess({ ...dir, port: Number(new URL(crowd.at.url || 'http://127.0.0.1:0').port) });
  const exitMs: number[] = [];
  const secondMs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const server = start();
    crowd.up(await server.ready);
    await new Promise((resolve) => setTimeout(resolve, random() * LOAD_MAX_MS));
    const isCutShort = round % SECOND_EVERY === SECOND_EVERY - 1;
    const from = performance.now();
    server.kill('SIGTERM');
    const seen = await refusesAtOnce(crowd.at, server);
    problems.push(...seen.map((what) => `round ${round}: ${what}`));
    const secondFrom = performance.now();
    if (isCutShort) server.kill('SIGINT');
    const { code, signal } = await server.exited;
    crowd.down();
    if (isCutShort) secondMs.push(performance.now() - secondFrom);
    else exitMs.push(performance.now() - from);
    if (!isCutShort && code !== 0) problems.push(`round ${round}: ended with ${signal ?? code}`);
    using copy = openCopy(dir.dataDir);
    problems.push(...[...damageOf(copy.db), ...crowd.missingFrom(copy.db)].map((what) => `round ${round}: ${what}`));
    const running = readJobs(copy.db).filter((job) => job.state === 'active').length;
    if (!isCutShort && running > 0) problems.push(`round ${round}: ${running} jobs are left active`);
  }
  const last = start();
  crowd.up(await last.ready);
  await crowd.leave();
  if (!(await crowd.untilIdle(STUCK_AFTER_MS))) problems.push('jobs are stuck after the last start');
  problems.push(...(await crowd.lookUpAll()));
  await last[Symbol.asyncDispose]();
  using copy = openCopy(dir.dataDir);
  const jobs = readJobs(copy.db);
  problems.push(...auditBooks(copy.db, dir.dataDir), ...unexplainedFailures(jobs));
  const slowest = { exit: Math.round(Math.max(0, ...exitMs)), second: Math.round(Math.max(0, ...secondMs)) };
  if (slowest.exit > EXIT_MS) problems.push(`a drain took ${slowest.exit} ms`);
  if (slowest.second > SECOND_EXIT_MS) problems.push(`after a second signal the end took ${slowest.second} ms`);
  return {
    ok: problems.length === 0,
    figures: {
      drains: exitMs.length,
      cut_short: secondMs.length,
      promised: crowd.promised.size,
      jobs: jobs.length,
      completed: jobs.filter((job) => job.state === 'completed').length,
      slowest_exit_ms: slowest.exit,
      slowest_second_exit_ms: slowest.second,
    },
    problems,
  };
}

/** From the moment that the signal has arrived, which the log tells: neither ready nor open for submissions. */
async function refusesAtOnce(at: Crowd['at'], server: ServerProcess): Promise<string[]> {
  while (!server.said.some((line) => line.includes('draining'))) {
    const isGone = await Promise.race([server.exited, new Promise<null>((resolve) => setTimeout(resolve, 2, null))]);
    if (isGone !== null) return [];
  }
  const [health, submission] = await Promise.all([
    callApi(`${at.url}/v1/health`, at.key).catch(() => null),
    postCapture(at, { url: 'https://example.com/', sync: false }).catch(() => null),
  ]);
  const problems: string[] = [];
  if (health !== null && health.status !== 503) problems.push(`health answered ${health.status} while draining`);
  if (submission !== null && submission.status !== 503) problems.push(`a submission was answered ${submission.status} while draining`);
  if (submission !== null && submission.headers.get('retry-after') === null) problems.push('a refusal has no Retry-After');
  return problems;
}
