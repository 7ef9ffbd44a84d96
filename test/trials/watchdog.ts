/**
 * Trial "watchdog": browsers, their zygotes and network services, and renderers of the built server are stopped and killed under four
 * captures. Each job ends within 5 s of its deadline, a lost browser is replaced within 3 s, and only the jobs that were on it are done
 * again. No job fails.
 *
 * Sabotage that turns it red: let BrowserProcesses.fault() return null (pages are blamed), or leave out replace() in browser-supervisor.ts (lost
 * browsers are not replaced).
 */
import { processGroup, readProcess, roleOf } from '../../src/render/launch/process-table.js';
import { startServer } from '../bench/server.js';
import { html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { browsersOf, renderersOf } from './browser-processes.js';
import { health, submit, untilEnded } from './call-api.js';
import { firstOf, type TrialResult, until } from './trial-result.js';

type Victim = 'browser' | 'renderer' | 'zygote' | 'network';

interface Kind {
  victim: Victim;
  signal: 'SIGKILL' | 'SIGSTOP';
}

const VICTIMS: Victim[] = ['browser', 'zygote', 'network', 'renderer'];
const KINDS: Kind[] = VICTIMS.flatMap((victim) =>
  (['SIGKILL', 'SIGSTOP'] as const).map((signal) => ({ victim, signal })),
);
/** With frames on demand, each capture has a browser of its own. */
const AT_ONCE = 4;
/** Each page's last image takes so long: all are under way when the signal comes. */
const PAGE_MS = 900;
const SLOT_GRACE_MS = 5_000;
const REPLACED_WITHIN_MS = 3_000;
const HEALTH_AGE_MS = 200;
/** For what must happen at all, however slow the machine. */
const PATIENCE_MS = 60_000;

interface Round {
  kind: Kind;
  /** ms until all browsers were ready, the victim gone; null when it stayed. */
  replacedMs: number | null;
  jobs: { ms: number; attempts: number; end: string }[];
}

/**
 * @param options.rounds captures of each kind; `kinds` is a comma list of `browser-SIGKILL` and the like, all when empty; `timeout` of each
 * capture in ms; judge 0: times are told and not judged
 */
export async function run({ rounds = 50, judge = 1, timeout = 6_000, kinds: wanted = '' } = {}): Promise<TrialResult> {
  const kinds = KINDS.filter(({ victim, signal }) => wanted === '' || wanted.includes(`${victim}-${signal}`));
  await using site = await startSite({ host: '127.0.0.2' });
  await using server = await startServer({ STILLFRAME_CONCURRENCY: String(AT_ONCE) });
  site.route('/watched', (_request, response, url) => {
    const image = `/image/40x40/336699.png?wait=${PAGE_MS}&of=${url.searchParams.get('of')}`;
    html(response, `<!doctype html><h1>Watched</h1><img src="${image}">`);
  });
  const isWhole = async () =>
    (await health(server)).body.data.ready_workers === AT_ONCE && browsersOf(server.pid).length === AT_ONCE;
  /** All browsers are ready, and were so a moment ago. */
  const steady = async (): Promise<void> => {
    let since: number | null = null;
    await surely('all browsers', async () => {
      since = (await isWhole()) ? (since ?? performance.now()) : null;
      return since !== null && performance.now() - since > 2 * HEALTH_AGE_MS;
    });
  };
  const play = async (kind: Kind, name: string): Promise<Round> => {
    const began = performance.now();
    const jobs = firstOf(AT_ONCE).map(async (nth) => {
      const url = site.url(`/watched?of=${name}-${nth}`);
      const { result, ...job } = await untilEnded(
        server,
        `jobs/${await submit(server, { url, timeout, cache_ttl: 0 })}`,
      );
      return {
        ms: performance.now() - began,
        attempts: job.attempts_made,
        end: result.ok ? job.state : result.error.code,
      };
    });
    await surely(
      'the pages',
      () => site.hits.filter(({ path }) => path.startsWith('/image/') && path.includes(name)).length === AT_ONCE,
    );
    const candidates = browsersOf(server.pid).flatMap((browser) => victimsIn(browser, kind));
    const victim = candidates[Math.floor(Math.random() * candidates.length)] ?? 0;
    const hit = performance.now();
    process.kill(victim, kind.signal);
    let replacedMs: number | null = null;
    if (kind.victim !== 'renderer') {
      await surely('the loss', () => readProcess(victim) === null);
      const lost = performance.now();
      // Earlier, health may still report the browser that has exited.
      await surely('another browser', async () => (await isWhole()) && performance.now() - lost > HEALTH_AGE_MS);
      replacedMs = Math.round(performance.now() - hit);
    }
    const outcomes = await Promise.all(jobs);
    await surely('the end of the victim', () => readProcess(victim) === null);
    await steady();
    return { kind, replacedMs, jobs: outcomes };
  };
  await steady();
  const done: Round[] = [];
  const problems: string[] = [];
  for (let nth = 0; nth < rounds; nth++) {
    for (const kind of kinds) {
      const name = `${kind.victim}-${kind.signal}-${nth}`;
      const round = await play(kind, name);
      done.push(round);
      problems.push(...judgeRound(round, judge === 1 ? timeout : null).map((problem) => `${name}: ${problem}`));
    }
  }
  const figures: TrialResult['figures'] = { rounds: done.length };
  for (const kind of kinds)
    figures[`${kind.victim} ${kind.signal}`] = told(done.filter((round) => round.kind === kind));
  return { figures, problems };
}

function victimsIn(browser: number, { victim }: Kind): number[] {
  if (victim === 'browser') return [browser];
  if (victim === 'renderer') return renderersOf(browser);
  const shared = processGroup(browser).map((entry) => ({ ...entry, role: roleOf(entry.pid) }));
  const isVictim = ({ role, parent }: (typeof shared)[number]) =>
    victim === 'zygote' ? role === 'zygote' && parent === browser : /NetworkService$/.test(role);
  return shared.filter(isVictim).map(({ pid }) => pid);
}

function judgeRound({ replacedMs, jobs }: Round, timeout: number | null): string[] {
  const problems: string[] = [];
  const touched = jobs.filter(({ attempts, end }) => attempts > 1 || end !== 'completed').length;
  if (touched > 1) problems.push(`${touched} jobs were touched: ${JSON.stringify(jobs)}`);
  for (const { end, ms } of jobs) {
    if (end !== 'completed') problems.push(`a job ended ${end}`);
    if (timeout !== null && ms > timeout + SLOT_GRACE_MS) problems.push(`a job ended after ${Math.round(ms)} ms`);
  }
  if (timeout !== null && replacedMs !== null && replacedMs > REPLACED_WITHIN_MS)
    problems.push(`the browser was replaced after ${replacedMs} ms`);
  return problems;
}

function told(rounds: Round[]): string {
  const jobs = rounds.flatMap((round) => round.jobs);
  const replaced = Math.max(...rounds.map(({ replacedMs }) => replacedMs ?? 0));
  const slowest = Math.round(Math.max(...jobs.map(({ ms }) => ms)));
  const again = jobs.filter(({ attempts }) => attempts > 1).length;
  const failed = jobs.filter(({ end }) => end !== 'completed').length;
  const replacing = replaced === 0 ? '' : `, replaced within ${replaced} ms`;
  return `${rounds.length} rounds, ${again} of ${jobs.length} jobs done again, ${failed} failed, slowest ${slowest} ms${replacing}`;
}

async function surely(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  if (!(await until(holds, PATIENCE_MS, 50))) throw new Error(`waited ${PATIENCE_MS / 1_000} s for ${what}`);
}
