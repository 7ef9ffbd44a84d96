import type { Browser } from 'playwright-core';
import { builtFile } from '../../../src/package-files.js';
import { PdfFiles } from '../../../src/pdf/pdf-files.js';
import { Deadlines, monotonicNow } from '../../../src/render/deadlines.js';
import { EncodeQueue } from '../../../src/render/memory.js';
import { ClockTotal, NetworkTracker } from '../../../src/render/page/open-page.js';
import type { TimedPage } from '../../../src/render/page/page-clock.js';
import type { PageSession } from '../../../src/render/page-session.js';
import { scrollToElement } from '../../../src/render/picture/element-picture.js';
import { type ScrollReport, scrollThrough } from '../../../src/render/picture/full-page.js';
import type { Picture } from '../../../src/render/picture/region-picture.js';
import { groupPictures, stopForPictures, takePicture } from '../../../src/render/picture/take-picture.js';
import { aPageSession, options } from './a-page-session.js';

export interface Taken extends Picture {
  scroll: ScrollReport | null;
}

/** A page with this HTML, captured from beginning to end as a render does. */
export async function take(
  browser: Browser,
  html: string,
  wire: Record<string, unknown>,
  budget: {
    scrollMs?: number;
    pictureMs?: number;
    routes?: Record<string, string>;
    onEvents?: (names: string[]) => void;
  } = {},
): Promise<Taken> {
  const wanted = options({ viewport: { width: 800, height: 600, deviceScaleFactor: 1 }, format: 'png', ...wire });
  await using session = await aPageSession(browser, { html, options: wanted });
  using deadlines = new Deadlines({ timeout: 300_000, delay: 0 }, [session.lost]);
  const page = timedPage(session, deadlines);
  const waitForIdle = () =>
    session.page.evaluate(() => new Promise<void>((resolve) => requestAnimationFrame(() => resolve())));
  const [group] = groupPictures([{ name: null, all: null, options: wanted }]);
  if (group === undefined) throw new Error('no picture');
  const scrollWith = { deadline: monotonicNow() + (budget.scrollMs ?? 90_000), waitForIdle };
  const scroll = group.scrolls ? await scrollThrough(page, group.options, scrollWith) : null;
  await scrollToElement(page, wanted, { deadline: monotonicNow() + 90_000, waitForIdle });
  const deadline = monotonicNow() + (budget.pictureMs ?? 240_000);
  await stopForPictures(page, group, deadline);
  const events = budget.onEvents === undefined ? null : await watchLayout(session);
  const picture = await takePicture(page, wanted, {
    deadline,
    scroll,
    encodes: new EncodeQueue(builtFile('picture-thread.js')),
    pdfs: new PdfFiles(builtFile('pdf-thread.js')),
  });
  if (events !== null) budget.onEvents?.(await events());
  return { ...picture, scroll };
}

/** The parts of an open page with which a picture is taken. */
export function timedPage(session: PageSession, deadlines: Deadlines): TimedPage {
  return {
    session,
    deadlines,
    world: session.world,
    realTime: false,
    reportsSize: true,
    held: false,
    network: new NetworkTracker(session),
    clock: new ClockTotal(),
  };
}

/** Notes, in a world of its own, what a page is told of its layout. */
async function watchLayout({ cdp, mainFrameId: frameId }: PageSession): Promise<() => Promise<string[]>> {
  const { executionContextId: contextId } = await cdp.send('Page.createIsolatedWorld', { frameId, worldName: 'watch' });
  const run = async (expression: string) =>
    (await cdp.send('Runtime.evaluate', { expression, contextId, awaitPromise: true, returnByValue: true })).result
      .value;
  const events = ['resize', 'transitionrun', 'animationstart'].map(
    (name) => `addEventListener('${name}', () => seen.push('${name}'), true);`,
  );
  const queries = [320, 500, 768, 992, 1_280].map(
    (width) => `matchMedia('(min-width: ${width}px)').addEventListener('change', () => seen.push('${width} px'));`,
  );
  await run(`globalThis.seen = []; ${events.join('')}${queries.join('')}`);
  return async () =>
    await run('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(seen))))');
}
