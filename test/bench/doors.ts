import { readdirSync, readFileSync } from 'node:fs';
import { newDraft } from '../../src/http/doors/door.js';
import { type Figure, median, ratio } from './figure.js';
import { inTurns } from './loops.js';
import { BENCH_PAGES } from './pages.js';
import { startServer } from './server.js';
import { startSiteThread } from './site-thread.js';

const PAIRS = 20;
const PAIRS_OF_OWN = 60;
const WARM_UP = 6;
const SAMPLE_MS = 200;

/** The request of this API that is equal to that of the door. */
const EQUAL = {
  ...newDraft(),
  viewport: { width: 800, height: 600, deviceScaleFactor: 1 },
  format: 'png',
  reduce_motion: false,
  tolerate: ['target_error', 'blocked_by_target', 'render_incomplete'],
};

/**
 * Measures the door of browserless against this API and against browserless itself: BROWSERLESS_URL is its origin, BROWSERLESS_TOKEN
 * its token, and BROWSERLESS_PID its process.
 */
export async function benchDoors(): Promise<Figure[]> {
  await using site = await startSiteThread('127.0.0.2', BENCH_PAGES);
  await using server = await startServer({ STILLFRAME_DOORS: 'browserless' });
  const url = `${site.origin}/bench/article`;
  const door = (path: string, body: object) => timed(`${server.url}${path}?token=${server.key}`, body);
  const headers = { authorization: `Bearer ${server.key}`, accept: 'image/png' };
  const beside: Record<'api' | 'door', number[]> = { api: [], door: [] };
  for (let nth = 0; nth < WARM_UP + PAIRS_OF_OWN; nth++) {
    const api = await timed(`${server.url}/v1/screenshot`, { url, ...EQUAL }, headers);
    const own = await door('/screenshot', { url });
    if (nth < WARM_UP) continue;
    beside.api.push(api);
    beside.door.push(own);
  }
  const added = median(beside.door) - median(beside.api);
  const figures: Figure[] = [['a screenshot by the door, more than by the API beside the capture', `${added.toFixed(1)} ms`, '≤ 5']];
  const { BROWSERLESS_URL: origin, BROWSERLESS_TOKEN: token = '', BROWSERLESS_PID: pid } = process.env;
  if (origin === undefined) return figures;
  for (const [path, body] of [
    ['/screenshot', { url, options: { fullPage: true } }],
    ['/screenshot', { url }],
    ['/pdf', { url, options: { format: 'A4', printBackground: true } }],
  ] as const) {
    const memory = watchMemory({ ours: server.pid, peer: Number(pid) });
    const ms = await inTurns(
      {
        ours: () => door(path, body),
        peer: () => timed(`${origin}${path}?token=${token}`, body),
      },
      PAIRS,
    );
    const { ours, peer } = memory.end();
    const what = `${path}${'options' in body && 'fullPage' in body.options ? ' of the page' : ''}`;
    figures.push(
      [`${what}, browserless, p50`, `${ms.peer.toFixed(0)} ms`],
      [`${what}, ours ÷ browserless, time`, ratio(ms.ours, ms.peer)],
      [`${what}, ours and browserless, peak memory`, `${mb(ours)}, ${mb(peer)} MB`],
    );
  }
  return figures;
}

function mb(bytes: number): string {
  return (bytes / 1_000_000).toFixed(0);
}

/** @returns ms besides the stages of the capture, as far as the answer tells them */
async function timed(url: string, body: object, headers: Record<string, string> = {}): Promise<number> {
  const from = performance.now();
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
  const answer = await fetch(url, init);
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status}`);
  const stages = [...(answer.headers.get('server-timing') ?? '').matchAll(/dur=([\d.]+)/g)].map(([, ms]) => Number(ms));
  return performance.now() - from - stages.reduce((sum, ms) => sum + ms, 0);
}

/** The greatest proportional memory of processes with all below them, in bytes. */
function watchMemory<Name extends string>(roots: Record<Name, number>): { end(): Record<Name, number> } {
  const peaks = Object.fromEntries(Object.keys(roots).map((name) => [name, 0])) as Record<Name, number>;
  const timer = setInterval(() => {
    for (const name of Object.keys(roots) as Name[]) peaks[name] = Math.max(peaks[name], treeBytes(roots[name]));
  }, SAMPLE_MS);
  return {
    end: () => {
      clearInterval(timer);
      return peaks;
    },
  };
}

function treeBytes(root: number): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = /^PPid:\s+(\d+)/m.exec(read(`/proc/${name}/status`))?.[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const isBelow = (pid: number): boolean => pid === root || (pid > 1 && isBelow(parents.get(pid) ?? 0));
  return [...parents.keys()].filter(isBelow).reduce((sum, pid) => sum + pssBytes(pid), 0);
}

function pssBytes(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1_024;
}

/** Empty for a process that has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
