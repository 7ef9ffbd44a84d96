import { hideLateBanners } from './consent/inspect.js';
import { allIn, force, pageScroller, type Tree, trees } from './dom.js';
import { apply } from './edits.js';
import { isEndless, isProgress, passFrames } from './frames.js';
import { expansions } from './scrollers.js';

/** The value shown for an indeterminate progress bar. */
const PROGRESS_VALUE = '0.25';
/** Two frames cover layout and commit. */
const FRAMES = 2;
/** The limit on a busy machine. Without frames, the compositor shows the animation's previous state. */
const FRAMES_MAX_MS = 1_000;
/** The limit for the time that animations are elsewhere, since a page that is late is captured as it is. */
const AWAY_MAX_MS = 400;
/** The properties that the compositor animates by itself, and the other members of a keyframe. */
const COMPOSITED =
  /^(opacity|transform|translate|rotate|scale|filter|backdropFilter|clipPath|backgroundColor|offset|computedOffset|easing|composite)$/;
/** A share of an iteration at which few animations look as they do at their start. */
const AWAY_FROM_START = 0.4;
/** When an SVG animation begins without an event of the user: at a time, or relative to another one. */
const BEGINS_BY_ITSELF = /^\s*(?:[+-]?[\d.:]+[a-z]{0,3}\s*(?:;|$)|[^;.]{1,100}\.(?:begin|end)|$)/;
/** A percentage of an element's way through the view. */
const MIDDLE_OF_VIEW = 50;

/**
 * Freezes what would make two pictures of the same page differ: hides the caret, pauses media, and resets infinite
 * animations to their start, also in same-origin frames. Before, changes the elements that have appeared since the last check.
 * @param options.motion false pauses animations at their current position
 * @param options.beyondView whether more than the view is captured, so that scrolling must no longer drive animations
 */
export async function freezePage({ motion, beyondView }: { motion: boolean; beyondView: boolean }): Promise<void> {
  apply(true);
  hideLateBanners();
  const all = trees(document, { frames: true });
  hideCarets(all);
  // Called on the prototype, since elements in a frame are instances of that frame's classes.
  for (const media of all.flatMap((tree) => allIn(tree, 'video,audio'))) HTMLMediaElement.prototype.pause.call(media);
  const animations = all.flatMap((tree) => tree.getAnimations());
  if (beyondView) freezeScrollDriven(animations);
  const running = animations.filter(({ playState, timeline }) => playState === 'running' && !isProgress(timeline));
  const stopped = motion ? running.filter(isEndless) : running;
  for (const animation of stopped) animation.pause();
  const isDrawn = motion && finishDrawings(all);
  const endless = motion ? stopped : [];
  const ended = animations.filter(isKept);
  if (isDrawn || endless.length + ended.length > 0) await redraw(endless, ended);
}

/** Hides the carets of the elements that are being edited. */
export function hideCarets(all: readonly Tree[]): void {
  for (const { activeElement } of all) {
    // Tested by name, since elements in a frame are instances of that frame's classes. Without an edited element, it is the body,
    // a style of which costs a new style of each of its descendants.
    const isEdited =
      /^(input|textarea)$/.test(activeElement?.localName ?? '') ||
      (activeElement as HTMLElement | null)?.isContentEditable === true;
    if (isEdited) force(activeElement as HTMLElement, 'caret-color', 'transparent');
  }
}

/** Whether an animation has ended, keeps its last value, and may be run by the compositor, so that it does not change the layout. */
function isKept({ playState, timeline, effect }: Animation): boolean {
  if (playState !== 'finished' || isProgress(timeline) || effect === null || !('getKeyframes' in effect)) return false;
  return (effect as KeyframeEffect)
    .getKeyframes()
    .every((frame) => Object.keys(frame).every((key) => COMPOSITED.test(key)));
}

/** @returns whether there are any */
function finishDrawings(all: readonly Tree[]): boolean {
  const drawings = all.flatMap((tree) =>
    allIn(tree, 'animate,animateTransform,animateMotion,set,progress:not([value])'),
  );
  for (const drawing of drawings) {
    if (drawing.localName === 'progress') drawing.setAttribute('value', PROGRESS_VALUE);
    else finishDrawing(drawing as SVGAnimationElement);
  }
  return drawings.length > 0;
}

/**
 * Shows the first step of animations without an end, and the last one of those that have ended and keep it. The compositor only receives
 * changed values: it would keep the first step of a new animation, and of one that was finished soon after its start (Chromium 156).
 * Each animation is therefore moved elsewhere first.
 */
async function redraw(endless: readonly Animation[], ended: readonly Animation[]): Promise<void> {
  for (const animation of [...endless, ...ended]) {
    const { delay = 0, duration = 0 } = animation.effect?.getComputedTiming() ?? {};
    animation.currentTime = delay + AWAY_FROM_START * Number(duration);
  }
  await passFrames(FRAMES, AWAY_MAX_MS);
  for (const animation of endless) animation.currentTime = 0;
  for (const animation of ended) animation.finish();
  await passFrames(FRAMES, FRAMES_MAX_MS);
}

/** Sets scroll-driven animations to the top of the page, and view-driven ones to the middle of the view. */
function freezeScrollDriven(animations: readonly Animation[]): void {
  const scrolled = new Set<Element | null>([pageScroller(), ...expansions().scrollers.keys()]);
  for (const animation of animations) {
    const { timeline } = animation;
    if (!isProgress(timeline) || !scrolled.has(timeline.source)) continue;
    const at = timeline.subject === undefined ? 0 : MIDDLE_OF_VIEW;
    const { startTime, playbackRate } = animation as unknown as {
      startTime: CSSUnitValue | null;
      playbackRate: number;
    };
    animation.pause();
    (animation as { currentTime: unknown }).currentTime = CSS.percent((at - (startTime?.value ?? 0)) * playbackRate);
  }
}

/**
 * Gives the target of an SVG animation that ends, and keeps its last value, this value. The setting by which animated images show their
 * first frame keeps those of every document from running (Chromium's `imageAnimationPolicy`).
 */
function finishDrawing(animation: SVGAnimationElement): void {
  const { targetElement: target, localName } = animation;
  const attribute = (name: string) => animation.getAttribute(name);
  const stays = attribute('fill') === 'freeze' || (localName === 'set' && attribute('dur') === null);
  if (
    target === null ||
    !stays ||
    attribute('repeatCount') === 'indefinite' ||
    !BEGINS_BY_ITSELF.test(attribute('begin') ?? '')
  )
    return;
  const name = attribute('attributeName');
  const value = attribute('to') ?? attribute('values')?.split(';').filter(Boolean).at(-1)?.trim() ?? null;
  const turned = target.getAttribute('transform') ?? '';
  if (localName === 'animateMotion') {
    const place = value ?? endOfPath(animation);
    if (place !== null) target.setAttribute('transform', `translate(${place}) ${turned}`);
  } else if (localName === 'animateTransform' && value !== null) {
    const own = `${attribute('type') ?? 'translate'}(${value})`;
    target.setAttribute('transform', attribute('additive') === 'sum' ? `${turned} ${own}` : own);
  } else if (name !== null && value !== null) {
    // As a property, it also overrides style sheets. Lengths without a unit are valid in attributes alone.
    if (CSS.supports(name, value)) force(target as unknown as HTMLElement, name, value);
    else target.setAttribute(name, value);
  }
}

/** The place at which `<animateMotion>` ends, as coordinates. */
function endOfPath(motion: Element): string | null {
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  const along = motion.querySelector('mpath')?.getAttribute('href')?.slice(1);
  const motionPath = along === undefined ? motion : motion.ownerDocument.getElementById(along);
  path.setAttribute('d', motionPath?.getAttribute(motionPath === motion ? 'path' : 'd') ?? '');
  const length = path.getTotalLength();
  if (length === 0) return null;
  const { x, y } = path.getPointAtLength(length);
  return `${x} ${y}`;
}
