import { readFileSync } from 'node:fs';
import { newDraft } from '../../src/http/compatible-apis/compatible-api.js';
import { descendantsOf } from '../fixtures/process-tree.js';
import { type Figure, median, ms, ratio } from './figure.js';
import { inTurns } from './loops.js';
import { BENCH_PAGES } from './pages.js';
import { startServer } from './server.js';
import { startSiteThread } from './site-thread.js';

const PAIRS = 20;
const PAIRS_OF_OWN = 60;
const WARM_UP = 6;
const SAMPLE_MS = 200;

/** The request of this API that is equal to that of the compatible API. */
const EQUAL = {
  ...newDraft(),
  viewport: { width: 800, height: 600, deviceScaleFactor: 1 },
  format: 'png',
  reduce_motion: false,
  tolerate: ['target_error', 'blocked_by_target', 'render_incomplete'],
};

/**
 * Measures browserless's interface against this API and against browserless itself: BROWSERLESS_URL is its origin, BROWSERLESS_TOKEN
 * its token, and BROWSERLESS_PID its process.
 */
export async function benchCompatibleApis(): Promise<Figure[]> {
  await using site = await startSiteThread('127.0.0.2', BENCH_PAGES);
  await using server = await startServer({ STILLFRAME_COMPATIBLE_APIS: 'browserless' });
  const url = `${site.origin}/bench/article`;
  const compatible = (path: string, body: object) => timed(`${server.url}${path}?token=${server.key}`, body);
  const headers = { authorization: `Bearer ${server.key}`, accept: 'image/png' };
  const added: number[] = [];
  for (let nth = 0; nth < WARM_UP + PAIRS_OF_OWN; nth++) {
    const api = await timed(`${server.url}/v1/screenshot`, { url, ...EQUAL }, headers);
    const own = await compatible('/screenshot', { url });
    if (nth >= WARM_UP) added.push(own - api);
  }
  const figures: Figure[] = [
    [
      'a screenshot by the interface of browserless, more than by the API beside the capture',
      ms(median(added), 1),
      '≤ 5',
    ],
  ];
  const { BROWSERLESS_URL: origin, BROWSERLESS_TOKEN: token = '', BROWSERLESS_PID: pid } = process.env;
  if (origin === undefined) return figures;
  for (const [path, body] of [
    ['/screenshot', { url, options: { fullPage: true } }],
    ['/screenshot', { url }],
    ['/pdf', { url, options: { format: 'A4', printBackground: true } }],
  ] as const) {
    const memory = watchMemory({ ours: server.pid, peer: Number(pid) });
    const peerUrl = `${origin}${path}?token=${token}`;
    const times = await inTurns({ ours: () => compatible(path, body), peer: () => timed(peerUrl, body) }, PAIRS);
    const { ours, peer } = memory.end();
    const what = `${path}${'options' in body && 'fullPage' in body.options ? ' of the page' : ''}`;
    figures.push(
      [`${what}, browserless, p50`, ms(times.peer)],
      [`${what}, ours ÷ browserless, time`, ratio(times.ours, times.peer)],
      [`${what}, ours and browserless, peak memory`, `${mb(ours)}, ${mb(peer)} MB`],
    );
  }
  return figures;
}

const mb = (bytes: number) => (bytes / 1_000_000).toFixed(0);

/** @returns ms besides the stages of the capture, as far as the answer tells them */
async function timed(url: string, body: object, headers: Record<string, string> = {}): Promise<number> {
  const from = performance.now();
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
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
  return [root, ...descendantsOf(root)].reduce((sum, pid) => sum + pssBytes(pid), 0);
}

/** 0 for a process that has ended meanwhile. */
function pssBytes(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) * 1_024;
  } catch {
    return 0;
  }
}
