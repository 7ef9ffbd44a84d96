import { quantile } from './figure.js';
import { type BenchServer, flood } from './server.js';

const WARM_UP = 6;
const ROUNDS = 2;
export const FLOOD_MS = 12_000;

/** What only the bare browser does as well. */
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

/** One of each in turn, so that a slow moment of the machine meets all alike. @returns medians in ms */
export async function inTurns(loops: Loops, pairs: number): Promise<Record<keyof Loops, number>> {
  const times: Record<keyof Loops, number[]> = { bare: [], lean: [], full: [] };
  const names = Object.keys(loops) as (keyof Loops)[];
  for (let nth = 0; nth < WARM_UP + pairs; nth++) {
    for (const name of names) {
      const from = performance.now();
      await loops[name]();
      if (nth >= WARM_UP) times[name].push(performance.now() - from);
    }
  }
  return { bare: quantile(times.bare, 0.5), lean: quantile(times.lean, 0.5), full: quantile(times.full, 0.5) };
}

/** Each for a while, in rounds. */
export async function fourAtOnce(loops: Loops, floodMs = FLOOD_MS): Promise<Record<keyof Loops, { perSecond: number; p95: number }>> {
  const runs: Record<keyof Loops, { perSecond: number; times: number[] }[]> = { bare: [], lean: [], full: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of Object.keys(loops) as (keyof Loops)[]) runs[name].push(await flood(4, floodMs, loops[name]));
  }
  const sum = (list: { perSecond: number; times: number[] }[]) => ({
    perSecond: list.reduce((total, run) => total + run.perSecond, 0) / list.length,
    p95: quantile(
      list.flatMap((run) => run.times),
      0.95,
    ),
  });
  return { bare: sum(runs.bare), lean: sum(runs.lean), full: sum(runs.full) };
}
