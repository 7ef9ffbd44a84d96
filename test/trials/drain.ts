/**
 * Trial "drain": the built server gets SIGTERM under load, again and again: it is not ready at once, takes nothing more, ends with 0
 * within 35 s, and nothing that it had accepted is lost. A second signal ends it within 2 s. Every `secondEvery` rounds a second signal follows.
 *
 * Sabotage that turns it red: let service.drain say `draining` only when the loops have drained.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { startSite } from '../fixtures/site/site.js';
import { health, postCapture } from './call-api.js';
import { Crowd, servePages } from './crowd.js';
import { damageOf, openCopy, readJobs } from './ledger.js';
import { seeded } from './seeded.js';
import { aTrialDir, type ServerProcess, startServerProcess } from './server-process.js';
import { type TrialResult, until } from './trial-result.js';

const EXIT_MS = 35_000;
const SECOND_EXIT_MS = 2_000;
const LOAD_MAX_MS = 800;
/** Each page takes that long to come, so that captures are under way when the signal comes. */
const PAGE_MS = 300;
const CLIENTS = 5;

export async function run({ rounds = 50, secondEvery = 5, seed = 3 } = {}): Promise<TrialResult<number>> {
  await using site = await startSite({ host: '127.0.0.2' });
  servePages(site, PAGE_MS);
  using dir = aTrialDir();
  const problems: string[] = [];
  await using crowd = new Crowd({ site, hook: null, clients: CLIENTS, problem: (what) => problems.push(what) });
  const start = async () => {
    const server = startServerProcess({ ...dir, port: crowd.port });
    crowd.up(await server.ready);
    return server;
  };
  const random = seeded(seed);
  const exitMs = { first: [] as number[], second: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    const isCutShort = round % secondEvery === secondEvery - 1;
    const server = await start();
    await pause(random() * LOAD_MAX_MS);
    const from = performance.now();
    server.kill('SIGTERM');
    const found = await refusesAtOnce(crowd.at, server);
    const secondFrom = performance.now();
    if (isCutShort) server.kill('SIGINT');
    const { code, signal } = await server.exited;
    crowd.down();
    if (isCutShort) exitMs.second.push(performance.now() - secondFrom);
    else exitMs.first.push(performance.now() - from);
    if (!isCutShort && code !== 0) found.push(`ended with ${signal ?? code}`);
    using copy = openCopy(dir.dataDir);
    found.push(...damageOf(copy.db), ...crowd.missingFrom(copy.db));
    const running = readJobs(copy.db).filter((job) => job.state === 'active').length;
    if (!isCutShort && running > 0) found.push(`${running} jobs are left active`);
    problems.push(...found.map((what) => `round ${round}: ${what}`));
  }
  const { jobs } = await crowd.end(await start(), dir.dataDir);
  const figures = {
    drains: exitMs.first.length,
    cut_short: exitMs.second.length,
    slowest_exit_ms: Math.round(Math.max(0, ...exitMs.first)),
    slowest_second_exit_ms: Math.round(Math.max(0, ...exitMs.second)),
    promised: crowd.promised.size,
    jobs: jobs.length,
    completed: jobs.filter((job) => job.state === 'completed').length,
  };
  if (figures.slowest_exit_ms > EXIT_MS) problems.push(`a drain took ${figures.slowest_exit_ms} ms`);
  if (figures.slowest_second_exit_ms > SECOND_EXIT_MS)
    problems.push(`after a second signal the end took ${figures.slowest_second_exit_ms} ms`);
  return { figures, problems };
}

/** From the moment that the signal has arrived, which the log tells: neither ready nor open for submissions. */
async function refusesAtOnce(at: Crowd['at'], server: ServerProcess): Promise<string[]> {
  if (await Promise.race([server.exited, until(() => server.tells('draining'), EXIT_MS, 2).then(() => null)]))
    return [];
  const asked = { health: health(at), 'a submission': postCapture(at, { url: 'https://example.com/', sync: false }) };
  const problems: string[] = [];
  for (const [what, answering] of Object.entries(asked)) {
    const answer = await answering.catch(() => null);
    if (answer !== null && answer.status !== 503) problems.push(`${what} was answered ${answer.status} while draining`);
    if (what !== 'health' && answer?.headers.get('retry-after') === null) problems.push('a refusal has no Retry-After');
  }
  return problems;
}
