import type { Settled } from '../in-page/settle.js';
import { monotonicNow } from '../monotonic-now.js';
import { TIMED_OUT } from './deadline.js';
import type { DocumentState } from './main-document.js';
import { FONTS_BUDGET_MS, LONG_POLL_AFTER_MS } from './network.js';
import type { OpenPage } from './open-page.js';
import { passTime } from './page-clock.js';
import { PageMoved } from './page-moved.js';

/** The page's time that passes from its load to its picture, and again after each later step. */
const RUN_MS = 2_000;
export const RUN_AGAIN_MS = 300;
/** More of it while numbers or places still change: counters often take 2 s and a little, the forces of D3 take 5 s by default. */
const COUNTING_MAX_MS = 3_200;
/** decisions.md, Capture semantics: `wait_for_idle` takes at most this long. */
const SETTLE_MAX_MS = 5_000;
/** A refresh within this time leads to the intended page. */
const SOON_S = 1;
const REFRESHES_FOLLOWED = 5;
/** A refresh that has not started this long after its time is ignored. */
const REFRESH_LATE_MS = 1_500;

interface Limit {
  over: AbortSignal;
  /** ms by `monotonicNow`. */
  endsAt: number;
}

/**
 * The time-limited settling of `wait_for_idle`: lets time pass on the page's clock, then waits for fonts and images in the viewport. A page
 * without scripts and pending loads takes only two frames. Never fails a capture; rejects only if the capture must stop.
 *
 * @param ms of the page's time
 */
export async function settle(page: OpenPage, ms = RUN_MS): Promise<void> {
  const { deadlines } = page;
  const maxMs = Math.min(SETTLE_MAX_MS, deadlines.leftMs());
  const over = AbortSignal.timeout(maxMs);
  await deadlines.within(settleUntil(page, ms, { over, endsAt: monotonicNow() + maxMs }), maxMs);
}

async function settleUntil(page: OpenPage, ms: number, limit: Limit): Promise<void> {
  const { main, network } = page;
  let stayed: DocumentState | null = null;
  let ran: DocumentState | null = null;
  while (!limit.over.aborted) {
    const shown = main.current;
    const first = await ask(page, limit, true);
    const afterS = first === null || shown === null || shown === stayed ? null : leavesAfterS(first, shown);
    if (shown !== null && afterS !== null) {
      if (!(await leaves(page, shown, afterS))) stayed = shown;
      continue;
    }
    const rests = first?.inert === true && !main.navigating && network.isIdle();
    if (rests) return;
    await run(page, ran === shown ? RUN_AGAIN_MS : ms, limit);
    ran = shown;
    const last = await ask(page, limit, false);
    if (last !== null && last.backgrounds.length > 0) {
      await network.ended(last.backgrounds, limit.over);
      continue;
    }
    const isAtRest = network.talk() !== null || network.isIdle(LONG_POLL_AFTER_MS);
    if (last !== null && main.current === shown && !main.navigating && isAtRest) return;
    if (last === null) await main.until(() => main.current !== shown);
    if (main.navigating) await main.until(() => !main.navigating);
    await main.until(() => main.current?.loaded === true || main.current?.failure !== null);
  }
}

/** Lets time pass on the page's clock, and more while something counts. */
async function run(page: OpenPage, ms: number, { endsAt }: Limit): Promise<void> {
  const leftMs = () => Math.max(0, endsAt - monotonicNow());
  try {
    await passTime(page, ms, { realMs: leftMs() });
    for (let more = 0; more < COUNTING_MAX_MS && leftMs() > 0 && (await isCounting(page, leftMs())); more += RUN_AGAIN_MS)
      await passTime(page, RUN_AGAIN_MS, { realMs: leftMs() });
  } catch (error) {
    if (!(error instanceof PageMoved)) throw error;
  }
}

async function isCounting({ world, deadlines }: OpenPage, ms: number): Promise<boolean> {
  return (await deadlines.within(world.call('settlement.isCounting'), ms)) === true;
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
