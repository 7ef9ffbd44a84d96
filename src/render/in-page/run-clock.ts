import { framesCome, sleep } from './frames.js';
import { finiteMotion } from './motion.js';
import type { ClockOrder, ClockState } from './page-clock.js';

/** Tells the page's clock, which runs in the page's own world, to run ahead. */

export interface RunOrder extends ClockOrder {
  /** The name of the event that asks the clock (page-clock.ts, `install`). */
  ask: string;
  /** Whether a real frame must follow, even if more is due soon: observers of size and visibility are called only in those. */
  frame: boolean;
  /** Whether to wait for frames: those of the main frame are those of all, and a frame that is not shown has none. */
  draws: boolean;
}

export interface Ran {
  /** ms of the page's time until something is due: a timer, an animation frame, the next step of an animation. Null: nothing is. */
  nextMs: number | null;
}

/** How much longer than its limit a run may take to answer. */
const LATE_MS = 500;
const FRAME_MAX_MS = 100;
/** A page that does not answer is taken to have more to do. */
const BUSY: ClockState = { nextMs: 0 };

/**
 * Runs the page's time ahead, and its transitions and animations by the same time.
 *
 * @returns null if this document has no clock of ours
 */
export async function ahead({ ask, ms, realMs, frame, draws }: RunOrder): Promise<Ran | null> {
  const state = await tell(ask, { ms, realMs });
  if (state === null) return null;
  const moving = moveMotion(ms);
  const nextMs = dueMs(state);
  const isQuiet = nextMs === null || nextMs > ms;
  if (!draws || (!frame && !moving && !isQuiet)) return { nextMs: moving ? 0 : nextMs };
  // An animation that has ended says so in a frame: one that is late may start another.
  if (!(await framesCome(FRAME_MAX_MS))) return { nextMs: 0 };
  // Observers are called at the end of the frame's task, and may set timers; the end of one animation may start another.
  await sleep(0);
  const after = await tell(ask, { ms: 0, realMs });
  const isMoving = moving || finiteMotion().length > 0;
  return { nextMs: isMoving || after === null ? 0 : dueMs(after) };
}

function dueMs({ nextMs }: ClockState): number | null {
  return typeof nextMs === 'number' && nextMs >= 0 ? nextMs : null;
}

function tell(ask: string, detail: ClockOrder): Promise<ClockState | null> {
  return new Promise((resolve) => {
    const end = (state: ClockState | null) => {
      clearTimeout(timer);
      performance.removeEventListener(`${ask}-done`, onDone);
      resolve(state);
    };
    const onDone = (event: Event) => end((event as CustomEvent<ClockState | null>).detail ?? BUSY);
    const timer = setTimeout(end, detail.realMs + LATE_MS, BUSY);
    performance.addEventListener(`${ask}-done`, onDone);
    if (performance.dispatchEvent(new CustomEvent(ask, { cancelable: true, detail }))) end(null);
  });
}

/** @returns whether anything was moving */
function moveMotion(ms: number): boolean {
  const moving = finiteMotion();
  for (const animation of moving) {
    const end = Number(animation.effect?.getComputedTiming().endTime);
    const at = Number(animation.currentTime ?? 0) + ms * animation.playbackRate;
    try {
      if (at >= end || at <= 0) animation.finish();
      else animation.currentTime = at;
    } catch {
      // An animation that cannot be finished is left as it is.
    }
  }
  return moving.length > 0;
}
