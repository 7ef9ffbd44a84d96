import type { Settled } from '../in-page/settle.js';
import { monotonicNow } from '../monotonic-now.js';
import { TIMED_OUT } from './deadline.js';
import type { DocumentState } from './main-document.js';
import { FONTS_BUDGET_MS, LONG_POLL_AFTER_MS, QUIET_MS } from './network.js';
import type { OpenPage } from './open-page.js';
import { PageMoved } from './page-moved.js';

/** decisions.md, Capture semantics: `wait_for_idle` takes at most this long. */
const SETTLE_MAX_MS = 5_000;
const STILL_MAX_MS = 1_000;
/** A refresh within this time leads to the intended page. */
const SOON_S = 1;
const REFRESHES_FOLLOWED = 5;
/** A refresh that has not started this long after its time is ignored. */
const REFRESH_LATE_MS = 1_500;

/**
 * The time-limited settling of `wait_for_idle`: idle network, fonts, images in the viewport, two frames without layout change. A page
 * without scripts and pending loads takes only two frames. Never fails a capture; rejects only if the capture must stop.
 *
 * @param meanwhile called for each wait
 */
export async function settle(page: OpenPage, meanwhile: Meanwhile = NOTHING): Promise<void> {
  const { deadlines } = page;
  const maxMs = Math.min(SETTLE_MAX_MS, deadlines.leftMs());
  const over = AbortSignal.timeout(maxMs);
  await deadlines.within(settleUntil(page, { over, endsAt: monotonicNow() + maxMs, meanwhile }), maxMs);
}

/** Work to do while waiting for a page. */
export interface Meanwhile {
  /**
   * Called when a wait begins.
   *
   * @param how.rests the page cannot change by itself, or its network has long been idle: the wait is for two frames only
   */
  begin(how: { rests: boolean }): void;
  /** Called when the network has become idle. @returns whether the page is known to have settled, so that no further checks are needed */
  holds(): Promise<boolean>;
}

const NOTHING: Meanwhile = { begin() {}, holds: async () => false };

interface Limit {
  over: AbortSignal;
  /** ms by `monotonicNow`. */
  endsAt: number;
  meanwhile: Meanwhile;
}

async function settleUntil(page: OpenPage, limit: Limit): Promise<void> {
  const { main, network } = page;
  let stayed: DocumentState | null = null;
  while (!limit.over.aborted) {
    const shown = main.current;
    const first = await ask(page, limit, true);
    const afterS = first === null || shown === null || shown === stayed ? null : leavesAfterS(first, shown);
    if (shown !== null && afterS !== null) {
      if (!(await leaves(page, shown, afterS))) stayed = shown;
      continue;
    }
    const rests = first !== null && !main.navigating && (first.inert ? network.isIdle() : network.isQuiet(QUIET_MS));
    limit.meanwhile.begin({ rests });
    if (!rests) {
      await untilQuiet(page, limit);
      if (!limit.over.aborted && (await limit.meanwhile.holds())) return;
    }
    const last = await ask(page, limit, false);
    if (rests && first.inert) return;
    if (last !== null && last.backgrounds.length > 0) {
      await network.ended(last.backgrounds, limit.over);
      continue;
    }
    if (last !== null && main.current === shown && !main.navigating && network.isIdle(LONG_POLL_AFTER_MS)) return;
    if (last === null) await main.until(() => main.current !== shown);
    if (main.navigating) await main.until(() => !main.navigating);
    await main.until(() => main.current?.loaded === true || main.current?.failure !== null);
  }
}

/** Long polls stay open, but a page that still looks like a loading shell is waited for. */
async function untilQuiet({ network, world, deadlines }: OpenPage, { over, endsAt }: Limit): Promise<void> {
  await network.quiet(QUIET_MS, over, LONG_POLL_AFTER_MS);
  if (over.aborted || network.isIdle()) return;
  const look = await deadlines.within(world.call('content.look'), endsAt - monotonicNow()).catch((): typeof TIMED_OUT => TIMED_OUT);
  if (look === TIMED_OUT || look.seen !== null) await network.quiet(QUIET_MS, over);
}

/** Seconds until the page's refresh; null if it has none, or has followed too many. */
function leavesAfterS({ refreshAfterS }: Settled, { number, response }: DocumentState): number | null {
  const soonest = Math.min(refreshAfterS ?? Number.POSITIVE_INFINITY, refreshHeaderS(response?.headers.refresh ?? ''));
  return soonest <= SOON_S && number <= REFRESHES_FOLLOWED ? soonest : null;
}

/** Seconds of a `Refresh` header; infinite for one without a URL, which only reloads the page. */
export function refreshHeaderS(header: string): number {
  return Number.parseFloat(/^\s*([\d.]+)(?:\s*[;,]|\s)\s*\S/.exec(header)?.[1] ?? 'Infinity');
}

/** Waits for the next document; false if the refresh leads to another program, or to no content. */
async function leaves({ main, deadlines }: OpenPage, shown: DocumentState, afterS: number): Promise<boolean> {
  const begins = main.until(() => main.navigating || main.current !== shown);
  if ((await deadlines.within(begins, afterS * 1_000 + REFRESH_LATE_MS)) === TIMED_OUT) return false;
  await main.until(() => !main.navigating && (main.current === shown || main.current?.loaded === true));
  return main.current !== shown;
}

/** @returns null if the page has navigated in the meantime */
async function ask({ world, network, deadlines }: OpenPage, limit: Limit, isFirst: boolean): Promise<Settled | null> {
  const leftMs = Math.max(0, limit.endsAt - monotonicNow());
  const pending = network.pending();
  const oldestFont = Math.max(0, ...pending.filter(({ kind }) => kind === 'font').map(({ ageMs }) => ageMs));
  const budgets = {
    first: isFirst,
    imagesInFlight: pending.filter(({ kind }) => kind === 'image').map(({ url }) => url),
    fontsMs: Math.min(leftMs, Math.max(0, FONTS_BUDGET_MS - oldestFont)),
    imagesMs: leftMs,
    stillMs: Math.min(leftMs, STILL_MAX_MS),
    countingMs: leftMs,
  };
  try {
    const settled = await deadlines.within(world.call('settlement.settle', budgets), leftMs);
    return settled === TIMED_OUT ? null : settled;
  } catch (error) {
    if (error instanceof PageMoved) return null;
    // A page can break its own DOM so that it cannot be checked; it is captured in its current state.
    return deadlines.signal.aborted ? null : { inert: false, refreshAfterS: null, backgrounds: [] };
  }
}
