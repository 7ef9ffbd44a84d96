/**
 * Trial "still": the fidelity pages, captured again and again beside four busy loops: one distinct picture each, by its pixels. With
 * `--pages DIR`, a directory of pages that each tell in `#o` how far they have come (pages.mjs exports P and WANT, server.mjs `start`), all of
 * them end as they should in each browser of this machine, with frames on demand and without, but for two, and none hangs. `--libs DIR` has
 * the packages that they use.
 *
 * Sabotage that turns it red: return early from `stopPage` in page/page-clock.ts, or from `advanceTime` in page/page-clock.ts (the second part).
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import sharp from 'sharp';
import type { Inspection } from '../../src/contract/capture-data.js';
import type { Executable } from '../../src/render/launch/executable.js';
import type { PageSession } from '../../src/render/page-session.js';
import { INVENTED_PAGES } from '../fixtures/invented-pages.js';
import { html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { EACH_KIND } from '../render/install/any-browser.js';
import { type CaptureRig, openRig } from '../render/page/capture-rig.js';
import { firstOf, type TrialResult, tally } from './trial-result.js';

const BUSY_LOOP = 'const { ppid } = process; while (process.ppid === ppid);';
const TIMEOUT_MS = 60_000;
const ENDINGS_TIMEOUT_MS = 20_000;
const GRACE_MS = 5_000;
const UNENDED_MAX = 2;

/** The fixture site's own and the invented ones, as they are and whole. */
export const FIDELITY_PAGES = [
  '/article',
  '/shop',
  '/app-shell',
  '/static',
  '/sticky',
  '/boxes',
  '/fonts',
  '/frames',
  ...INVENTED_PAGES.map((_, nth) => `/invented/${nth}`),
  '/long?px=5000',
].flatMap((path) => [
  { name: path, path, wish: {} },
  { name: `${path}, whole`, path, wish: { full_page: true } },
]);

/** @param options.times captures of each page, beside so many busy loops; `only` is a part of the names of the fidelity pages */
export async function run(options: {
  times?: number;
  loops?: number;
  only?: string;
  pages?: string;
  libs?: string;
}): Promise<TrialResult> {
  const { times = 100, loops = 4, only = '', pages, libs } = options;
  await using site = await startSite({ host: '127.0.0.2' });
  await using rig = await openRig({ framesOnDemand: true });
  for (const [nth, page] of INVENTED_PAGES.entries())
    site.route(`/invented/${nth}`, (_, response) => html(response, page.html));
  const wanted = FIDELITY_PAGES.filter(({ name }) => name.includes(only));
  const problems: string[] = [];
  let different = 0;
  const busy = firstOf(loops).map(() => spawn(process.execPath, ['-e', BUSY_LOOP], { stdio: 'ignore' }));
  try {
    for (const { name, path, wish } of wanted) {
      const seen: string[] = [];
      for (let time = 0; time < times; time++) {
        const hash = await pictured(rig, site.url(path), wish).catch(
          (error: unknown) => void problems.push(`${name}: ${error}`),
        );
        if (hash !== undefined) seen.push(hash);
      }
      process.stderr.write(`${name}: ${seen.length} captures, ${new Set(seen).size} distinct\n`);
      if (new Set(seen).size <= 1) continue;
      different++;
      problems.push(`${name}: ${new Set(seen).size} distinct pictures: ${tally(seen)}`);
    }
  } finally {
    for (const loop of busy) loop.kill('SIGKILL');
  }
  const figures = {
    'fidelity pages': wanted.length,
    'captures of each': times,
    'pages with more than one picture': different,
  };
  if (pages === undefined)
    return { figures: { ...figures, 'pages that tell how they end': 'absent: give --pages' }, problems };
  const endings = await judgeEndings(resolve(pages), libs);
  return { figures: { ...figures, ...endings.figures }, problems: [...problems, ...endings.problems] };
}

/** A hash of the pixels, and whether the picture was cut because the page took too long to be scrolled through. */
async function pictured(rig: CaptureRig, url: string, wish: Record<string, unknown>): Promise<string> {
  const { content, diagnostics } = await rig.capture(url, { timeout: TIMEOUT_MS, ...wish });
  const { data, info } = await sharp(content).raw().toBuffer({ resolveWithObject: true });
  const hash = createHash('sha256').update(`${info.width} ${info.height} `).update(data).digest('hex').slice(0, 8);
  return diagnostics.stoppedReason === 'time_limit' ? `${hash} (cut at ${info.height} px: time limit)` : hash;
}

async function judgeEndings(dir: string, libs: string | undefined): Promise<TrialResult> {
  // Their server looks there as it is loaded.
  if (libs !== undefined) process.env.LIBS = resolve(libs);
  const load = (file: string) => import(pathToFileURL(join(dir, file)).href);
  const { P, WANT } = (await load('pages.mjs')) as { P: unknown; WANT: Record<string, RegExp> };
  const { start } = (await load('server.mjs')) as { start(pages: unknown): Promise<import('node:http').Server> };
  const server = await start(P);
  const { port } = server.address() as { port: number };
  const figures: Record<string, string> = {};
  const problems: string[] = [];
  for (const { executable, framesOnDemand, name: way } of EACH_KIND.flatMap(waysToDraw)) {
    let shown = '';
    const inspect = async (session: PageSession): Promise<Inspection> => {
      shown = await outcome(session);
      return { markdown: '', accessibleTree: '' };
    };
    await using rig = await openRig({ executable, framesOnDemand, inspect, allow: ['127.0.0.1', 'localhost'] });
    const unended: string[] = [];
    for (const [name, wanted] of Object.entries(WANT)) {
      shown = '';
      const began = performance.now();
      await rig
        .capture(`http://127.0.0.1:${port}/${name}`, { timeout: ENDINGS_TIMEOUT_MS, inspect_page: true })
        .catch((error: unknown) => (shown = String(error)));
      if (!wanted.test(shown)) unended.push(`${name} (${shown.slice(0, 80)})`);
      if (performance.now() - began > ENDINGS_TIMEOUT_MS + GRACE_MS) problems.push(`${way}: ${name} hangs`);
    }
    const count = Object.keys(WANT).length;
    figures[`${way}: pages that end as they should`] = `${count - unended.length} of ${count}`;
    if (unended.length > UNENDED_MAX) problems.push(`${way}: unfinished: ${unended.join('; ')}`);
    else if (unended.length > 0) figures[`${way}: unfinished`] = unended.join('; ');
  }
  server.closeAllConnections();
  server.close();
  return { figures, problems };
}

/** A browser that can draw on demand is tried in both ways: STILLFRAME_FRAMES=false has it draw by itself. */
function waysToDraw(executable: Executable) {
  const byItself = { executable, framesOnDemand: false, name: executable.kind };
  if (executable.drawsOnDemand !== true) return [byItself];
  return [{ ...byItself, framesOnDemand: true, name: `${executable.kind}, frames on demand` }, byItself];
}

/** The page is stopped by now: its document is read by the protocol. */
async function outcome({ cdp }: PageSession): Promise<string> {
  const { root } = await cdp.send('DOM.getDocument', { depth: 0 });
  const { nodeId } = await cdp.send('DOM.querySelector', { nodeId: root.nodeId, selector: '#o' });
  const { outerHTML } = await cdp.send('DOM.getOuterHTML', { nodeId });
  return outerHTML.replace(/<[^>]*>/g, '');
}
