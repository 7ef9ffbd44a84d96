import { allIn, documentProperty, pageScroller, shadowRootOf } from './dom.js';
import { passFrames } from './frames.js';
import { isExpanded } from './scrollers.js';
import { force } from './styles.js';
import { surveyAgain, treesOf } from './survey.js';

/** The value shown for an indeterminate progress bar. */
const BAR_AT = '0.25';
/** Levels of nested frames. */
const DEPTH_MAX = 3;
/** Layout and commit. */
const FRAMES = 2;
/** On a busy machine; while frames do not come, the compositor shows the animation as it was. */
const FRAMES_MAX_MS = 1_000;
/** Share of an iteration: where few animations look as they do at their start. */
const AWAY_FROM_START = 0.4;
/** % of the way of an element through the view. */
const MIDDLE_OF_VIEW = 50;

/**
 * Freezes what would make two pictures of the same page differ: hides the caret, pauses media, and stops infinite animations at their start,
 * also in frames of the same origin.
 *
 * @param given.motion false: animations stand still where they are
 * @param given.beyondView whether more than the view is pictured: then scrolling does not drive animations any more
 */
export async function still({ motion, beyondView }: { motion: boolean; beyondView: boolean }): Promise<void> {
  surveyAgain();
  if (beyondView) holdProgress();
  const roots = documents(document, DEPTH_MAX);
  for (const root of roots) hideCaret(root);
  for (const root of roots) pauseMedia(root);
  if (!motion) {
    for (const animation of roots.flatMap(runningMotion)) animation.pause();
    return;
  }
  const endless = roots.flatMap(endlessMotion);
  const drawings = roots.flatMap(drawingsInMotion);
  for (const drawing of drawings) {
    if (drawing.localName === 'progress') drawing.setAttribute('value', BAR_AT);
    else holdDrawing(drawing as SVGSVGElement);
  }
  if (endless.length + drawings.length === 0) return;
  // The compositor may be a frame ahead of the page, and is told only of values that change: of an animation that has just begun, it would
  // keep the first step. So each is moved elsewhere first.
  for (const animation of endless) {
    animation.pause();
    animation.currentTime = awayFromStart(animation);
  }
  await passFrames(FRAMES, FRAMES_MAX_MS);
  for (const animation of endless) animation.currentTime = 0;
  await passFrames(FRAMES, FRAMES_MAX_MS);
}

/** A scroll or view timeline, which TypeScript does not know yet. */
interface ProgressTimeline extends AnimationTimeline {
  source: Element | null;
  /** The element whose way through the view counts. */
  subject?: Element;
}

/** Scroll-driven animations stand as at the top of the page; those of an element's own way through the view, as in its middle. */
function holdProgress(): void {
  for (const animation of treesOf(document).flatMap((tree) => tree.getAnimations())) {
    const timeline = animation.timeline as ProgressTimeline | null;
    if (timeline === null || timeline instanceof DocumentTimeline) continue;
    if (timeline.source !== pageScroller() && !isExpanded(timeline.source)) continue;
    const at = timeline.subject === undefined ? 0 : MIDDLE_OF_VIEW;
    const { startTime, playbackRate } = animation as unknown as { startTime: CSSUnitValue | null; playbackRate: number };
    animation.pause();
    (animation as { currentTime: unknown }).currentTime = CSS.percent((at - (startTime?.value ?? 0)) * playbackRate);
  }
}

function documents(root: Document, depth: number): Document[] {
  const frames = depth === 0 ? [] : treesOf(root).flatMap((tree) => allIn(tree, 'iframe,frame'));
  const inner = frames.flatMap((frame) => (frame as HTMLIFrameElement).contentDocument ?? []);
  return [root, ...inner.flatMap((found) => documents(found, depth - 1))];
}

/** The caret colour is inherited by editable descendants. */
function hideCaret(root: Document): void {
  let focused = documentProperty('activeElement', root);
  while (focused !== null) {
    const inner: Element | null = shadowRootOf(focused)?.activeElement ?? null;
    // By name: objects of a frame are instances of that frame's classes.
    const isEdited = /^(input|textarea)$/.test(focused.localName) || (focused as HTMLElement).isContentEditable === true;
    if (isEdited && getComputedStyle(focused).caretColor !== 'rgba(0, 0, 0, 0)')
      force(focused as HTMLElement, 'caret-color', 'transparent');
    focused = inner;
  }
}

/** By name: objects of a frame are instances of that frame's classes. */
function pauseMedia(root: Document): void {
  for (const media of treesOf(root).flatMap((tree) => allIn(tree, 'video,audio'))) HTMLMediaElement.prototype.pause.call(media);
}

/** Animations that run by time, and not by scrolling. */
function runningMotion(root: Document): Animation[] {
  const animations = treesOf(root).flatMap((tree) => tree.getAnimations());
  const timeline = documentProperty('timeline', root);
  return animations.filter((animation) => animation.playState === 'running' && animation.timeline === timeline);
}

function endlessMotion(root: Document): Animation[] {
  return runningMotion(root).filter(isEndless);
}

function isEndless({ effect }: Animation): boolean {
  return effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY;
}

function awayFromStart({ effect }: Animation): number {
  const { delay = 0, duration = 0 } = effect?.getComputedTiming() ?? {};
  return delay + AWAY_FROM_START * Number(duration);
}

function drawingsInMotion(root: Document): Element[] {
  return allIn(root, 'svg:has(animate,animateTransform,animateMotion,set),progress:not([value])');
}

/** Puts an SVG with an endless animation at its first moment; one that ends is left alone. */
function holdDrawing(drawing: SVGSVGElement): void {
  if (drawing.ownerSVGElement !== null || drawing.querySelector('[repeatCount="indefinite"],[repeatDur="indefinite"]') === null) return;
  drawing.pauseAnimations();
  drawing.setCurrentTime(0);
}
