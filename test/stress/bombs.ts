/**
 * Trial "bombs": pages that make messages of the protocol, titles, addresses, cookies, dialogs, headers and names of tens of megabytes,
 * through the public API of the built server. Its process lives, its memory stays below 600 MB at every moment, and the page that follows
 * each of them is captured, and the log stays short. A page with an address of 2 MB is then asked for again and again: what is kept of it
 * is short, and cached answers hardly make the database grow. At last 20 of the pages are inspected together, while the server's event loop
 * goes on.
 *
 * Sabotage that turns it red: let classifyMessage keep every event, however long; let keepFinalUrl in contract/final-url cut nothing; let
 * answerLimit return 16 MB always, and cutLine in log.ts cut nothing.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchServer, startServer } from '../bench/server.js';
import { bombPages } from '../fixtures/site/bomb-pages.js';
import { startElsewhere } from './elsewhere.js';
import { runCommand } from './server-process.js';
import type { TrialResult } from './trial-result.js';

const FINAL_URL_MAX_BYTES = 8_192;
const GROWTH_MAX_BYTES = 10_000;

const MEMORY_MAX_BYTES = 600e6;
const LOG_MAX_BYTES_A_CAPTURE = 20_000;
const LOOP_DELAY_P99_MAX_MS = 50;
/** On a machine that is busy with other things, what counts is how much later it is than with ordinary pages. */
const LOOP_DELAY_RATIO = 1.5;
/** The pages of which the server reads most, the worst first. */
const INSPECTED =
  'outline links tables outline-text many-labels promise labels classes title cookies frame-names console-many response-headers request-headers dialogs url stacks data-images hash address'.split(
    ' ',
  );
/** The allowed outcomes of a bomb: a picture, or a failure with the right code. */
const ENDS = ['ok', 'render_timeout', 'render_crashed', 'navigation_failed', 'render_incomplete'];
/** Its accessibility tree is larger than an answer of the browser may be, which is no reason to fail the capture. */
const PICTURED = 'many-labels';
const VIEW = { viewport: { width: 800, height: 600, deviceScaleFactor: 1 }, format: 'png', cache_ttl: 0 };

/**
 * @param options.pages comma list of names; all when empty. `atOnce` bombs of the same kind; `hits` cached answers of the page with the long
 * address; `inspected` pages together while the event loop is measured
 */
export async function run({ timeout = 8_000, atOnce = 1, hits = 60, inspected = INSPECTED.length, pages = '' }): Promise<TrialResult> {
  const names = bombPages.map(([path]) => path.slice('/bomb/'.length)).filter((name) => pages === '' || pages.split(',').includes(name));
  await using elsewhere = await startElsewhere();
  await using server = await startServer({ STILLFRAME_CONCURRENCY: '2', STILLFRAME_SYNC_WAIT_MS: '120000' });
  const problems: string[] = [];
  const ends: string[] = [];
  let highest = { name: 'none', bytes: 0 };
  for (const name of names) {
    const url = `${elsewhere.origin}/bomb/${name}`;
    const bombs = Array.from({ length: atOnce }, () => server.post({ ...VIEW, url, timeout, inspect_page: true }));
    const answers = await Promise.all(bombs.map((bomb) => bomb.catch(noAnswer)));
    for (const { status, data } of answers) {
      const end = status === 200 ? 'ok' : String(data.code);
      ends.push(`${name} ${end}`);
      if (!ENDS.includes(end) || (name === PICTURED && end !== 'ok')) problems.push(`${name} ended ${end}: ${String(data.message)}`);
    }
    const peak = peakBytes(server);
    if (peak > highest.bytes) highest = { name, bytes: peak };
    if (peak > MEMORY_MAX_BYTES) problems.push(`${name}: the server took ${Math.round(peak / 1e6)} MB`);
    const next = await server.post({ ...VIEW, url: `${elsewhere.origin}/static` }).catch(noAnswer);
    if (next.status !== 200) problems.push(`the page after ${name} ended ${next.status} ${JSON.stringify(next.data)}`);
    if (next.status === 0) break;
  }
  const logged = Math.round(server.loggedBytes() / (2 * Math.max(1, ends.length)));
  if (logged > LOG_MAX_BYTES_A_CAPTURE) problems.push(`each capture logged ${logged} bytes`);
  const delay = await delayWhileInspecting(server, { elsewhere: elsewhere.origin, names: INSPECTED.slice(0, inspected), timeout });
  const delayMax = Math.max(LOOP_DELAY_P99_MAX_MS, LOOP_DELAY_RATIO * delay.ordinary);
  if (delay.hostile > delayMax) problems.push(`the event loop was late by ${delay.hostile} ms at the 99th percentile`);
  const growth = await growthByHits(server, `${elsewhere.origin}/bomb/address`, hits);
  problems.push(...growth.problems);
  return {
    figures: {
      pages: names.length,
      pictured: ends.filter((end) => end.endsWith(' ok')).length,
      'not pictured': ends.filter((end) => !end.endsWith(' ok')).join(', '),
      'most memory of the server': `${Math.round(highest.bytes / 1e6)} MB, by the time of ${highest.name}`,
      'bytes of the log for a capture': logged,
      'event loop delay while inspecting, p99': `${delay.hostile} ms, with ordinary pages ${delay.ordinary} ms`,
      'bytes of the final URL': growth.urlBytes,
      'bytes of the database for a cached answer': growth.bytesAHit,
    },
    problems,
  };
}

/** ms, 99th percentile: the server's own figure, which covers the time since it was last asked for. */
async function delayWhileInspecting(server: BenchServer, bombs: { elsewhere: string; names: string[]; timeout: number }) {
  const whileInspecting = async (paths: string[]): Promise<number> => {
    const measured = async () => await (await fetch(`${server.url}/metrics`)).text();
    await measured();
    const requests = paths.map((path) => ({ ...VIEW, url: bombs.elsewhere + path, timeout: bombs.timeout, inspect_page: true }));
    await Promise.all(requests.map((request) => server.post(request).catch(noAnswer)));
    return Math.round(Number(/^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(await measured())?.[1] ?? Number.NaN) * 1_000);
  };
  const ordinary = await whileInspecting(bombs.names.map((_, nth) => `/static?${nth}`));
  return { ordinary, hostile: await whileInspecting(bombs.names.map((name) => `/bomb/${name}`)) };
}

/** By copies of the database: when its own file grows is up to SQLite. */
async function growthByHits(server: BenchServer, url: string, hits: number) {
  const problems: string[] = [];
  const body = { ...VIEW, url, cache_ttl: 3_600 };
  const first = await server.post(body).catch(noAnswer);
  const urlBytes = Buffer.byteLength(String(first.data.final_url ?? ''));
  const length = `its final URL has ${urlBytes} bytes`;
  if (first.status !== 200 || urlBytes < 1_000 || urlBytes > FINAL_URL_MAX_BYTES)
    problems.push(`the page with the long address ended ${first.status}; ${length}`);
  const before = await copyBytes(server, 'before');
  for (let hit = 0; hit < hits; hit++) {
    const { status, data } = await server.post(body).catch(noAnswer);
    if (status !== 200 || data.cached !== true) problems.push(`hit ${hit} ended ${status}, cached: ${String(data.cached)}`);
  }
  const bytesAHit = Math.round(((await copyBytes(server, 'after')) - before) / hits);
  if (bytesAHit > GROWTH_MAX_BYTES) problems.push(`each cached answer made the database grow by ${bytesAHit} bytes`);
  return { urlBytes, bytesAHit, problems };
}

async function copyBytes({ dataDir }: BenchServer, name: string): Promise<number> {
  const copy = join(dataDir, `${name}.copy`);
  const { code, err } = await runCommand(['backup', copy, '--data-dir', dataDir]);
  if (code !== 0) throw new Error(`no copy of the database: ${err}`);
  return statSync(copy).size;
}

function noAnswer(error: Error): { status: number; data: Record<string, unknown> } {
  return { status: 0, data: { code: 'no answer', message: error.message } };
}

/** The most that it has ever taken; more than any figure when it is gone. */
function peakBytes({ pid }: BenchServer): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) * 1024;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
