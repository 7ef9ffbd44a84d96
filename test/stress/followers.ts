/**
 * Trial "followers": 20,000 jobs share one render. Its end reaches each of them exactly once, in slices between which the event loop
 * turns: 10 ms at the median, and none near the 1.4 s of all at once.
 *
 * Sabotage that turns it red: let store/sqlite/end-job end all followers in one slice.
 */
import { rmSync } from 'node:fs';
import { runJob } from '../../src/capture/run-job.js';
import { silentLog } from '../../src/log.js';
import type { EndedJob, Store } from '../../src/store/store.js';
import { aCaller, aCapture, aDataDir, aNewJob, type Caller, claimNext, openAt, RULES } from '../store/factories.js';
import type { TrialResult } from './trial-result.js';

export interface FollowersOptions {
  /** 20,000 when absent. */
  followers?: number;
}

/** Processor time, which other programs on the machine do not add to. */
const MEDIAN_MS = 10;
const MOST_MS = 50;
const AT_ONCE = 500;
const PAGE = { cacheIdentity: 'the page of all', cacheTtl: 3_600 };

export async function run({ followers = 20_000 }: FollowersOptions = {}): Promise<TrialResult<number>> {
  const dataDir = aDataDir();
  await using _directory = { [Symbol.asyncDispose]: async () => rmSync(dataDir, { recursive: true, force: true }) };
  await using store = await openAt(dataDir);
  const caller = await aCaller(store);
  await submitAll(store, caller, followers + 1);
  const ended = new Set<string>();
  const slices = new Slices(() => ended.size);
  await slices.of(() => end(store, (job) => void ended.add(job.id)));
  const status = await store.queueStatus();
  const used = await store.usage(caller.accountId, Date.now());
  const problems: string[] = [];
  if (ended.size !== followers + 1) problems.push(`${ended.size} of ${followers + 1} ends were told`);
  if (status.completed !== followers + 1 || status.waiting > 0)
    problems.push(`${status.completed} jobs are completed, ${status.waiting} wait`);
  if (used.credits !== followers + 1 || used.reserved > 0) problems.push(`${used.credits} credits are charged, ${used.reserved} reserved`);
  const { median, most } = slices.figures();
  if (median > MEDIAN_MS) problems.push(`a turn of the event loop took ${median} ms at the median`);
  if (most > MOST_MS) problems.push(`a turn of the event loop took ${most} ms`);
  return { ok: problems.length === 0, figures: { followers, turn_median_ms: median, turn_longest_ms: most, ...slices.wall() }, problems };
}

async function submitAll(store: Store, caller: Caller, jobs: number): Promise<void> {
  for (let done = 0; done < jobs; done += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, jobs - done) }, () =>
      store.accept(aNewJob(caller, { ...PAGE, enqueuedAt: Date.now() }), { ...RULES, maxQueue: jobs + 1 }),
    );
    await Promise.all(some);
  }
}

async function end(store: Store, onEnded: (job: EndedJob) => void): Promise<void> {
  const { data, artifact } = aCapture();
  const rendering = {
    ...data,
    content: Buffer.alloc(1),
    warnings: [],
    timings: {},
    inspection: null,
    diagnostics: null,
    egressCountry: null,
  };
  const deps = {
    store,
    artifacts: { put: async () => artifact, remove: async () => undefined, isFailing: false, refusal: null, isReady: async () => true },
    render: async () => rendering as never,
    onEnded,
    ...{ leaseMs: 30_000, retryDelayMs: 0, log: silentLog(), now: Date.now },
  };
  await runJob(deps, await claimNext(store), new AbortController().signal);
}

/** The turns of the event loop in which something was done. */
class Slices {
  readonly #cpu: number[] = [];
  readonly #wall: number[] = [];

  constructor(private readonly done: () => number) {}

  async of(work: () => Promise<void>): Promise<void> {
    let isOver = false;
    const working = work().finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const cpu = process.cpuUsage();
      const [from, before] = [performance.now(), this.done()];
      await new Promise((resolve) => setImmediate(resolve));
      if (this.done() === before) continue;
      const { user, system } = process.cpuUsage(cpu);
      this.#cpu.push((user + system) / 1_000);
      this.#wall.push(performance.now() - from);
    }
    await working;
  }

  figures(): { median: number; most: number } {
    return { median: at(this.#cpu, 0.5), most: at(this.#cpu, 1) };
  }

  wall(): { wall_median_ms: number; wall_longest_ms: number } {
    return { wall_median_ms: at(this.#wall, 0.5), wall_longest_ms: at(this.#wall, 1) };
  }
}

function at(values: readonly number[], quantile: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round((sorted[Math.floor((sorted.length - 1) * quantile)] ?? 0) * 100) / 100;
}
