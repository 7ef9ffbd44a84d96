/**
 * Trial "hostile": pages that mean harm, four at once, through the public API of the built server, with an ordinary capture going on
 * beside them. Each ends in time with a code of decisions.md's table; the server stays the same process; no picture of a browser's error page
 * or of an empty page is ever a success; the ordinary capture's p95 stays within 2.0 times what it is alone (2 cores; the pages have lower priority, and nothing else).
 *
 * Sabotage that turns it red: leave out refuseBlank and refuseWhite in page/check-page.ts (blank pages are pictured), or the `unreachableUrl` line of
 * judge-document.ts (error pages are).
 */
import sharp from 'sharp';
import { readProcess } from '../../src/render/launch/process-table.js';
import { quantile } from '../bench/figure.js';
import { startServer } from '../bench/server.js';
import { inLanes } from '../egress/in-lanes.js';
import { startSite } from '../fixtures/site/site.js';
import { noAnswer, VIEW } from './call-api.js';
import { startElsewhere } from './elsewhere.js';
import { FEW_CASES, HOSTILE_CASES, type HostileCase } from './hostile-cases.js';
import { type TrialResult, tally } from './trial-result.js';

/**
 * Failures that are not the page's fault: its browser was lost with a neighbor's page, or none was free in time. The figures count them.
 */
const COLLATERAL = ['render_crashed', 'internal_error'];
const GRACE_MS = 5_000;
/** Full pages are scrolled outside the timeout, and ended by force 30 s after it (decisions.md, Jobs). */
const SCROLL_GRACE_MS = 30_000;
const P95_RATIO = 2;
/** The first captures of a server take longer: counted as "alone", they would hide how much the hostile pages slow others down. */
const WARM_UP = 20;

/**
 * @param options.cases `few` or `all`; `path` is a part of the paths, to try single ones; `alone` is the number of ordinary captures made
 * alone first, after those that warm the server up; judge 1: the ordinary capture's p95 is judged as well
 */
export async function run({
  timeout = 6_000,
  atOnce = 4,
  alone = 100,
  judge = 1,
  cases = 'all',
  path: part = '',
}): Promise<TrialResult> {
  const chosen = (cases === 'few' ? FEW_CASES : HOSTILE_CASES).filter(({ path }) => path.includes(part));
  await using site = await startSite({ host: '127.0.0.2' });
  await using elsewhere = await startElsewhere();
  await using server = await startServer({
    STILLFRAME_CONCURRENCY: String(atOnce + 1),
    STILLFRAME_SYNC_WAIT_MS: '120000',
  });
  const problems: string[] = [];
  const healthy = async (): Promise<number> => {
    const { status, data, ms } = await server.post({ ...VIEW, url: site.url('/article') });
    if (status !== 200) problems.push(`an ordinary capture ended ${status} ${JSON.stringify(data)}`);
    return ms;
  };
  const endOf = async (one: HostileCase) => {
    const name = `${one.path}${one.wish === undefined ? '' : ` ${JSON.stringify(one.wish)}`}`;
    const body = { ...VIEW, ...one.wish, url: `${elsewhere.origin}${one.path}`, timeout };
    const { status, ms, data } = await server.post(body).catch(noAnswer);
    const end = status === 200 ? 'ok' : String(data.code ?? status);
    const isExpected = one.ends.includes(end) || (cases !== 'few' && COLLATERAL.includes(end) && status !== 0);
    if (!isExpected) problems.push(`${name} ended ${end}: ${String(data.message ?? data.final_url)}`);
    const limit = timeout + (one.wish?.full_page === true ? SCROLL_GRACE_MS : 0) + GRACE_MS;
    if (ms > limit) problems.push(`${name} took ${Math.round(ms)} ms, ended ${end} ${JSON.stringify(data)}`);
    if (end === 'ok' && !/^(https?|data|blob):/.test(String(data.final_url)))
      problems.push(`${name} is a picture of ${data.final_url}`);
    // Pictures are checked when all captures have ended, so that this takes no processor time from them.
    return { name, end, ms, limit, picture: end === 'ok' && body.format === 'png' ? String(data.cdn_url) : null };
  };
  for (let nth = 0; nth < (judge === 1 ? WARM_UP : 0); nth++) await healthy();
  const [solo, beside]: [number[], number[]] = [[], []];
  const ended: Awaited<ReturnType<typeof endOf>>[] = [];
  for (let nth = 0; nth < alone; nth++) solo.push(await healthy());
  let over = false;
  const lanes = inLanes(chosen, atOnce, async (one) => void ended.push(await endOf(one))).finally(() => {
    over = true;
  });
  while (!over) beside.push(await healthy());
  await lanes;
  for (const { name, picture } of ended)
    if (picture !== null && (await isOneColor(picture)))
      problems.push(`${name}: a picture of one color is called a success`);
  if (readProcess(server.pid) === null) problems.push('the server is not the same process any more');
  const p50and95 = (times: number[]) =>
    `${Math.round(quantile(times, 0.5))} and ${Math.round(quantile(times, 0.95))} ms`;
  const ratio = quantile(beside, 0.95) / quantile(solo, 0.95);
  if (judge === 1 && ratio > P95_RATIO)
    problems.push(`an ordinary capture's p95 beside them is ${ratio.toFixed(2)} × that alone`);
  const slowest = ended.reduce((worst, one) => (one.ms > worst.ms ? one : worst));
  return {
    figures: {
      pages: ended.length,
      ends: tally(ended.map(({ end }) => end)),
      slowest: `${slowest.name}, ${Math.round(slowest.ms)} ms of ${slowest.limit}`,
      ordinary: beside.length,
      'ordinary alone, p50 and p95': p50and95(solo),
      'ordinary beside them, p50 and p95': p50and95(beside),
      'p95 ratio': ratio.toFixed(2),
      'server memory at the end': `${Math.round(server.memoryBytes() / 1e6)} MB`,
    },
    problems,
  };
}

async function isOneColor(url: string): Promise<boolean> {
  const content = Buffer.from(await (await fetch(url)).arrayBuffer());
  const { channels } = await sharp(content, { limitInputPixels: false }).removeAlpha().stats();
  return channels.every(({ min, max }) => min === max);
}
