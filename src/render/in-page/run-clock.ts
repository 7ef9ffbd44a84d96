import { allMotion, finiteMotion, isEndless, isRunning, passFrames, sleep } from './frames.js';
import type { ClockRequest, ClockState } from './page-clock.js';

/** Asks the page's clock, which runs in the main world, to run ahead or to hold. */

export interface RunRequest extends ClockRequest {
  /** The name of the event that the clock listens for (page-clock.ts, `install`). */
  event: string;
  /** Whether a real frame must follow even if more is due soon, since size and visibility observers are called only in frames. */
  frame: boolean;
  /** Whether to wait for frames. The main frame's suffice for all, and a hidden frame has none. */
  draws: boolean;
  /** Whether the clock is held, so that animations without an end move only here as well. */
  held: boolean;
}

/** The time after its time limit in which a run may still answer. */
const LATE_MS = 500;
const FRAME_MAX_MS = 100;
/** A page that does not answer counts as having more to do. */
const BUSY: ClockState = { nextMs: 0, lateMs: 0 };

/**
 * Runs the page's time ahead, and its transitions and animations by the same time.
 * @returns ms until a timer, an animation frame or an animation's next step is due; null if this document does not have our clock
 */
export async function runAhead({ event: ask, ms, realMs, frame, draws, held }: RunRequest): Promise<ClockState | null> {
  const state = await requestRun(ask, { ms, realMs });
  if (state === null) return null;
  const moving = moveMotion(ms, held);
  const nextMs = dueMs(state);
  const { lateMs } = state;
  const isQuiet = nextMs === null || nextMs > ms;
  if (!draws || (!frame && !moving && !isQuiet)) return { nextMs: moving ? 0 : nextMs, lateMs };
  // The end of an animation is reported in a frame, and may start another one.
  if (!(await passFrames(1, FRAME_MAX_MS))) return { nextMs: 0, lateMs };
  // Observers are called at the end of the frame's task and may set timers; the end of an animation may start another one.
  await sleep(0);
  const after = await requestRun(ask, { ms: 0, realMs });
  const isMoving = moving || finiteMotion().length > 0;
  return { nextMs: isMoving || after === null ? 0 : dueMs(after), lateMs };
}

/** Holds the page's clock at 0 until it is run ahead. Must be called at the document's start. */
export function hold(event: string): void {
  performance.dispatchEvent(new CustomEvent(event, { cancelable: true, detail: { ms: 0, realMs: 0, hold: true } }));
}

function dueMs({ nextMs }: ClockState): number | null {
  return typeof nextMs === 'number' && nextMs >= 0 ? nextMs : null;
}

function requestRun(runEvent: string, detail: ClockRequest): Promise<ClockState | null> {
  return new Promise((resolve) => {
    const end = (state: ClockState | null) => {
      clearTimeout(timer);
      performance.removeEventListener(`${runEvent}-done`, onDone);
      resolve(state);
    };
    const onDone = (event: Event) => end((event as CustomEvent<ClockState | null>).detail ?? BUSY);
    const timer = setTimeout(end, detail.realMs + LATE_MS, BUSY);
    performance.addEventListener(`${runEvent}-done`, onDone);
    if (performance.dispatchEvent(new CustomEvent(runEvent, { cancelable: true, detail }))) end(null);
  });
}

/** @returns whether anything was moving that will end */
function moveMotion(ms: number, held: boolean): boolean {
  const moving = finiteMotion();
  if (held) moveEndless(ms);
  for (const animation of moving) {
    const end = Number(animation.effect?.getComputedTiming().endTime);
    const at = Number(animation.currentTime ?? 0) + ms * animation.playbackRate;
    try {
      if (at >= end || at <= 0) animation.finish();
      else animation.currentTime = at;
    } catch {
      // An animation that cannot be finished is left unchanged.
    }
  }
  return moving.length > 0;
}

/** The browser's own clock for animations is stopped while ours is held. */
function moveEndless(ms: number): void {
  for (const animation of allMotion().filter((one) => isRunning(one) && isEndless(one)))
    animation.currentTime = Number(animation.currentTime ?? 0) + ms * animation.playbackRate;
}
