import { allIn, documentProperty, shadowRootOf, trees } from './dom.js';
import { passFrames } from './frames.js';
import { force } from './styles.js';

/** Of an indeterminate progress bar. */
const BAR_AT = '0.25';
/** Levels of nested frames. */
const DEPTH_MAX = 3;
const FRAMES = 4;
/** On a busy machine; while frames do not come, the compositor shows the animation as it was. */
const FRAMES_MAX_MS = 1_000;

/**
 * Freezes what would make two pictures of the same page differ: hides the caret, and stops infinite animations at their start, also in
 * frames of the same origin.
 */
export async function still({ motion }: { motion: boolean }): Promise<void> {
  let frozen = 0;
  for (const tree of documents(document, DEPTH_MAX)) {
    hideCaret(tree);
    if (motion) frozen += freeze(tree);
  }
  // The compositor goes on with it until the next commit; then it draws anew what had a layer of its own for the animation.
  if (frozen > 0) await passFrames(FRAMES, FRAMES_MAX_MS);
}

function documents(root: Document, depth: number): Document[] {
  const frames = depth === 0 ? [] : trees(root).flatMap((tree) => allIn(tree, 'iframe,frame'));
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

/** @returns the number of animations that were running */
function freeze(root: Document): number {
  let frozen = 0;
  const animations = trees(root).flatMap((tree) => tree.getAnimations());
  for (const animation of animations) {
    const isEndless = animation.effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY;
    if (!isEndless || animation.playState !== 'running' || animation.timeline !== documentProperty('timeline', root)) continue;
    animation.pause();
    animation.currentTime = 0;
    frozen++;
  }
  for (const element of allIn(root, 'svg:has(animate,animateTransform,animateMotion,set),progress:not([value])')) {
    if (element.localName === 'progress') element.setAttribute('value', BAR_AT);
    else holdDrawing(element as SVGSVGElement);
    frozen++;
  }
  return frozen;
}

/** Puts an SVG with an endless animation at its first moment; one that ends is left alone. */
function holdDrawing(drawing: SVGSVGElement): void {
  if (drawing.ownerSVGElement !== null || drawing.querySelector('[repeatCount="indefinite"],[repeatDur="indefinite"]') === null) return;
  drawing.pauseAnimations();
  drawing.setCurrentTime(0);
}
