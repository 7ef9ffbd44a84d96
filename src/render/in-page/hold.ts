import { allIn, documentProperty, shadowRootOf, trees } from './dom.js';
import { passFrames } from './frames.js';
import { force } from './styles.js';

/** Of a bar that says only that something goes on. */
const BAR_AT = '0.25';
/** Frames within frames that are gone through. */
const DEPTH_MAX = 3;
const FRAMES_MAX_MS = 200;

/**
 * Holds what would make two pictures of the same page differ: hides the caret, and freezes motion without an end in its first moment, that
 * in frames of the same origin too.
 */
export async function still({ motion }: { motion: boolean }): Promise<void> {
  let frozen = 0;
  for (const tree of documents(document, DEPTH_MAX)) {
    hideCaret(tree);
    if (motion) frozen += freeze(tree);
  }
  // The compositor moves on by itself until it hears of it.
  if (frozen > 0) await passFrames(2, FRAMES_MAX_MS);
}

function documents(root: Document, depth: number): Document[] {
  const frames = depth === 0 ? [] : trees(root).flatMap((tree) => allIn(tree, 'iframe,frame'));
  const inner = frames.flatMap((frame) => (frame as HTMLIFrameElement).contentDocument ?? []);
  return [root, ...inner.flatMap((found) => documents(found, depth - 1))];
}

/** Its colour is inherited by all that is edited within. */
function hideCaret(root: Document): void {
  let focused = documentProperty('activeElement', root);
  while (focused !== null) {
    const inner: Element | null = shadowRootOf(focused)?.activeElement ?? null;
    // By their names: what a frame holds is of classes of its own.
    const isEdited = /^(input|textarea)$/.test(focused.localName) || (focused as HTMLElement).isContentEditable === true;
    if (isEdited && getComputedStyle(focused).caretColor !== 'rgba(0, 0, 0, 0)')
      force(focused as HTMLElement, 'caret-color', 'transparent');
    focused = inner;
  }
}

/** @returns how much was moving */
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

/** A drawing whose motion ends is held at that. */
function holdDrawing(drawing: SVGSVGElement): void {
  if (drawing.ownerSVGElement !== null || drawing.querySelector('[repeatCount="indefinite"],[repeatDur="indefinite"]') === null) return;
  drawing.pauseAnimations();
  drawing.setCurrentTime(0);
}
