import type { CaptureChanges } from '../contract/capture-data.js';
import type { PageChanges } from './in-page/changes.js';
import { TIMED_OUT } from './page/deadline.js';
import type { OpenPage } from './page/open-page.js';

const REPORT_MAX_MS = 1_000;
const LISTED_MAX = 50;
const NOTHING: PageChanges = { hidden: [], expanded: [], pinned: [], scrollUnlocked: false };

interface Guard {
  explain(): Promise<Pick<CaptureChanges, 'blocked' | 'banner'>>;
}

/** Reports the changes made to a page, after its picture was taken. Parts that the page does not report in time are empty. */
export async function explain({ world, clock, deadlines }: OpenPage, guard: Guard): Promise<CaptureChanges> {
  const inTime = async <T>(asked: Promise<T>, otherwise: T): Promise<T> => {
    const answer = await deadlines.withTimeout(
      asked.catch(() => otherwise),
      REPORT_MAX_MS,
    );
    deadlines.signal.throwIfAborted();
    return answer === TIMED_OUT ? otherwise : answer;
  };
  const [{ hidden, expanded, pinned, scrollUnlocked }, guarded] = await Promise.all([
    inTime(world.callWithTimeout(REPORT_MAX_MS, 'changes.report'), NOTHING),
    inTime(guard.explain(), { blocked: [], banner: { outcome: 'none', platform: null } }),
  ]);
  return {
    ...guarded,
    hidden: hidden.slice(0, LISTED_MAX),
    expanded: expanded.slice(0, LISTED_MAX),
    pinned: pinned.slice(0, LISTED_MAX),
    scrollUnlocked,
    clock: {
      aheadMs: Math.round(clock.aheadMs),
      realTimeMs: Math.round(clock.realPaceMs),
      heldMs: Math.round(clock.heldMs),
      heldBy: clock.heldBy,
      realTimeBecause: clock.talk,
    },
  };
}
