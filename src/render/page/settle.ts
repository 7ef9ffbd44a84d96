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
/** A refresh that comes this soon leads to the page that is meant. */
const SOON_S = 1;
const REFRESHES_FOLLOWED = 5;
/** One that has not begun so long after its time leads nowhere. */
const REFRESH_LATE_MS = 1_500;

/**
 * The bounded extra settlement of `wait_for_idle`: quiet network, fonts, images in view, two frames without layout change. A page that
 * runs no script and waits for nothing pays two frames. Never fails a capture; rejects only when the capture must stop.
 *
 * @param meanwhile gets the wait for a quiet network, of which there may be several
 */
export async function settle(page: OpenPage, meanwhile: Meanwhile = NOTHING): Promise<void> {
  const { deadlines } = page;
  const maxMs = Math.min(SETTLE_MAX_MS, deadlines.leftMs());
  const over = AbortSignal.timeout(maxMs);
  await deadlines.within(settleUntil(page, { over, endsAt: monotonicNow() + maxMs, meanwhile }), maxMs);
}

/** What makes use of the time in which a page is only waited for. */
export interface Meanwhile {
  /** The wait for a quiet network begins. */
  begin(): void;
  /** Asked when it is over. @returns whether the page is known to be settled, so that nothing more of it is asked */
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
    if (first?.inert === true && network.isIdle() && !main.navigating) return;
    limit.meanwhile.begin();
    await untilQuiet(page, limit);
    if (!limit.over.aborted && (await limit.meanwhile.holds())) return;
    const last = await ask(page, limit, false);
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

/** A long poll is as open as ever; a page that looks as though its content were still to come is waited for. */
async function untilQuiet({ network, world, deadlines }: OpenPage, { over, endsAt }: Limit): Promise<void> {
  await network.quiet(QUIET_MS, over, LONG_POLL_AFTER_MS);
  if (over.aborted || network.isIdle()) return;
  const look = await deadlines.within(world.call('content.look'), endsAt - monotonicNow()).catch((): typeof TIMED_OUT => TIMED_OUT);
  if (look === TIMED_OUT || look.seen !== null) await network.quiet(QUIET_MS, over);
}

/** Seconds; null when it does not, or has led to others too often. */
function leavesAfterS({ refreshAfterS }: Settled, { number, response }: DocumentState): number | null {
  // One that names no other page only keeps this one fresh.
  const byHeader = /^\s*([\d.]+)\s*[;,\s]\s*\S/.exec(response?.headers.refresh ?? '')?.[1];
  const soonest = Math.min(refreshAfterS ?? Number.POSITIVE_INFINITY, Number.parseFloat(byHeader ?? 'Infinity'));
  return soonest <= SOON_S && number <= REFRESHES_FOLLOWED ? soonest : null;
}

/** Whether it comes to another document, which is waited for; the way may lead to another program, or to no content. */
async function leaves({ main, deadlines }: OpenPage, shown: DocumentState, afterS: number): Promise<boolean> {
  const begins = main.until(() => main.navigating || main.current !== shown);
  if ((await deadlines.within(begins, afterS * 1_000 + REFRESH_LATE_MS)) === TIMED_OUT) return false;
  await main.until(() => !main.navigating && (main.current === shown || main.current?.loaded === true));
  return main.current !== shown;
}

/** @returns null when the page went elsewhere meanwhile */
async function ask({ world, network, deadlines }: OpenPage, limit: Limit, inertOnly: boolean): Promise<Settled | null> {
  const leftMs = Math.max(0, limit.endsAt - monotonicNow());
  const pending = network.pending();
  const oldestFont = Math.max(0, ...pending.filter(({ kind }) => kind === 'font').map(({ ageMs }) => ageMs));
  const budgets = {
    inertOnly,
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
    // A page can break its own DOM in ways that stop our looking; it is captured as it stands.
    return deadlines.signal.aborted ? null : { inert: false, refreshAfterS: null, backgrounds: [] };
  }
}
