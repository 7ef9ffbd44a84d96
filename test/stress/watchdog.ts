/**
 * Trial "watchdog": browsers, their zygotes and network services, and renderers of the built server are stopped and killed under four
 * captures. Each job ends within 5 s of its deadline, a lost browser is replaced within 3 s, and only the jobs that were on it are done
 * again. No job fails.
 *
 * Sabotage that turns it red: let BrowserProcesses.fault() return null (pages are blamed), or leave out replace() in browser-supervisor.ts (lost
 * browsers are not replaced).
 */
import { type ProcessEntry, processGroup, readProcess, roleOf } from '../../src/render/launch/process-table.js';
import { type BenchServer, startServer } from '../bench/server.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { browsersOf, renderersOf } from './browser-processes.js';
import { callApi, submit, untilEnded } from './call-api.js';
import type { TrialResult } from './trial-result.js';

export interface WatchdogOptions {
  /** The number of captures of each kind. */
  rounds?: number;
  /** Comma list of `browser SIGKILL` and the like, spaces as `-`; all when absent. */
  kinds?: string;
  /** The timeout of each capture in ms. */
  timeout?: number;
  /** 0: times are told and not judged. */
  judge?: number;
}

interface Kind {
  victim: 'browser' | 'renderer' | 'zygote' | 'network';
  signal: 'SIGKILL' | 'SIGSTOP';
}

const KINDS: Kind[] = [
  { victim: 'browser', signal: 'SIGKILL' },
  { victim: 'browser', signal: 'SIGSTOP' },
  { victim: 'zygote', signal: 'SIGKILL' },
  { victim: 'zygote', signal: 'SIGSTOP' },
  { victim: 'network', signal: 'SIGKILL' },
  { victim: 'network', signal: 'SIGSTOP' },
  { victim: 'renderer', signal: 'SIGKILL' },
  { victim: 'renderer', signal: 'SIGSTOP' },
];
const BROWSERS = 2;
const AT_ONCE = 4;
/** Each page's last image takes so long: all are under way when the signal comes. */
const PAGE_MS = 900;
const SLOT_GRACE_MS = 5_000;
const REPLACED_WITHIN_MS = 3_000;
/** For what must happen at all, however slow the machine. */
const PATIENCE_MS = 60_000;

type Shared = ProcessEntry & { role: string };

interface Round {
  kind: Kind;
  /** ms until both browsers were ready, the victim gone; null when it stayed. */
  replacedMs: number | null;
  jobs: { ms: number; attempts: number; end: string }[];
}

interface On {
  server: BenchServer;
  site: Site;
  timeout: number;
  name: string;
}

export async function run(options: WatchdogOptions): Promise<TrialResult> {
  const { rounds = 50, judge = 1, timeout = 6_000 } = options;
  const kinds = KINDS.filter(({ victim, signal }) => (options.kinds ?? `${victim}-${signal}`).includes(`${victim}-${signal}`));
  await using site = await startSite({ host: '127.0.0.2' });
  await using server = await startServer({ STILLFRAME_CONCURRENCY: String(AT_ONCE), STILLFRAME_BROWSERS: String(BROWSERS) });
  await steady(server);
  const done: Round[] = [];
  const problems: string[] = [];
  for (let nth = 0; nth < rounds; nth++) {
    for (const kind of kinds) {
      const round = await play(kind, { server, site, timeout, name: `${kind.victim}-${kind.signal}-${nth}` });
      done.push(round);
      problems.push(
        ...judgeRound(round, judge === 1 ? timeout : null).map((problem) => `${kind.victim} ${kind.signal}, round ${nth}: ${problem}`),
      );
    }
  }
  const figures: TrialResult['figures'] = { rounds: done.length };
  for (const kind of kinds) Object.assign(figures, figuresOf(done.filter((round) => round.kind === kind)));
  return { figures, problems };
}

async function play(kind: Kind, { server, site, timeout, name }: On): Promise<Round> {
  site.route('/watched', (_request, response, url) => {
    const image = `/image/40x40/336699.png?wait=${PAGE_MS}&of=${url.searchParams.get('of')}`;
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><h1>Watched</h1><img src="${image}">`);
  });
  const began = performance.now();
  const jobs = Array.from({ length: AT_ONCE }, async (_, nth) => {
    const url = site.url(`/watched?of=${name}-${nth}`);
    const {
      state,
      result,
      attempts_made: attempts,
    } = await untilEnded(server, `jobs/${await submit(server, { url, timeout, cache_ttl: 0 })}`);
    return { ms: performance.now() - began, attempts, end: result.ok ? state : result.error.code };
  });
  await until('the pages', () => site.hits.filter(({ path }) => path.startsWith('/image/') && path.includes(name)).length === AT_ONCE);
  const candidates = browsersOf(server.pid).flatMap((browser) => victimsIn(browser, kind));
  const victim = candidates[Math.floor(Math.random() * candidates.length)] ?? 0;
  const hit = performance.now();
  process.kill(victim, kind.signal);
  let replacedMs: number | null = null;
  if (kind.victim !== 'renderer') {
    await until('the loss', () => readProcess(victim) === null);
    const lost = performance.now();
    // Earlier, health may still report the browser that has exited.
    await until('another browser', async () => (await isWhole(server)) && performance.now() - lost > HEALTH_AGE_MS);
    replacedMs = performance.now() - hit;
  }
  const outcomes = await Promise.all(jobs);
  await until('the end of the victim', () => readProcess(victim) === null);
  await steady(server);
  return { kind, replacedMs, jobs: outcomes };
}

function victimsIn(browser: number, { victim }: Kind): number[] {
  if (victim === 'browser') return [browser];
  if (victim === 'renderer') return renderersOf(browser);
  const shared = processGroup(browser).map((entry) => ({ ...entry, role: roleOf(entry.pid) }));
  const isVictim = {
    zygote: ({ role, parent }: Shared) => role === 'zygote' && parent === browser,
    network: ({ role }: Shared) => /NetworkService$/.test(role),
  };
  return shared.filter(isVictim[victim]).map(({ pid }) => pid);
}

/** @param timeout of each capture, when times are judged */
function judgeRound({ kind, replacedMs, jobs }: Round, timeout: number | null): string[] {
  const problems: string[] = [];
  const most = kind.victim === 'renderer' ? 1 : AT_ONCE / BROWSERS;
  const touched = jobs.filter(({ attempts, end }) => attempts > 1 || end !== 'completed').length;
  if (touched > most) problems.push(`${touched} jobs were touched: ${JSON.stringify(jobs)}`);
  for (const { end, ms } of jobs) {
    if (end !== 'completed') problems.push(`a job ended ${end}`);
    if (timeout !== null && ms > timeout + SLOT_GRACE_MS) problems.push(`a job ended after ${Math.round(ms)} ms`);
  }
  if (timeout !== null && replacedMs !== null && replacedMs > REPLACED_WITHIN_MS)
    problems.push(`the browser was replaced after ${Math.round(replacedMs)} ms`);
  return problems;
}

function figuresOf(rounds: Round[]): Record<string, string> {
  const [first] = rounds;
  if (first === undefined) return {};
  const { victim, signal } = first.kind;
  const jobs = rounds.flatMap((round) => round.jobs);
  const replaced = rounds.flatMap(({ replacedMs }) => (replacedMs === null ? [] : [replacedMs]));
  const slowest = Math.round(Math.max(...jobs.map(({ ms }) => ms)));
  const again = jobs.filter(({ attempts }) => attempts > 1).length;
  const failed = jobs.filter(({ end }) => end !== 'completed').length;
  const replacing = replaced.length === 0 ? '' : `, replaced within ${Math.round(Math.max(...replaced))} ms`;
  return {
    [`${victim} ${signal}`]: `${rounds.length} rounds, ${again} of ${jobs.length} jobs done again, ${failed} failed, slowest ${slowest} ms${replacing}`,
  };
}

async function readyBrowsers(server: BenchServer): Promise<number> {
  return (await callApi(`${server.url}/v1/health`, server.key)).body.data.ready_workers;
}

/** Health may be as old as that. */
const HEALTH_AGE_MS = 200;

/** All browsers are ready, and were so a moment ago. */
async function steady(server: BenchServer): Promise<void> {
  let since: number | null = null;
  await until('all browsers', async () => {
    since = (await isWhole(server)) ? (since ?? performance.now()) : null;
    return since !== null && performance.now() - since > 2 * HEALTH_AGE_MS;
  });
}

async function isWhole(server: BenchServer): Promise<boolean> {
  return (await readyBrowsers(server)) === BROWSERS && browsersOf(server.pid).length === BROWSERS;
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const by = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > by) throw new Error(`waited ${PATIENCE_MS / 1_000} s for ${what}`);
    await pause();
  }
}

/** No event reports the end of another process's work, so it is polled. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}
