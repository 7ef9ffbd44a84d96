import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inLanes } from '../egress/in-lanes.js';
import { type Figure, median, ms, ratio } from './figure.js';
import { BENCH_PAGES } from './pages.js';
import { captured, MAIN, MEMORY_SETTINGS, startServer } from './server.js';
import { startSiteThread } from './site-thread.js';

const SHOTS = 100;
const AT_ONCE = 4;
const ROUNDS = 3;
const ENV = { STILLFRAME_CONCURRENCY: String(AT_ONCE), STILLFRAME_LISTS: 'false' };

/** `stillframe multi` with 100 shots, against a warm server that is asked for the same 100, in turns. */
export async function benchMulti(): Promise<Figure[]> {
  await using site = await startSiteThread('127.0.0.2', BENCH_PAGES);
  await using server = await startServer(ENV);
  const url = `${site.origin}/bench/article`;
  const byServer = async () => {
    const from = performance.now();
    await inLanes([...Array(SHOTS).keys()], AT_ONCE, async () => void (await captured(server, { url })));
    return (SHOTS * 1_000) / (performance.now() - from);
  };
  await byServer();
  const seen = { server: [] as number[], multi: [] as number[], ratio: [] as number[], startMs: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    const [own, { perSecond, startMs }] = [await byServer(), await byMulti(url)];
    seen.server.push(own);
    seen.multi.push(perSecond);
    seen.ratio.push(perSecond / own);
    seen.startMs.push(startMs);
  }
  return [
    [`${SHOTS} shots, the server's own rate`, `${median(seen.server).toFixed(1)} /s`],
    [`${SHOTS} shots, multi`, `${median(seen.multi).toFixed(1)} /s`],
    [`${SHOTS} shots, multi ÷ server`, ratio(median(seen.ratio), 1), '≥ 0.95'],
    ['multi, start and end beside the shots', ms(median(seen.startMs))],
  ];
}

async function byMulti(url: string): Promise<{ perSecond: number; startMs: number }> {
  const cwd = mkdtempSync(join(tmpdir(), 'stillframe-bench-'));
  try {
    const shots = Array.from({ length: SHOTS }, (_, index) => ({ url, output: `shots/${index}.webp` }));
    writeFileSync(join(cwd, 'shots.yml'), JSON.stringify(shots));
    const env = { ...process.env, ...MEMORY_SETTINGS, ...ENV, STILLFRAME_DATA_DIR: cwd };
    const from = performance.now();
    await promisify(execFile)(process.execPath, [MAIN, 'multi', 'shots.yml', '--report', 'report.json'], { cwd, env });
    const wholeMs = performance.now() - from;
    const report = JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8')) as {
      duration_ms: number;
      captured: number;
    };
    if (report.captured !== SHOTS) throw new Error(`multi captured ${report.captured} of ${SHOTS}`);
    return { perSecond: (SHOTS * 1_000) / report.duration_ms, startMs: wholeMs - report.duration_ms };
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}
