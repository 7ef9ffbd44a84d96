import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Figure, quantile, ratio } from './figure.js';
import { BENCH_PAGES } from './pages.js';
import { type BenchServer, MAIN, MEMORY_SETTINGS, startServer } from './server.js';
import { startSiteThread } from './site-thread.js';

const SHOTS = 100;
const AT_ONCE = 4;
const ROUNDS = 3;

/** `stillframe multi` with 100 shots, against a warm server that is asked for the same 100, in turns. */
export async function benchMulti(): Promise<Figure[]> {
  await using site = await startSiteThread('127.0.0.2', BENCH_PAGES);
  await using server = await startServer({ STILLFRAME_CONCURRENCY: String(AT_ONCE) });
  const url = `${site.origin}/bench/article`;
  const ratios: number[] = [];
  const rates: Record<'server' | 'multi', number[]> = { server: [], multi: [] };
  const startsMs: number[] = [];
  await byServer(server, url);
  for (let round = 0; round < ROUNDS; round++) {
    const own = await byServer(server, url);
    const { perSecond, startMs } = await byMulti(url);
    rates.server.push(own);
    rates.multi.push(perSecond);
    ratios.push(perSecond / own);
    startsMs.push(startMs);
  }
  return [
    { what: `${SHOTS} shots, the server's own rate`, value: `${quantile(rates.server, 0.5).toFixed(1)} /s`, goal: '' },
    { what: `${SHOTS} shots, multi`, value: `${quantile(rates.multi, 0.5).toFixed(1)} /s`, goal: '' },
    { what: `${SHOTS} shots, multi ÷ server`, value: ratio(quantile(ratios, 0.5), 1), goal: '≥ 0.95' },
    { what: 'multi, start and end beside the shots', value: `${quantile(startsMs, 0.5).toFixed(0)} ms`, goal: '' },
  ];
}

/** @returns captures a second */
async function byServer(server: BenchServer, url: string): Promise<number> {
  const from = performance.now();
  let next = 0;
  const lane = async () => {
    while (next++ < SHOTS) {
      const { status, data } = await server.post({ url, cache_ttl: 0 });
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(data)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return (SHOTS * 1_000) / (performance.now() - from);
}

async function byMulti(url: string): Promise<{ perSecond: number; startMs: number }> {
  const cwd = mkdtempSync(join(tmpdir(), 'stillframe-bench-'));
  try {
    writeFileSync(
      join(cwd, 'shots.yml'),
      JSON.stringify(Array.from({ length: SHOTS }, (_, index) => ({ url, output: `shots/${index}.webp` }))),
    );
    const from = performance.now();
    await promisify(execFile)(process.execPath, [MAIN, 'multi', 'shots.yml', '--report', 'report.json'], {
      cwd,
      env: {
        ...process.env,
        ...MEMORY_SETTINGS,
        STILLFRAME_DATA_DIR: cwd,
        STILLFRAME_LISTS: 'false',
        STILLFRAME_CONCURRENCY: String(AT_ONCE),
      },
    });
    const wholeMs = performance.now() - from;
    const report = JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8')) as { duration_ms: number; captured: number };
    if (report.captured !== SHOTS) throw new Error(`multi captured ${report.captured} of ${SHOTS}`);
    return { perSecond: (SHOTS * 1_000) / report.duration_ms, startMs: wholeMs - report.duration_ms };
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}
