/**
 * Trial "drain": the built server gets SIGTERM under load, again and again: it is not ready at once, takes nothing more, ends with 0
 * within 35 s, and nothing that it had accepted is lost. A second signal ends it within 2 s. Every `secondEvery` rounds a second signal follows.
 *
 * Sabotage that turns it red: let service.drain say `draining` only when the loops have drained.
 */
import { startSite } from '../fixtures/site/site.js';
import { callApi, postCapture } from './call-api.js';
import { Crowd, servePages, unexplainedFailures } from './crowd.js';
import { auditBooks, damageOf, type JobFacts, openCopy, readJobs } from './ledger.js';
import { seeded } from './seeded.js';
import { aTrialDir, type ServerProcess, startServerProcess } from './server-process.js';
import type { TrialResult } from './trial-result.js';

const EXIT_MS = 35_000;
const SECOND_EXIT_MS = 2_000;
const LOAD_MAX_MS = 800;
/** Each page takes that long to come, so that captures are under way when the signal comes. */
const PAGE_MS = 300;
const CLIENTS = 5;
const STUCK_AFTER_MS = 60_000;

export async function run({ rounds = 50, secondEvery = 5, seed = 3 } = {}): Promise<TrialResult<number>> {
  await using site = await startSite({ host: '127.0.0.2' });
  servePages(site, PAGE_MS);
  using dir = aTrialDir();
  const problems: string[] = [];
  await using crowd = Crowd.begin({ site, hook: null, clients: CLIENTS, problem: (what) => problems.push(what) });
  const trial = new DrainTrial(crowd, dir.dataDir, problems);
  const random = seeded(seed);
  for (let round = 0; round < rounds; round++) {
    await trial.round(`round ${round}`, { loadMs: random() * LOAD_MAX_MS, isCutShort: round % secondEvery === secondEvery - 1 });
  }
  const jobs = await trial.conclude();
  const completed = jobs.filter((job) => job.state === 'completed').length;
  const figures = { ...trial.figures(), promised: crowd.promised.size, jobs: jobs.length, completed };
  if (figures.slowest_exit_ms > EXIT_MS) problems.push(`a drain took ${figures.slowest_exit_ms} ms`);
  if (figures.slowest_second_exit_ms > SECOND_EXIT_MS)
    problems.push(`after a second signal the end took ${figures.slowest_second_exit_ms} ms`);
  return { figures, problems };
}

class DrainTrial {
  readonly #exitMs: number[] = [];
  readonly #secondMs: number[] = [];

  constructor(
    private readonly crowd: Crowd,
    private readonly dataDir: string,
    private readonly problems: string[],
  ) {}

  /** One start and one end. @param how.isCutShort with a second signal */
  async round(name: string, how: { loadMs: number; isCutShort: boolean }): Promise<void> {
    const server = this.#start();
    this.crowd.up(await server.ready);
    await new Promise((resolve) => setTimeout(resolve, how.loadMs));
    const from = performance.now();
    server.kill('SIGTERM');
    const found = await refusesAtOnce(this.crowd.at, server);
    const secondFrom = performance.now();
    if (how.isCutShort) server.kill('SIGINT');
    const { code, signal } = await server.exited;
    this.crowd.down();
    if (how.isCutShort) this.#secondMs.push(performance.now() - secondFrom);
    else this.#exitMs.push(performance.now() - from);
    if (!how.isCutShort && code !== 0) found.push(`ended with ${signal ?? code}`);
    using copy = openCopy(this.dataDir);
    found.push(...damageOf(copy.db), ...this.crowd.missingFrom(copy.db));
    const running = readJobs(copy.db).filter((job) => job.state === 'active').length;
    if (!how.isCutShort && running > 0) found.push(`${running} jobs are left active`);
    this.problems.push(...found.map((what) => `${name}: ${what}`));
  }

  /** The last start: everything must come to its end. */
  async conclude(): Promise<JobFacts[]> {
    const last = this.#start();
    this.crowd.up(await last.ready);
    await this.crowd.leave();
    if (!(await this.crowd.untilIdle(STUCK_AFTER_MS))) this.problems.push('jobs are stuck after the last start');
    this.problems.push(...(await this.crowd.lookUpAll()));
    await last[Symbol.asyncDispose]();
    using copy = openCopy(this.dataDir);
    const jobs = readJobs(copy.db);
    this.problems.push(...auditBooks(copy.db, this.dataDir), ...unexplainedFailures(jobs));
    return jobs;
  }

  figures() {
    return {
      drains: this.#exitMs.length,
      cut_short: this.#secondMs.length,
      slowest_exit_ms: Math.round(Math.max(0, ...this.#exitMs)),
      slowest_second_exit_ms: Math.round(Math.max(0, ...this.#secondMs)),
    };
  }

  #start(): ServerProcess {
    const { port } = new URL(this.crowd.at.url || 'http://127.0.0.1:0');
    return startServerProcess({ dataDir: this.dataDir, port: Number(port) });
  }
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
