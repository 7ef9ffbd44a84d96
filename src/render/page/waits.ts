/** The waits of a loaded page: for its clock, its fonts and images, its content, an element, and style sheets that hang. */

import { CaptureError } from '../../contract/capture-error.js';
import type { Readiness } from '../in-page/readiness.js';
import { monotonicNow, TIMED_OUT } from './deadline.js';
import type { DocumentState } from './main-document.js';
import { FONTS_BUDGET_MS, LONG_POLL_AFTER_MS } from './network.js';
import type { OpenPage } from './open-page.js';
import { advanceTime } from './page-clock.js';
import { DocumentReplaced } from './world.js';

/** The page's time between its load and its picture, and again after each later step, in ms. */
const ADVANCE_MS = 2_000;
export const ADVANCE_AGAIN_MS = 300;
/**
 * The additional time while numbers or positions still change, in ms. Counters often take just over 2 s, and D3's force
 * simulations 5 s by default.
 */
const COUNTING_MAX_MS = 3_200;
/** The time limit of `wait_for_idle` (decisions.md, Capture semantics). */
const IDLE_MAX_MS = 5_000;
/** Loaded files may load others, as a style sheet loads fonts. */
const ASSET_ROUNDS = 3;
/** The real time between two runs of a clock that is otherwise held. */
const TICK_MS = 50;
/** A refresh within this time leads to the intended page. */
const SOON_S = 1;
const REFRESHES_FOLLOWED = 5;
/** A refresh that has not started this long after its time is ignored. */
const REFRESH_LATE_MS = 1_500;

/** The result of `asked`, or null if the document is replaced meanwhile. */
async function unlessReplaced<T>(asked: Promise<T>): Promise<T | null> {
  return await asked.catch((error: unknown) => {
    if (error instanceof DocumentReplaced) return null;
    throw error;
  });
}

/**
 * Implements `wait_for_idle`, within a time limit: advances the page's clock, then waits for fonts and images in the
 * viewport. A page without scripts and pending loads takes only two frames. Rejects only if the capture must stop.
 * @param ms of the page's time
 */
export async function waitForIdle(page: OpenPage, ms = ADVANCE_MS): Promise<void> {
  const maxMs = Math.min(IDLE_MAX_MS, page.deadlines.leftMs());
  await page.deadlines.withTimeout(waitUntilIdle(page, ms, monotonicNow() + maxMs), maxMs);
}

/** Waits for the requests, fonts and images in view of a page whose time does not pass. Rejects only if the capture must stop. */
export async function waitForAssets(page: OpenPage): Promise<void> {
  const endsAt = monotonicNow() + Math.min(IDLE_MAX_MS, page.deadlines.leftMs());
  const leftMs = () => Math.max(1, endsAt - monotonicNow());
  for (let round = 0; round < ASSET_ROUNDS; round++) {
    await page.deadlines.orEnd(page.network.answered(AbortSignal.timeout(leftMs())));
    await checkReadiness(page, leftMs(), false);
    if (page.network.isIdle()) return;
  }
}

/** Advances a held page's clock until `work` ends. */
export async function whileTimePasses<T>(page: OpenPage, work: Promise<T>): Promise<T> {
  let isOver = !page.held;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  const { deadlines } = page;
  while (!isOver && deadlines.leftMs() > 0 && !deadlines.signal.aborted) {
    await unlessReplaced(advanceTime(page, CHECK_EVERY_MS, { realMs: Math.max(1, deadlines.leftMs()), holds: false }));
    await Promise.race([work.catch(() => undefined), deadlines.sleep(TICK_MS)]);
  }
  return await work;
}

async function waitUntilIdle(page: OpenPage, ms: number, endsAt: number): Promise<void> {
  const { main, network } = page;
  const leftMs = () => Math.max(0, endsAt - monotonicNow());
  let stayed: DocumentState | null = null;
  let ran: DocumentState | null = null;
  while (leftMs() > 0) {
    const shown = main.current;
    const first = await checkReadiness(page, leftMs(), true);
    const refreshS = first === null || shown === null || shown === stayed ? null : refreshDelayS(first, shown);
    if (shown !== null && refreshS !== null) {
      if (!(await navigatesAway(page, shown, refreshS))) stayed = shown;
      continue;
    }
    if (first?.inert === true && !main.navigating && network.isIdle()) return;
    await unlessReplaced(advance(page, ran === shown ? ADVANCE_AGAIN_MS : ms, leftMs));
    ran = shown;
    const last = await checkReadiness(page, leftMs(), false);
    if (last !== null && last.backgrounds.length > 0) {
      await network.urlsEnded(last.backgrounds, AbortSignal.timeout(leftMs()));
      continue;
    }
    const isAtRest = network.realTimeReason() !== null || network.isIdle(LONG_POLL_AFTER_MS);
    if (last !== null && main.current === shown && !main.navigating && isAtRest) return;
    if (last === null) await main.until(() => main.current !== shown);
    await main.until(() => !main.navigating && (main.current?.loaded === true || main.current?.failure !== null));
  }
}

/** Advances the page's clock, and further while a counter runs. */
async function advance(page: OpenPage, ms: number, leftMs: () => number): Promise<void> {
  const isCounting = async () => (await page.deadlines.withTimeout(page.world.call('readiness.isCounting'), leftMs())) === true;
  await advanceTime(page, ms, { realMs: leftMs() });
  for (let more = 0; more < COUNTING_MAX_MS && leftMs() > 0 && (await isCounting()); more += ADVANCE_AGAIN_MS)
    await advanceTime(page, ADVANCE_AGAIN_MS, { realMs: leftMs() });
}

/** Seconds until the page's refresh; null if it has none, or has followed too many. */
function refreshDelayS({ refreshAfterS }: Readiness, { number, response }: DocumentState): number | null {
  const soonest = Math.min(refreshAfterS ?? Number.POSITIVE_INFINITY, refreshHeaderS(response?.headers.refresh ?? ''));
  return soonest <= SOON_S && number <= REFRESHES_FOLLOWED ? soonest : null;
}

/** Seconds of a `Refresh` header; infinite for one without a URL, which only reloads the page. */
export function refreshHeaderS(header: string): number {
  return Number.parseFloat(/^\s*([\d.]+)(?:\s*[;,]|\s)\s*\S/.exec(header)?.[1] ?? 'Infinity');
}

/**
 * Waits for the next document.
 * @returns false if the refresh leads to another program, or to no content
 */
async function navigatesAway({ main, deadlines }: OpenPage, shown: DocumentState, afterS: number): Promise<boolean> {
  const begins = main.until(() => main.navigating || main.current !== shown);
  if ((await deadlines.withTimeout(begins, afterS * 1_000 + REFRESH_LATE_MS)) === TIMED_OUT) return false;
  await main.until(() => !main.navigating && (main.current === shown || main.current?.loaded === true));
  return main.current !== shown;
}

/** @returns null if the page has navigated meanwhile */
async function checkReadiness({ world, network, deadlines }: OpenPage, leftMs: number, first: boolean): Promise<Readiness | null> {
  const pending = network.pending();
  const oldestFont = Math.min(...pending.filter(({ kind }) => kind === 'font').map(({ startedAt }) => startedAt));
  const budgets = {
    first,
    imagesInFlight: pending.filter(({ kind }) => kind === 'image').map(({ url }) => url),
    fontsMs: Math.max(0, Math.min(leftMs, FONTS_BUDGET_MS, oldestFont + FONTS_BUDGET_MS - performance.now())),
    imagesMs: leftMs,
  };
  try {
    const readiness = await deadlines.withTimeout(world.call('readiness.waitForAssets', budgets), leftMs);
    return readiness === TIMED_OUT ? null : readiness;
  } catch (error) {
    // A page can break its own DOM so that it cannot be checked. It is captured in its current state.
    const isOver = error instanceof DocumentReplaced || deadlines.signal.aborted;
    return isOver ? null : { inert: false, refreshAfterS: null, backgrounds: [] };
  }
}

/** The page's time between two checks of its content, in ms. */
const CHECK_EVERY_MS = 200;
/** The real time that a request may hold the clock at each check, in ms. */
const HOLD_MAX_MS = 1_000;
/** The part of the budget reserved for the checks that follow. */
const RESERVE_MS = 1_000;
/** A page with little content, no loading message and an idle network counts as complete after this much of it. */
const SMALL_COMPLETE_MS = 3_000;
/** A page counts as complete after this much of its time without growth. */
const COMPLETE_MS = 1_000;
/** The page's time for showing the result of its last request. */
const SHOWS_RESULT_MS = 1_000;

/**
 * Implements `wait_for_content`: waits, within the budget, while the page looks like a loading shell or its text still
 * grows. Never fails the capture; that is up to `fail_if_incomplete`.
 */
export async function waitForContent(page: OpenPage): Promise<void> {
  const { deadlines, main, network, world } = page;
  let time = 0;
  let busyAt = 0;
  let grownAt = 0;
  /** The maximum number of characters so far: text that is typed and deleted repeatedly grows only once. */
  let most: number | null = null;
  while (deadlines.leftMs() > RESERVE_MS) {
    const shown = main.current;
    const asked = deadlines.withTimeout(world.call('content.inspect'), deadlines.leftMs() - RESERVE_MS);
    const look = await unlessReplaced(asked);
    if (!network.isIdle()) busyAt = time;
    if (look === null || look === TIMED_OUT || main.current !== shown) most = null;
    else {
      if (most === null || look.text > most) {
        most = look.text;
        grownAt = time;
      }
      if (look.seen === null && time - grownAt >= COMPLETE_MS) return;
      const isSmall = look.seen === 'almost no visible text' && time - busyAt > SHOWS_RESULT_MS;
      if (isSmall && time - grownAt > SMALL_COMPLETE_MS) return;
    }
    const ms = Math.min(CHECK_EVERY_MS, deadlines.leftMs());
    const began = monotonicNow();
    const run = await unlessReplaced(advanceTime(page, ms, { realMs: Math.max(ms, Math.min(HOLD_MAX_MS, deadlines.leftMs())) }));
    time += run === null ? monotonicNow() - began : run.aheadMs + run.realTimeMs;
  }
}

/**
 * Waits until a matching element is visible, even across navigations.
 * @param selector valid (`checkSelectors`)
 * @throws CaptureError render_timeout
 */
export async function waitForSelector({ main, world, deadlines }: OpenPage, selector: string): Promise<void> {
  for (;;) {
    const before = main.current;
    const seen = unlessReplaced(world.call('element.untilVisible', selector).then(() => true));
    const visible = await deadlines.withTimeout(seen, deadlines.leftMs());
    if (visible === true) return;
    const moved = main.until(() => main.current !== before);
    if (visible === TIMED_OUT || (await deadlines.withTimeout(moved, deadlines.leftMs())) === TIMED_OUT) break;
  }
  const hint = selector.includes('>>>') ? ' Closed shadow trees and frames of another origin are not searched.' : '';
  throw new CaptureError({
    code: 'render_timeout',
    message: `\`wait_for_selector\`: no visible element matched "${selector}" within \`timeout\` (${deadlines.timeout} ms).${hint}`,
    details: { waited_for: 'selector', selector },
  });
}

/** A style sheet that has not loaded after this time counts as stalled. */
const SHEET_HANGS_AFTER_MS = 5_000;
/** The time limit for the page to paint. */
const FRAME_MAX_MS = 1_000;
const STOP_MAX_MS = 500;

/**
 * Chromium does not paint a page whose head waits for a style sheet. Waits for it within the budget; if it stalls, stops
 * loading, so that the page can be captured without it. Does nothing if the page has loaded, or paints.
 * @throws DocumentReplaced
 */
export async function dropStalledStyleSheets({ session, main, network, world, deadlines }: OpenPage, shown: DocumentState): Promise<void> {
  while (main.current === shown && !shown.loaded) {
    const sheets = network.pending().filter(({ kind }) => kind === 'stylesheet');
    if (sheets.length === 0) return;
    // A page that is too busy to respond is delayed by its scripts, not by a style sheet.
    if ((await deadlines.withTimeout(world.call('frames.passFrames', 1, FRAME_MAX_MS), 2 * FRAME_MAX_MS)) !== false) return;
    const stalledSince = performance.now() - SHEET_HANGS_AFTER_MS;
    if (deadlines.leftMs() > 0 && sheets.some(({ startedAt }) => startedAt > stalledSince)) continue;
    await deadlines.withTimeout(session.cdp.send('Page.stopLoading'), STOP_MAX_MS);
    return;
  }
}
