/**
 * Trial "bombs": pages that make messages of the protocol, titles, addresses, cookies, dialogs, headers and names of tens of megabytes,
 * through the public API of the built server. Its process lives and stays below 600 MB, the page that follows each of them is captured, and
 * the log stays short. Of an address of 2 MB little is kept, and cached answers of its page hardly make the database grow. At last 20 of the
 * pages are inspected together, while the server's event loop goes on.
 *
 * Sabotage that turns it red: let classifyMessage keep every event, however long; let keepFinalUrl in contract/final-url cut nothing; let
 * answerLimit return 16 MB always, and cutLine in log.ts cut nothing.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { startServer } from '../bench/server.js';
import { bombPages } from '../fixtures/site/bomb-pages.js';
import { noAnswer, VIEW } from './call-api.js';
import { startElsewhere } from './elsewhere.js';
import { runCommand } from './server-process.js';
import { firstOf, type TrialResult } from './trial-result.js';

const FINAL_URL_MAX_BYTES = 8_192;
const GROWTH_MAX_BYTES = 10_000;
const MEMORY_MAX_BYTES = 600e6;
const LOG_MAX_BYTES_A_CAPTURE = 20_000;
const LOOP_DELAY_P99_MAX_MS = 50;
/** On a machine that is busy with other things, what counts is how much later it is than with ordinary pages. */
const LOOP_DELAY_RATIO = 1.5;
/** The pages of which the server reads most, the worst first. */
const INSPECTED = [
  'outline',
  'links',
  'tables',
  'outline-text',
  'many-labels',
  'promise',
  'labels',
  'classes',
  'title',
  'cookies',
  'frame-names',
  'console-many',
  'response-headers',
  'request-headers',
  'dialogs',
  'url',
  'stacks',
  'data-images',
  'hash',
  'address',
];
/** The allowed outcomes of a bomb: a picture, or a failure with the right code. */
const ENDS = ['ok', 'render_timeout', 'render_crashed', 'navigation_failed', 'render_incomplete'];
/** Its accessibility tree is larger than an answer of the browser may be, which is no reason to fail the capture. */
const PICTURED = 'many-labels';

/**
 * @param options.pages comma list of names; all when empty. `atOnce` bombs of the same kind; `hits` cached answers of the page with the long
 * address; `inspected` pages together while the event loop is measured
 */
export async function run({
  timeout = 8_000,
  atOnce = 1,
  hits = 60,
  inspected = INSPECTED.length,
  pages = '',
}): Promise<TrialResult> {
  const names = bombPages
    .map(([path]) => path.slice('/bomb/'.length))
    .filter((name) => pages === '' || pages.split(',').includes(name));
  await using elsewhere = await startElsewhere();
  await using server = await startServer({ STILLFRAME_CONCURRENCY: '2', STILLFRAME_SYNC_WAIT_MS: '120000' });
  const problems: string[] = [];
  const expectThat = (problem: string, holds: boolean) => void (holds || problems.push(problem));
  const post = (path: string, wish: object = {}) =>
    server.post({ ...VIEW, url: elsewhere.origin + path, ...wish }).catch(noAnswer);
  const ends: string[] = [];
  let highest = { name: 'none', bytes: 0 };
  for (const name of names) {
    for (const { status, data } of await Promise.all(
      firstOf(atOnce).map(() => post(`/bomb/${name}`, { timeout, inspect_page: true })),
    )) {
      const end = status === 200 ? 'ok' : String(data.code);
      ends.push(`${name} ${end}`);
      expectThat(
        `${name} ended ${end}: ${String(data.message)}`,
        end === 'ok' || (ENDS.includes(end) && name !== PICTURED),
      );
    }
    const bytes = peakBytes(server.pid);
    if (bytes > highest.bytes) highest = { name, bytes };
    expectThat(`${name}: the server took ${Math.round(bytes / 1e6)} MB`, bytes <= MEMORY_MAX_BYTES);
    const next = await post('/static');
    expectThat(`the page after ${name} ended ${next.status} ${JSON.stringify(next.data)}`, next.status === 200);
    if (next.status === 0) break;
  }
  const logged = Math.round(server.loggedBytes() / (2 * Math.max(1, ends.length)));
  expectThat(`each capture logged ${logged} bytes`, logged <= LOG_MAX_BYTES_A_CAPTURE);

  /** ms, 99th percentile: the server's own figure, which covers the time since it was last asked for. */
  const delayOf = async (paths: string[]): Promise<number> => {
    const measured = async () => await (await fetch(`${server.url}/metrics`)).text();
    await measured();
    await Promise.all(paths.map((path) => post(path, { timeout, inspect_page: true })));
    return Math.round(
      Number(/^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(await measured())?.[1] ?? Number.NaN) * 1_000,
    );
  };
  const ordinary = await delayOf(firstOf(inspected).map((nth) => `/static?${nth}`));
  const late = await delayOf(INSPECTED.slice(0, inspected).map((name) => `/bomb/${name}`));
  const lateMax = Math.max(LOOP_DELAY_P99_MAX_MS, LOOP_DELAY_RATIO * ordinary);
  expectThat(`the event loop was late by ${late} ms at the 99th percentile`, late <= lateMax);

  /** By copies of the database: when its own file grows is up to SQLite. */
  const databaseBytes = async (name: string): Promise<number> => {
    const copy = join(server.dataDir, `${name}.copy`);
    const { code, err } = await runCommand(['backup', copy, '--data-dir', server.dataDir]);
    if (code !== 0) throw new Error(`no copy of the database: ${err}`);
    return statSync(copy).size;
  };
  const ask = () => post('/bomb/address', { cache_ttl: 3_600 });
  const first = await ask();
  const urlBytes = Buffer.byteLength(String(first.data.final_url ?? ''));
  const isCut = first.status === 200 && urlBytes >= 1_000 && urlBytes <= FINAL_URL_MAX_BYTES;
  expectThat(`the page with the long address ended ${first.status}; its final URL has ${urlBytes} bytes`, isCut);
  const before = await databaseBytes('before');
  for (let hit = 0; hit < hits; hit++) {
    const { status, data } = await ask();
    expectThat(`hit ${hit} ended ${status}, cached: ${String(data.cached)}`, status === 200 && data.cached === true);
  }
  const bytesAHit = Math.round(((await databaseBytes('after')) - before) / hits);
  expectThat(`each cached answer made the database grow by ${bytesAHit} bytes`, bytesAHit <= GROWTH_MAX_BYTES);
  return {
    figures: {
      pages: names.length,
      pictured: ends.filter((end) => end.endsWith(' ok')).length,
      'not pictured': ends.filter((end) => !end.endsWith(' ok')).join(', '),
      'most memory of the server': `${Math.round(highest.bytes / 1e6)} MB, by the time of ${highest.name}`,
      'bytes of the log for a capture': logged,
      'event loop delay while inspecting, p99': `${late} ms, with ordinary pages ${ordinary} ms`,
      'bytes of the final URL': urlBytes,
      'bytes of the database for a cached answer': bytesAHit,
    },
    problems,
  };
}

/** The most that it has ever taken; more than any figure when it is gone. */
function peakBytes(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) * 1024;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
