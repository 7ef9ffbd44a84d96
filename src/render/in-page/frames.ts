import { cachedTrees } from './dom-cache.js';

/** Waits for frames, and moves animations to their end. */

/** Asks for frames, in a browser that draws only on demand (launch/frame-source.ts). */
declare const stillframeWantsFrames: ((count: string) => void) | undefined;

/**
 * Waits for frames, at most `mostMs`. Earlier changes are laid out in the first frame and painted in the second.
 * @returns whether there were as many
 */
export function passFrames(count: number, mostMs: number): Promise<boolean> {
  if (typeof stillframeWantsFrames === 'function') stillframeWantsFrames(String(count));
  return endsInTime(frames(count), mostMs);
}

async function frames(count: number): Promise<void> {
  for (let passed = 0; passed < count; passed++) await new Promise(requestAnimationFrame);
}

/** Waits until the page has run the tasks that it has queued, such as those of a framework that renders in slices, at most `mostMs`. */
export async function tasksEnd(mostMs: number): Promise<void> {
  await endsInTime(new Promise<void>((resolve) => requestIdleCallback(() => resolve())), mostMs);
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Whether the work ended within `ms`. A rejection counts as an end. */
export function endsInTime(work: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    const done = () => {
      clearTimeout(timer);
      resolve(true);
    };
    work.then(done, done);
  });
}

/** The end of an animation can start others, repeatedly. A page that never stops is captured in motion. */
const ROUNDS = 3;

/** All animations, also those in shadow trees, which a document leaves out (Web Animations 1, `getAnimations`), and with `frames` in frames of the same origin. */
export function allMotion(options?: { frames: boolean }): Animation[] {
  return cachedTrees(options).flatMap((tree) => tree.getAnimations());
}

/** Running transitions and animations that end by themselves. */
export function finiteMotion(options?: { frames: boolean }): Animation[] {
  return allMotion(options).filter((animation) => isRunning(animation) && !isEndless(animation));
}

export function isRunning({ timeline, playState }: Animation): boolean {
  return playState === 'running' && timeline !== null && !isProgress(timeline);
}

/** A scroll or view timeline, which TypeScript's types lack. */
interface ProgressTimeline extends AnimationTimeline {
  source: Element | null;
  /** The element whose progress through the view counts. */
  subject?: Element;
}

/** Tested by property, since objects in a frame are instances of that frame's classes. */
export function isProgress(timeline: AnimationTimeline | null): timeline is ProgressTimeline {
  return timeline !== null && 'source' in timeline;
}

export function isEndless({ effect }: Animation): boolean {
  return effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY;
}

/** Moves animations to their last frame, including those that their end starts. */
export async function endMotion(): Promise<void> {
  for (let round = 0; round < ROUNDS && finishMotion(); round++) {
    // End events fire in the first frame, and observers see their effects in the second.
    await passFrames(2, 200);
  }
}

/**
 * Moves the running animations to their last frame.
 * @returns whether anything was still running
 */
export function finishMotion(): boolean {
  let ended = false;
  for (const animation of finiteMotion({ frames: true })) {
    try {
      animation.finish();
      ended = true;
    } catch {
      // An infinite animation cannot be finished and keeps running.
    }
  }
  return ended;
}
