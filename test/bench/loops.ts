import { median, quantile } from './figure.js';
import { type BenchServer, captured } from './server.js';

const WARM_UP = 6;
const ROUNDS = 2;
export const FLOOD_MS = 12_000;

/** The options under which the bare browser does the same work. */
const LEAN = {
  wait_for_idle: false,
  block_ads: false,
  block_trackers: false,
  block_cookie_banners: false,
  block_chats: false,
};

type Ways<Name extends string> = Record<Name, () => Promise<unknown>>;
export type Loops = Ways<'bare' | 'lean' | 'full'>;

/** One capture of the same page: by the bare browser, by ours with lean options, and with every default. */
export function loopsOf(server: BenchServer, bare: { capture(url: string): Promise<unknown> }, url: string): Loops {
  return {
    bare: () => bare.capture(url),
    lean: () => captured(server, { url, ...LEAN }),
    full: () => captured(server, { url }),
  };
}

/** One of each in turn, so that a slow moment of the machine meets all alike. @returns medians in ms */
export async function inTurns<Name extends string>(ways: Ways<Name>, pairs: number): Promise<Record<Name, number>> {
  const times = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
  for (let nth = 0; nth < WARM_UP + pairs; nth++) {
    for (const [name, list] of times) {
      const from = performance.now();
      await ways[name as Name]();
      if (nth >= WARM_UP) list.push(performance.now() - from);
    }
  }
  return Object.fromEntries([...times].map(([name, list]) => [name, median(list)])) as Record<Name, number>;
}

/** Runs `work` again and again, `width` at once, until the time is over. @returns each run's ms */
export async function flood(width: number, ms: number, work: (nth: number) => Promise<unknown>) {
  const times: number[] = [];
  const from = performance.now();
  let nth = 0;
  const lane = async () => {
    while (performance.now() - from < ms) {
      const start = performance.now();
      await work(nth++);
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return { times, perSecond: (times.length * 1000) / (performance.now() - from) };
}

/** Each for a while, in rounds. */
export async function fourAtOnce<Name extends string>(ways: Ways<Name>, floodMs = FLOOD_MS) {
  const runs = new Map<string, { perSecond: number; times: number[] }[]>(Object.keys(ways).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, list] of runs) list.push(await flood(4, floodMs, ways[name as Name]));
  }
  const found = [...runs].map(([name, list]) => {
    const times = list.flatMap((run) => run.times);
    return [
      name,
      { perSecond: list.reduce((sum, run) => sum + run.perSecond, 0) / list.length, p95: quantile(times, 0.95) },
    ];
  });
  return Object.fromEntries(found) as Record<Name, { perSecond: number; p95: number }>;
}
