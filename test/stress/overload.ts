/**
 * Trial "overload": first, and again at the end, as many captures as the server can do, between them submissions at ten times that rate, whether they are answered
 * or not. It must go on doing at least 95 % of what it can, refuse the excess within 50 ms with a Retry-After that tells the truth
 * (somebody gets in before it is over), answer sync submissions 202 in time, and keep its memory bounded.
 *
 * Sabotage that turns it red: leave `retryAfterSeconds` out of capture/submit.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { quantile } from '../bench/figure.js';
import { flood } from '../bench/loops.js';
import type { Site } from '../fixtures/site/site.js';
import { type Door, health, postCapture, untilIdle } from './call-api.js';
import { type ServerProcess, startWithSite } from './server-process.js';
import type { TrialResult } from './trial-result.js';

const TIMES_CAPACITY = 10;
/** A slow machine must fill the queue too, so that there is something to refuse. */
const TIMES_QUEUE = 3;
const GOODPUT_LEAST = 0.95;
const REFUSAL_MS = 50;
/** Beyond the wait itself. */
const SYNC_GRACE_MS = 1_000;
const WIDTH = 4;
const MEMORY_GROWTH = 1.25;
const SAMPLE_MS = 500;

interface Heard {
  status: number;
  /** ms since the beginning. */
  at: number;
  ms: number;
  retryAfterS: number;
}

/**
 * @param given.seconds of the overload; `calm` of each measurement before and after; `queue` is STILLFRAME_MAX_QUEUE and `wait`
 * STILLFRAME_SYNC_WAIT_MS
 */
export async function run(given: { seconds?: number; calm?: number; queue?: number; wait?: number } = {}): Promise<TrialResult<number>> {
  const { seconds = 300, queue = 1_000, wait = 25_000 } = given;
  const { calm = seconds / 10 } = given;
  await using ground = await startWithSite({ STILLFRAME_MAX_QUEUE: String(queue), STILLFRAME_SYNC_WAIT_MS: String(wait) });
  const { at, site, server } = ground;
  await capacityOf(at, site, Math.min(3, calm));
  const before = await capacityOf(at, site, calm);
  const ratePerSecond = Math.max(before * TIMES_CAPACITY, (queue * TIMES_QUEUE) / seconds);
  const { heard, goodput, memory, maxLagMs, generatorShare } = await overload({ at, site, server, ratePerSecond, seconds });
  await untilIdle(at);
  // The machine's capacity varies over minutes, so it is measured before and after.
  const capacity = (before + (await capacityOf(at, site, calm))) / 2;
  await server.end('SIGKILL');
  const refused = heard.filter(({ status }) => status === 503 || status === 429);
  const figures = {
    ...{ capacity_before: before, capacity_per_second: capacity, goodput_per_second: goodput, goodput_share: goodput / capacity },
    ...{ submissions: heard.length, answered_200: count(heard, 200), answered_202: count(heard, 202), refused: refused.length },
    ...{ refusal_p50_ms: longest(refused, 0.5), refusal_p95_ms: longest(refused, 0.95), refusal_p99_ms: longest(refused, 0.99) },
    ...{ slowest_refusal_ms: longest(refused, 1), generator_lag_ms: maxLagMs, generator_cores: generatorShare },
    ...{ memory_first_mb: memory.first / 1e6, memory_last_mb: memory.last / 1e6 },
  };
  const problems = judge({ heard, refused, wait, capacity, goodput, memory });
  return { figures: Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, round(value)])), problems };
}

interface Seen {
  heard: Heard[];
  refused: Heard[];
  wait: number;
  capacity: number;
  goodput: number;
  memory: { first: number; last: number };
}

function judge(of: Seen): string[] {
  const { heard, refused, wait, memory } = of;
  const problems: string[] = [];
  const others = heard.filter(({ status }) => ![200, 202, 429, 503].includes(status));
  if (others.length > 0) problems.push(`${others.length} answers were ${[...new Set(others.map(({ status }) => status))]}`);
  if (of.goodput < of.capacity * GOODPUT_LEAST) problems.push(`goodput is ${round(of.goodput / of.capacity)} of the capacity`);
  if (refused.length === 0) problems.push('nothing was refused');
  if (longest(refused, 0.99) > REFUSAL_MS) problems.push(`a refusal in a hundred takes ${round(longest(refused, 0.99))} ms`);
  const admitted = heard
    .filter(({ status }) => status === 200 || status === 202)
    .map(({ at, ms, status }) => (status === 202 ? at - Math.min(ms, wait) : at - ms));
  admitted.sort((a, b) => a - b);
  // Those who got in last were still waiting at the end: they are not heard of.
  const end = Math.max(...heard.map(({ at }) => at)) - wait;
  const lied = refused.filter(({ at, retryAfterS }) => !tellsTheTruth({ at, retryAfterS }, admitted, end));
  if (lied.length > 0) problems.push(`${lied.length} refusals had a Retry-After before which nobody got in`);
  const late = heard.filter(({ status, ms }) => status === 202 && ms > wait + SYNC_GRACE_MS);
  if (late.length > 0) problems.push(`${late.length} sync submissions got their 202 after ${round(longest(late, 1))} ms`);
  if (count(heard, 202) === 0) problems.push('no sync submission was answered 202');
  if (memory.last > memory.first * MEMORY_GROWTH)
    problems.push(`memory grew from ${round(memory.first / 1e6)} to ${round(memory.last / 1e6)} MB`);
  return problems;
}

/** Whole seconds, at least one, and somebody got in meanwhile; those whose time goes beyond the trial's end are not judged. */
function tellsTheTruth({ at, retryAfterS }: { at: number; retryAfterS: number }, admitted: readonly number[], end: number): boolean {
  if (!Number.isInteger(retryAfterS) || retryAfterS < 1) return false;
  const until = at + retryAfterS * 1_000;
  return until > end || admitted.some((moment) => moment > at && moment <= until);
}

/** Captures a second, by clients that wait for each before the next. */
async function capacityOf(at: Door, site: Site, seconds: number): Promise<number> {
  let done = 0;
  const { perSecond, times } = await flood(WIDTH, seconds * 1_000, async () => {
    if ((await postCapture(at, order(site))).status === 200) done++;
  });
  return (perSecond * done) / times.length;
}

interface Storm {
  at: Door;
  site: Site;
  server: ServerProcess;
  ratePerSecond: number;
  seconds: number;
}

/** At a steady rate, whatever becomes of the answers. */
async function overload({ at, site, server, ratePerSecond, seconds }: Storm) {
  const heard: Heard[] = [];
  const asked: Promise<unknown>[] = [];
  const samples: number[] = [];
  const completed = async (): Promise<number> => (await health(at)).body.data.queue.completed;
  const completedBefore = await completed();
  const from = performance.now();
  const sampling = setInterval(() => samples.push(server.memoryBytes()), SAMPLE_MS);
  const pool = new Pool(at.url);
  const cpu = process.cpuUsage();
  let maxLagMs = 0;
  for (let nth = 0; ; nth++) {
    const due = from + (nth * 1_000) / ratePerSecond;
    if (due - from > seconds * 1_000) break;
    const wait = due - performance.now();
    if (wait > 0) await pause(wait);
    else maxLagMs = Math.max(maxLagMs, -wait);
    const answered = ask(pool, at, site).then((answer) => heard.push({ ...answer, at: performance.now() - from }));
    // Cut off at the end.
    asked.push(answered.catch(() => undefined));
  }
  const goodput = ((await completed()) - completedBefore) / ((performance.now() - from) / 1_000);
  clearInterval(sampling);
  const { user, system } = process.cpuUsage(cpu);
  const generatorShare = (user + system) / 1_000 / (performance.now() - from);
  // Those who still wait for a sync answer have nothing more to tell.
  await pool.destroy();
  await Promise.all(asked);
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const memory = { first: Math.max(...samples.slice(quarter, 2 * quarter)), last: Math.max(...samples.slice(-quarter)) };
  return { heard, goodput, memory, maxLagMs, generatorShare };
}

/** With a client that costs little: it shares the machine with what it judges. */
async function ask(pool: Pool, at: Door, site: Site): Promise<Omit<Heard, 'at'>> {
  const from = performance.now();
  const headers = { authorization: `Bearer ${at.key}`, 'content-type': 'application/json' };
  const answer = await pool.request({ path: '/v1/screenshot', method: 'POST', headers, body: JSON.stringify(order(site)) });
  await answer.body.dump();
  return { status: answer.statusCode, ms: performance.now() - from, retryAfterS: Number(answer.headers['retry-after'] ?? Number.NaN) };
}

let orders = 0;

function order(site: Site): Record<string, unknown> {
  return { url: site.url(`/static?${++orders}`), format: 'png', viewport: { width: 640, height: 400, deviceScaleFactor: 1 }, cache_ttl: 0 };
}

function count(heard: readonly Heard[], status: number): number {
  return heard.filter((one) => one.status === status).length;
}

function longest(heard: readonly Heard[], share: number): number {
  const times = heard.map(({ ms }) => ms);
  return times.length === 0 ? 0 : quantile(times, share);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
