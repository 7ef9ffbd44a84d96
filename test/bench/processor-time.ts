import { readFileSync } from 'node:fs';
import { descendantsOf } from '../fixtures/process-tree.js';
import { type Figure, median, ms, ratio } from './figure.js';
import type { Loops } from './loops.js';
import type { BenchPage } from './pages.js';
import { type BenchServer, captured } from './server.js';

const TICKS_PER_S = 100;
const WARM_UP = 3;
const PAIRS = 16;
const DELAY_MS = 10_000;
const DELAYED_PAIRS = 5;

/** A page that only timers change, in letters: numbers that count would be waited for. */
export const TIMERS_PAGE: BenchPage = {
  type: 'text/html; charset=utf-8',
  body: `<!doctype html><title>Timers</title><h1>Timers</h1><p id="out"></p><script>let n = 0; setInterval(() => { out.textContent = 'abc'[++n % 3] }, 100); setTimeout(() => { document.body.append('late') }, 9000)</script>`,
};

/** Processor time of the server and its browsers for a capture with every default, against the bare loop's browser and Playwright. */
export async function benchProcessorTime(name: string, { full, bare }: Loops, server: BenchServer): Promise<Figure[]> {
  let playwrightMs = 0;
  const round = async (): Promise<void> => {
    await full();
    const before = ownThreadMs();
    await bare();
    playwrightMs += ownThreadMs() - before;
  };
  for (let nth = 0; nth < WARM_UP; nth++) await round();
  playwrightMs = 0;
  const before = { ours: treeMs(server.pid), bare: treeMs(process.pid, server.pid) };
  for (let nth = 0; nth < PAIRS; nth++) await round();
  const ours = (treeMs(server.pid) - before.ours) / PAIRS;
  const loop = (treeMs(process.pid, server.pid) - before.bare + playwrightMs) / PAIRS;
  return [
    [`${name}, processor time, bare loop`, ms(loop)],
    [`${name}, processor time, every default ÷ bare`, ratio(ours, loop), '≤ 1.15'],
  ];
}

/** The cost of a delay of ten seconds on a page that does not communicate. */
export async function benchDelay(server: BenchServer, url: string): Promise<Figure[]> {
  const more: number[] = [];
  for (let nth = 0; nth < 1 + DELAYED_PAIRS; nth++) {
    const [plain, delayed] = [await captured(server, { url }), await captured(server, { url, delay: DELAY_MS })];
    if (nth > 0) more.push(delayed - plain);
  }
  return [['a page of timers, delay of 10 s, more than without', `${(median(more) / 1_000).toFixed(2)} s`, '≤ 0.50']];
}

/** The processor time of the processes below `root` that are not `except` or below it, ended ones included, and of `root` unless it is this process. */
function treeMs(root: number, except = 0): number {
  const left = new Set([except, ...(except === 0 ? [] : descendantsOf(except))]);
  const pids = [...(root === process.pid ? [] : [root]), ...descendantsOf(root)].filter((pid) => !left.has(pid));
  return pids.reduce((sum, pid) => sum + ticksOf(pid), 0) * (1_000 / TICKS_PER_S);
}

/** @returns 0 if the process has ended; the time of its children counts once they have */
function ticksOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((total, field) => total + Number(field), 0);
  } catch {
    return 0;
  }
}

/** Processor time of the thread that Playwright runs on, without that of the site. */
function ownThreadMs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ', 1)[0]) / 1e6;
}
