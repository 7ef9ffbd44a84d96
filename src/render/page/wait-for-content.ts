import { CaptureError } from '../../contract/capture-error.js';
import type { Completeness } from '../in-page/shell.js';
import { monotonicNow } from '../monotonic-now.js';
import { TIMED_OUT } from './deadline.js';
import { DocumentReplaced } from './document-replaced.js';
import type { OpenPage } from './open-page.js';
import { advanceTime } from './page-clock.js';

/** The page's time between two checks, in ms. All times here are the page's. */
const CHECK_EVERY_MS = 200;
/** The real time that a request may hold the clock at each check, in ms. */
const HOLD_MAX_MS = 1_000;
/** The part of the budget reserved for the checks that follow. */
const RESERVE_MS = 1_000;
/** A page with little content, no loading message and an idle network counts as complete after this long without changes. */
const SMALL_COMPLETE_MS = 3_000;
/** A page whose text has grown counts as complete after this long without changes. */
const UNCHANGED_AFTER_GROWTH_MS = 1_000;
/** How long a page may take to show the result of its last request. */
const SHOWS_RESULT_MS = 1_000;

/**
 * Implements `wait_for_content`: waits, within the budget, while the page looks like a loading shell or its text still
 * grows. Never fails the capture; that is up to `fail_if_incomplete`.
 */
export async function waitForContent(page: OpenPage): Promise<void> {
  const { deadlines, main, network } = page;
  const time = new PageTime();
  let growth = NONE_YET;
  let before: Completeness | null = null;
  let changedAt = 0;
  let busyAt = 0;
  while (deadlines.leftMs() > RESERVE_MS) {
    const shown = main.current;
    const look = await inspectOnce(page, deadlines.leftMs() - RESERVE_MS);
    const moved = look === null || main.current !== shown;
    growth = moved ? NONE_YET : updateGrowth(growth, look.text, time.ms);
    if (moved || look.text !== before?.text) changedAt = time.ms;
    const isStill = before !== null && look?.text === before.text && time.ms - growth.lastAt >= UNCHANGED_AFTER_GROWTH_MS;
    if (isStill && look?.seen === null) return;
    if (!network.isIdle()) busyAt = time.ms;
    const isSmall = look?.seen === 'almost no visible text' && time.ms - busyAt > SHOWS_RESULT_MS;
    if (isSmall && time.ms - changedAt > SMALL_COMPLETE_MS) return;
    before = look;
    await time.pass(page, Math.min(CHECK_EVERY_MS, deadlines.leftMs()));
  }
}

/** Measures the time that has passed on the page's clock. */
class PageTime {
  ms = 0;

  async pass(page: OpenPage, ms: number): Promise<void> {
    const began = monotonicNow();
    try {
      const { aheadMs, realPaceMs } = await advanceTime(page, ms, { realMs: Math.max(ms, Math.min(HOLD_MAX_MS, page.deadlines.leftMs())) });
      this.ms += aheadMs + realPaceMs;
    } catch (error) {
      if (!(error instanceof DocumentReplaced)) throw error;
      this.ms += monotonicNow() - began;
    }
  }
}

/**
 * Implements `fail_if_incomplete`: the same detector, plus images in the viewport and fonts that are pending.
 * @throws CaptureError render_incomplete with what was found, DocumentReplaced
 */
export async function refuseIncomplete({ world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>, ms: number): Promise<void> {
  const look = await deadlines.withTimeout(world.call('content.inspect'), ms);
  const seen = look === TIMED_OUT ? 'a page too busy to answer' : (look.seen ?? look.unfinished);
  if (seen === null) return;
  throw new CaptureError({
    code: 'render_incomplete',
    message: `\`fail_if_incomplete\`: the page shows ${seen}.`,
    details: { check: 'fail_if_incomplete', seen },
  });
}

interface Growth {
  /** The maximum number of characters so far; null before the first check. */
  most: number | null;
  /** When it last grew, in ms of the page's time. */
  lastAt: number;
}

const NONE_YET: Growth = { most: null, lastAt: Number.NEGATIVE_INFINITY };

/** Records growth beyond the maximum only, so that text that is typed and deleted repeatedly grows only once. */
function updateGrowth({ most, lastAt }: Growth, text: number, now: number): Growth {
  return { most: Math.max(text, most ?? 0), lastAt: most === null || text > most ? now : lastAt };
}

/** @returns null if the page has navigated or is too busy */
async function inspectOnce({ world, deadlines }: OpenPage, ms: number): Promise<Completeness | null> {
  try {
    const look = await deadlines.withTimeout(world.call('content.inspect'), ms);
    return look === TIMED_OUT ? null : look;
  } catch (error) {
    if (error instanceof DocumentReplaced) return null;
    throw error;
  }
}
