import { quantile } from './figure.js';
import { type BenchServer, flood } from './server.js';

const WARM_UP = 6;
const ROUNDS = 2;
export const FLOOD_MS = 12_000;

/** The options under which the bare browser does the same work. */
const LEAN = { wait_for_idle: false, block_ads: false, block_trackers: false, block_cookie_banners: false, block_chats: false };

/** One capture of the same page: by the bare browser, by ours with lean options, and with every default. */
export type Loops = Record<'bare' | 'lean' | 'full', () => Promise<void>>;

export function loopsOf(server: BenchServer, bare: { capture(url: string): Promise<unknown> }, url: string): Loops {
  const ours = (options: Record<string, unknown>) => async () => {
    const answer = await server.post({ url, cache_ttl: 0, ...options });
    if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${JSON.stringify(answer.data)}`);
  };
  return { bare: () => bare.capture(url).then(() => undefined), lean: ours(LEAN), full: ours({}) };
}

type Ways<Name extends string> = Record<Name, () => Promise<unknown>>;

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
  return Object.fromEntries([...times].map(([name, list]) => [name, quantile(list, 0.5)])) as Record<Name, number>;
}

/** Each for a while, in rounds. */
export async function fourAtOnce<Name extends string>(
  ways: Ways<Name>,
  floodMs = FLOOD_MS,
): Promise<Record<Name, { perSecond: number; p95: number }>> {
  const runs = new Map<string, { perSecond: number; times: number[] }[]>(Object.keys(ways).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, list] of runs) list.push(await flood(4, floodMs, ways[name as Name]));
  }
  const found = [...runs].map(([name, list]) => {
    const times = list.flatMap((run) => run.times);
    return [name, { perSecond: list.reduce((sum, run) => sum + run.perSecond, 0) / list.length, p95: quantile(times, 0.95) }];
  });
  return Object.fromEntries(found) as Record<Name, { perSecond: number; p95: number }>;
}
