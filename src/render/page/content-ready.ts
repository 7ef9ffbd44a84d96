import { CaptureError } from '../../contract/capture-error.js';
import type { Completeness } from '../in-page/shell.js';
import { monotonicNow } from '../monotonic-now.js';
import { TIMED_OUT } from './deadline.js';
import type { OpenPage } from './open-page.js';
import { PageMoved } from './page-moved.js';

const LOOK_EVERY_MS = 200;
/** Kept of the budget for the checks that follow. */
const RESERVE_MS = 1_000;
/** A page that shows little, says nothing of loading and does not change for this long is simply small, once its network rests. */
const SMALL_FOR_GOOD_MS = 3_000;
/** A page whose text has grown meanwhile is done once it has stood still for this long. */
const STILL_AFTER_GROWTH_MS = 1_000;
/** What a page may take to show what its last request has brought. */
const FILLS_WITHIN_MS = 1_000;

/**
 * `wait_for_content`: keeps waiting, inside the budget, while the page looks like a shell or its text still grows. Fails nothing: what still
 * looks so at the end is `fail_if_incomplete`'s to judge.
 */
export async function contentReady(page: OpenPage): Promise<void> {
  const { deadlines, main, network } = page;
  let growth = NONE_YET;
  let before: Completeness | null = null;
  let changedAt = monotonicNow();
  let busyAt = 0;
  while (deadlines.leftMs() > RESERVE_MS) {
    const shown = main.current;
    const look = await lookOnce(page, deadlines.leftMs() - RESERVE_MS);
    const moved = look === null || main.current !== shown;
    growth = moved ? NONE_YET : grown(growth, look.text);
    const isStill = before !== null && look?.text === before.text && monotonicNow() - growth.lastAt >= STILL_AFTER_GROWTH_MS;
    if (isStill && look?.seen === null) return;
    if (moved || look.text !== before?.text) changedAt = monotonicNow();
    if (!network.isIdle()) busyAt = monotonicNow();
    const isSmall = look?.seen === 'almost no visible text' && monotonicNow() - busyAt > FILLS_WITHIN_MS;
    if (isSmall && monotonicNow() - changedAt > SMALL_FOR_GOOD_MS) return;
    before = look;
    await deadlines.sleep(Math.min(LOOK_EVERY_MS, deadlines.leftMs()));
  }
}

/**
 * `fail_if_incomplete`: the same detector, and undecoded images in view and unfinished fonts.
 *
 * @throws CaptureError render_incomplete with what was seen, PageMoved
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
  /** Characters of the page at their most; null before the first look. */
  most: number | null;
  /** ms by `monotonicNow`. */
  lastAt: number;
}

const NONE_YET: Growth = { most: null, lastAt: Number.NEGATIVE_INFINITY };

/** What is written and deleted again and again, as in a heading that types itself, grows once. */
function grown({ most, lastAt }: Growth, text: number): Growth {
  return { most: Math.max(text, most ?? 0), lastAt: most !== null && text > most ? monotonicNow() : lastAt };
}

/** @returns null when the page is elsewhere or too busy */
async function lookOnce({ world, deadlines }: OpenPage, ms: number): Promise<Completeness | null> {
  try {
    const look = await deadlines.within(world.call('content.look'), ms);
    return look === TIMED_OUT ? null : look;
  } catch (error) {
    if (error instanceof PageMoved) return null;
    throw error;
  }
}
