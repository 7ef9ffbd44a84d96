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
import { health, postCapture, untilIdle } from './call-api.js';
import { startWithSite } from './server-process.js';
import { faultsOf, type TrialResult } from './trial-result.js';

const TIMES_CAPACITY = 10;
/** A slow machine must fill the queue too, so that there is something to refuse. */
const TIMES_QUEUE = 3;
const GOODPUT_LEAST = 0.95;
const REFUSAL_MS = 50;
const SYNC_GRACE_MS = 1_000;
const WIDTH = 4;
const MEMORY_GROWTH = 1.25;
const SAMPLE_MS = 500;

interface Heard {
  status: number;
  at: number;
  ms: number;
  retryAfterS: number;
}

/**
 * @param given.seconds of the overload; `calm` of each measurement before and after; `queue` is STILLFRAME_MAX_QUEUE and `wait`
 * STILLFRAME_SYNC_WAIT_MS
 */
export async function run(
  given: { seconds?: number; calm?: number; queue?: number; wait?: number } = {},
): Promise<TrialResult<number>> {
  const { seconds = 300, queue = 1_000, wait = 25_000 } = given;
  const { calm = seconds / 10 } = given;
  await using ground = await startWithSite({
    STILLFRAME_MAX_QUEUE: String(queue),
    STILLFRAME_SYNC_WAIT_MS: String(wait),
  });
  const { at, site, server } = ground;
  let orders = 0;
  const order = () => ({
    url: site.url(`/static?${++orders}`),
    format: 'png',
    cache_ttl: 0,
    viewport: { width: 640, height: 400, deviceScaleFactor: 1 },
  });
  /** Captures a second, by clients that wait for each before the next. */
  const capacityOf = async (ms: number): Promise<number> => {
    let done = 0;
    const { perSecond, times } = await flood(WIDTH, ms, async () => {
      if ((await postCapture(at, order())).status === 200) done++;
    });
    return (perSecond * done) / times.length;
  };
  const completed = async (): Promise<number> => (await health(at)).body.data.queue.completed;
  await capacityOf(Math.min(3, calm) * 1_000);
  const before = await capacityOf(calm * 1_000);
  const ratePerSecond = Math.max(before * TIMES_CAPACITY, (queue * TIMES_QUEUE) / seconds);

  // At a steady rate, whatever becomes of the answers, with a client that costs little: it shares the machine with what it judges.
  const pool = new Pool(at.url);
  const headers = { authorization: `Bearer ${at.key}`, 'content-type': 'application/json' };
  const heard: Heard[] = [];
  const ask = async (): Promise<void> => {
    const asked = performance.now();
    const answer = await pool.request({
      path: '/v1/screenshot',
      method: 'POST',
      headers,
      body: JSON.stringify(order()),
    });
    await answer.body.dump();
    const now = performance.now();
    const retryAfterS = Number(answer.headers['retry-after'] ?? Number.NaN);
    heard.push({ status: answer.statusCode, ms: now - asked, at: now - from, retryAfterS });
  };
  const asked: Promise<unknown>[] = [];
  const samples: number[] = [];
  const completedBefore = await completed();
  const from = performance.now();
  const sampling = setInterval(() => samples.push(server.memoryBytes()), SAMPLE_MS);
  const cpu = process.cpuUsage();
  let maxLagMs = 0;
  for (let nth = 0; nth <= seconds * ratePerSecond; nth++) {
    const left = from + (nth * 1_000) / ratePerSecond - performance.now();
    if (left > 0) await pause(left);
    else maxLagMs = Math.max(maxLagMs, -left);
    asked.push(ask().catch(() => undefined));
  }
  const goodput = ((await completed()) - completedBefore) / ((performance.now() - from) / 1_000);
  clearInterval(sampling);
  const { user, system } = process.cpuUsage(cpu);
  const generatorCores = (user + system) / 1_000 / (performance.now() - from);
  // Those who still wait for a sync answer have nothing more to tell.
  await pool.destroy();
  await Promise.all(asked);
  await untilIdle(at);
  // The machine's capacity varies over minutes, so it is measured before and after.
  const capacity = (before + (await capacityOf(calm * 1_000))) / 2;
  await server.end('SIGKILL');

  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const memory = {
    first: Math.max(...samples.slice(quarter, 2 * quarter)),
    last: Math.max(...samples.slice(-quarter)),
  };
  const refused = heard.filter(({ status }) => status === 503 || status === 429);
  const others = heard.filter(({ status }) => ![200, 202, 429, 503].includes(status));
  const late = heard.filter(({ status, ms }) => status === 202 && ms > wait + SYNC_GRACE_MS);
  const lied = liesOf(refused, heard, wait);
  const count = (status: number) => heard.filter((one) => one.status === status).length;
  const figures = {
    capacity_before: before,
    capacity_per_second: capacity,
    goodput_per_second: goodput,
    goodput_share: goodput / capacity,
    submissions: heard.length,
    answered_200: count(200),
    answered_202: count(202),
    refused: refused.length,
    refusal_p50_ms: longest(refused, 0.5),
    refusal_p95_ms: longest(refused, 0.95),
    refusal_p99_ms: longest(refused, 0.99),
    slowest_refusal_ms: longest(refused, 1),
    generator_lag_ms: maxLagMs,
    generator_cores: generatorCores,
    memory_first_mb: memory.first / 1e6,
    memory_last_mb: memory.last / 1e6,
  };
  const problems = faultsOf([
    [`${others.length} answers were ${[...new Set(others.map(({ status }) => status))]}`, others.length > 0],
    [`goodput is ${round(figures.goodput_share)} of the capacity`, goodput < capacity * GOODPUT_LEAST],
    ['nothing was refused', refused.length === 0],
    [`a refusal in a hundred takes ${round(figures.refusal_p99_ms)} ms`, figures.refusal_p99_ms > REFUSAL_MS],
    [`${lied} refusals had a Retry-After before which nobody got in`, lied > 0],
    [`${late.length} sync submissions got their 202 after ${round(longest(late, 1))} ms`, late.length > 0],
    ['no sync submission was answered 202', figures.answered_202 === 0],
    [`memory grew from ${memory.first} to ${memory.last} bytes`, memory.last > memory.first * MEMORY_GROWTH],
  ]);
  return {
    figures: Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, round(value)])),
    problems,
  };
}

/** Refusals without a Retry-After of whole seconds, at least one, in which somebody got in; beyond the trial's end nothing is judged. */
function liesOf(refused: readonly Heard[], heard: readonly Heard[], wait: number): number {
  const admitted = heard
    .filter(({ status }) => status === 200 || status === 202)
    .map(({ at, ms, status }) => (status === 202 ? at - Math.min(ms, wait) : at - ms));
  // Those who got in last were still waiting at the end: they are not heard of.
  const end = Math.max(...heard.map(({ at }) => at)) - wait;
  const isTrue = ({ at, retryAfterS }: Heard): boolean => {
    if (!Number.isInteger(retryAfterS) || retryAfterS < 1) return false;
    const until = at + retryAfterS * 1_000;
    return until > end || admitted.some((moment) => moment > at && moment <= until);
  };
  return refused.filter((one) => !isTrue(one)).length;
}

function longest(heard: readonly Heard[], share: number): number {
  const times = heard.map(({ ms }) => ms);
  return times.length === 0 ? 0 : quantile(times, share);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
