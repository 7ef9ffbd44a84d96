import { CaptureError } from '../../contract/capture-error.js';
import type { Completeness } from '../in-page/shell.js';
import { monotonicNow } from '../monotonic-now.js';
import { TIMED_OUT } from './deadline.js';
import type { OpenPage } from './open-page.js';
import { passTime } from './page-clock.js';
import { PageMoved } from './page-moved.js';

/** ms of the page's time, as the others. */
const LOOK_EVERY_MS = 200;
/** Real time that a request may hold the clock at each look. */
const HOLD_MAX_MS = 1_000;
/** Part of the budget that is reserved for the checks that follow. */
const RESERVE_MS = 1_000;
/** A page with little content that does not say that it is loading, does not change for this long, and has an idle network is complete. */
const SMALL_FOR_GOOD_MS = 3_000;
/** A page whose text has grown is complete once it has not changed for this long. */
const STILL_AFTER_GROWTH_MS = 1_000;
/** How long a page may take to show the result of its last request. */
const FILLS_WITHIN_MS = 1_000;

/**
 * `wait_for_content`: waits, within the budget, while the page looks like a loading shell or its text still grows. Never fails the capture;
 * that is up to `fail_if_incomplete`.
 */
export async function contentReady(page: OpenPage): Promise<void> {
  const { deadlines, main, network } = page;
  const time = new PageTime();
  let growth = NONE_YET;
  let before: Completeness | null = null;
  let changedAt = 0;
  let busyAt = 0;
  while (deadlines.leftMs() > RESERVE_MS) {
    const shown = main.current;
    const look = await lookOnce(page, deadlines.leftMs() - RESERVE_MS);
    const moved = look === null || main.current !== shown;
    growth = moved ? NONE_YET : grown(growth, look.text, time.ms);
    if (moved || look.text !== before?.text) changedAt = time.ms;
    const isStill = before !== null && look?.text === before.text && time.ms - growth.lastAt >= STILL_AFTER_GROWTH_MS;
    if (isStill && look?.seen === null) return;
    if (!network.isIdle()) busyAt = time.ms;
    const isSmall = look?.seen === 'almost no visible text' && time.ms - busyAt > FILLS_WITHIN_MS;
    if (isSmall && time.ms - changedAt > SMALL_FOR_GOOD_MS) return;
    before = look;
    await time.pass(page, Math.min(LOOK_EVERY_MS, deadlines.leftMs()));
  }
}

/** How much time has passed on the page's clock. */
class PageTime {
  ms = 0;

  async pass(page: OpenPage, ms: number): Promise<void> {
    const began = monotonicNow();
    try {
      const { aheadMs, realPaceMs } = await passTime(page, ms, { realMs: Math.max(ms, Math.min(HOLD_MAX_MS, page.deadlines.leftMs())) });
      this.ms += aheadMs + realPaceMs;
    } catch (error) {
      if (!(error instanceof PageMoved)) throw error;
      this.ms += monotonicNow() - began;
    }
  }
}

/**
 * `fail_if_incomplete`: the same detector, plus undecoded images in the viewport and pending fonts.
 *
 * @throws CaptureError render_incomplete with what was found, PageMoved
 */
export async function refuseIncomplete({ world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>, ms: number): Promise<void> {
  const look = await deadlines.within(world.call('content.look'), ms);
  const seen = look === TIMED_OUT ? 'a page too busy to answer' : (look.seen ?? look.unfinished);
  if (seen === null) return;
  throw new CaptureError({
    code: 'render_incomplete',
    message: `\`fail_if_incomplete\`: the page shows ${seen}.`,
    details: { check: 'fail_if_incomplete', seen },
  });
}

interface Growth {
  /** Maximum number of characters so far; null before the first check. */
  most: number | null;
  /** ms of the page's time. */
  lastAt: number;
}

const NONE_YET: Growth = { most: null, lastAt: Number.NEGATIVE_INFINITY };

/** Whether the text has grown beyond its maximum, so that a text that is typed and deleted repeatedly grows only once. */
function grown({ most, lastAt }: Growth, text: number, now: number): Growth {
  return { most: Math.max(text, most ?? 0), lastAt: most === null || text > most ? now : lastAt };
}

/** @returns null if the page has moved or is too busy */
async function lookOnce({ world, deadlines }: OpenPage, ms: number): Promise<Completeness | null> {
  try {
    const look = await deadlines.within(world.call('content.look'), ms);
    return look === TIMED_OUT ? null : look;
  } catch (error) {
    if (error instanceof PageMoved) return null;
    throw error;
  }
}
