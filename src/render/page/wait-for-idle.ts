import type { Readiness } from '../in-page/readiness.js';
import { monotonicNow } from '../monotonic-now.js';
import { TIMED_OUT } from './deadline.js';
import { DocumentReplaced } from './document-replaced.js';
import type { DocumentState } from './main-document.js';
import { FONTS_BUDGET_MS, LONG_POLL_AFTER_MS } from './network.js';
import type { OpenPage } from './open-page.js';
import { advanceTime } from './page-clock.js';

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
/** A refresh within this time leads to the intended page. */
const SOON_S = 1;
const REFRESHES_FOLLOWED = 5;
/** A refresh that has not started this long after its time is ignored. */
const REFRESH_LATE_MS = 1_500;

interface Limit {
  over: AbortSignal;
  /** When the limit is reached, in ms by `monotonicNow`. */
  endsAt: number;
}

/**
 * Implements `wait_for_idle`, within a time limit: advances the page's clock, then waits for fonts and images in the
 * viewport. A page without scripts and pending loads takes only two frames. Rejects only if the capture must stop.
 * @param ms of the page's time
 */
export async function waitForIdle(page: OpenPage, ms = ADVANCE_MS): Promise<void> {
  const { deadlines } = page;
  const maxMs = Math.min(IDLE_MAX_MS, deadlines.leftMs());
  const over = AbortSignal.timeout(maxMs);
  await deadlines.withTimeout(waitUntilIdle(page, ms, { over, endsAt: monotonicNow() + maxMs }), maxMs);
}

async function waitUntilIdle(page: OpenPage, ms: number, limit: Limit): Promise<void> {
  const { main, network } = page;
  let stayed: DocumentState | null = null;
  let ran: DocumentState | null = null;
  while (!limit.over.aborted) {
    const shown = main.current;
    const first = await checkReadiness(page, limit, true);
    const afterS = first === null || shown === null || shown === stayed ? null : refreshDelayS(first, shown);
    if (shown !== null && afterS !== null) {
      if (!(await navigatesAway(page, shown, afterS))) stayed = shown;
      continue;
    }
    const isIdle = first?.inert === true && !main.navigating && network.isIdle();
    if (isIdle) return;
    await advance(page, ran === shown ? ADVANCE_AGAIN_MS : ms, limit);
    ran = shown;
    const last = await checkReadiness(page, limit, false);
    if (last !== null && last.backgrounds.length > 0) {
      await network.urlsEnded(last.backgrounds, limit.over);
      continue;
    }
    const isAtRest = network.realTimeReason() !== null || network.isIdle(LONG_POLL_AFTER_MS);
    if (last !== null && main.current === shown && !main.navigating && isAtRest) return;
    if (last === null) await main.until(() => main.current !== shown);
    if (main.navigating) await main.until(() => !main.navigating);
    await main.until(() => main.current?.loaded === true || main.current?.failure !== null);
  }
}

/** Advances the page's clock, and further while a counter runs. */
async function advance(page: OpenPage, ms: number, { endsAt }: Limit): Promise<void> {
  const leftMs = () => Math.max(0, endsAt - monotonicNow());
  try {
    await advanceTime(page, ms, { realMs: leftMs() });
    for (let more = 0; more < COUNTING_MAX_MS && leftMs() > 0 && (await isCounting(page, leftMs())); more += ADVANCE_AGAIN_MS)
      await advanceTime(page, ADVANCE_AGAIN_MS, { realMs: leftMs() });
  } catch (error) {
    if (!(error instanceof DocumentReplaced)) throw error;
  }
}

async function isCounting({ world, deadlines }: OpenPage, ms: number): Promise<boolean> {
  return (await deadlines.withTimeout(world.call('readiness.isCounting'), ms)) === true;
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
async function checkReadiness({ world, network, deadlines }: OpenPage, limit: Limit, isFirst: boolean): Promise<Readiness | null> {
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
    const readiness = await deadlines.withTimeout(world.call('readiness.waitForAssets', budgets), leftMs);
    return readiness === TIMED_OUT ? null : readiness;
  } catch (error) {
    if (error instanceof DocumentReplaced) return null;
    // A page can break its own DOM so that it cannot be checked. It is captured in its current state.
    return deadlines.signal.aborted ? null : { inert: false, refreshAfterS: null, backgrounds: [] };
  }
}
