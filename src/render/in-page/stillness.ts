import { allIn, areaInView, documentProperty } from './dom.js';
import { imagesInView } from './images.js';
import { surveyedTrees } from './survey.js';

/**
 * Whether the view stays the same. Chromium counts recalculations of style and layout, which covers every change to elements and style
 * sheets. This module handles what is drawn without them.
 */

/** Elements whose content is drawn by another process, a script or a decoder. */
const DRAWN_ELSEWHERE = 'canvas,video,iframe,frame,object,embed';
const COUNTING_PIXEL_PX = 4;

let scrolls = 0;
let listening = false;
let scrollsBefore = 0;

/** Recalculates style and layout, so that later counts are new. @returns whether the counts cover everything that may change in view */
export function begin(): boolean {
  if (!listening) addEventListener('scroll', () => scrolls++, { capture: true, passive: true });
  listening = true;
  workOut();
  scrollsBefore = scrolls;
  const trees = surveyedTrees();
  const isDrawnElsewhere = trees.some((tree) => allIn(tree, DRAWN_ELSEWHERE).some(isInView));
  if (isDrawnElsewhere || documentProperty('fonts').status === 'loading') return false;
  if (trees.some((tree) => tree.getAnimations().some(({ playState }) => playState === 'running'))) return false;
  return imagesInView().every(({ complete }) => complete);
}

/** Recalculates pending style and layout, so that it is counted. @returns whether nothing has been scrolled since `begin` */
export function held(): boolean {
  workOut();
  return scrolls === scrollsBefore;
}

function workOut(): void {
  documentProperty('documentElement')?.getBoundingClientRect();
}

function isInView(element: Element): boolean {
  return (
    areaInView(Element.prototype.getBoundingClientRect.call(element)) > COUNTING_PIXEL_PX && Element.prototype.checkVisibility.call(element)
  );
}
