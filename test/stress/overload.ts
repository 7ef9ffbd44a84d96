/**
 * Trial "overload": first, and again at the end, as many captures as the server can do, between them submissions at ten times that rate, whether they are answered
 * or not. It must go on doing at least 95 % of what it can, refuse the excess within 50 ms with a Retry-After that tells the truth
 * (somebody gets in before it is over), answer sync submissions 202 in time, and keep its memory bounded.
 *
 * Sabotage that turns it red: leave `retryAfterSeconds` out of capture/submit.
 */
import { Pool } from 'undici';
import { quantile } from '../bench/figure.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { callApi, type Door, postCapture, untilIdle } from './call-api.js';
import { aTrialDir, type ServerProcess, startServerProcess } from './server-process.js';
import type { TrialResult } from './trial-result.js';

export interface OverloadOptions {
  /** Duration of the overload; 300 when absent. */
  seconds?: number;
  /** Duration of each measurement before and after; a tenth of the above when absent. */
  calm?: number;
  /** STILLFRAME_MAX_QUEUE. */
  queue?: number;
  /** STILLFRAME_SYNC_WAIT_MS. */
  wait?: number;
}

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

export async function run({
  seconds = 300,
  calm = seconds / 10,
  queue = 1_000,
  wait = 25_000,
}: OverloadOptions = {}): Promise<TrialResult<number>> {
  await using site = await startSite({ host: '127.0.0.2' });
  using dir = aTrialDir();
  const env = { STILLFRAME_MAX_QUEUE: String(queue), STILLFRAME_SYNC_WAIT_MS: String(wait) };
  const server = startServerProcess({ ...dir, env });
  const at = await server.door();
  try {
    await capacityOf(at, site, Math.min(3, calm));
    const before = await capacityOf(at, site, calm);
    const { heard, goodput, memory, maxLagMs, generatorShare } = await overload({
      at,
      site,
      server,
      ratePerSecond: Math.max(before * TIMES_CAPACITY, (queue * TIMES_QUEUE) / seconds),
      seconds,
    });
    await untilIdle(at);
    // The machine's capacity varies over minutes, so it is measured before and after.
    const capacity = (before + (await capacityOf(at, site, calm))) / 2;
    const refused = heard.filter(({ status }) => status === 503 || status === 429);
    const figures = {
      capacity_before: round(before),
      capacity_per_second: round(capacity),
      goodput_per_second: round(goodput),
      goodput_share: round(goodput / capacity),
      submissions: heard.length,
      answered_200: count(heard, 200),
      answered_202: count(heard, 202),
      refused: refused.length,
      refusal_p50_ms: round(longest(refused, 0.5)),
      refusal_p95_ms: round(longest(refused, 0.95)),
      refusal_p99_ms: round(longest(refused, 0.99)),
      slowest_refusal_ms: round(longest(refused, 1)),
      generator_lag_ms: round(maxLagMs),
      generator_cores: round(generatorShare),
      memory_first_mb: round(memory.first / 1e6),
      memory_last_mb: round(memory.last / 1e6),
    };
    const problems = judge({ heard, refused, wait, capacity, goodput, memory });
    return { figures, problems };
  } finally {
    await server.end('SIGKILL');
  }
}

function judge(of: {
  heard: Heard[];
  refused: Heard[];
  wait: number;
  capacity: number;
  goodput: number;
  memory: { first: number; last: number };
}): string[] {
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
  const from = performance.now();
  let done = 0;
  const lane = async () => {
    while (performance.now() - from < seconds * 1_000) {
      const { status } = await postCapture(at, order(site));
      if (status === 200) done++;
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, lane));
  return (done * 1_000) / (performance.now() - from);
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
  const asked: Promise<void>[] = [];
  const samples: number[] = [];
  const completedBefore = await completed(at);
  const from = performance.now();
  const sampling = setInterval(() => samples.push(server.memoryBytes()), SAMPLE_MS);
  const pool = new Pool(at.url);
  const cpu = process.cpuUsage();
  let maxLagMs = 0;
  for (let nth = 0; ; nth++) {
    const due = from + (nth * 1_000) / ratePerSecond;
    if (due - from > seconds * 1_000) break;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    else maxLagMs = Math.max(maxLagMs, -wait);
    const answered = ask(pool, at, site).then((answer) => heard.push({ ...answer, at: performance.now() - from }));
    // Cut off at the end.
    asked.push(
      answered.then(
        () => undefined,
        () => undefined,
      ),
    );
  }
  const goodput = ((await completed(at)) - completedBefore) / ((performance.now() - from) / 1_000);
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

async function completed(at: Door): Promise<number> {
  const { body } = await callApi(`${at.url}/v1/health`, at.key);
  return body.data.queue.completed;
}

function count(heard: readonly Heard[], status: number): number {
  return heard.filter((one) => one.status === status).length;
}

function longest(heard: readonly Heard[], share: number): number {
  return heard.length === 0
    ? 0
    : quantile(
        heard.map(({ ms }) => ms),
        share,
      );
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
