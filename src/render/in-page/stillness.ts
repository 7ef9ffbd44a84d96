import { allIn, areaInView, documentProperty } from './dom.js';
import { imagesInView } from './images.js';
import { surveyedTrees } from './survey.js';

/**
 * Whether the view stays as it is. Chromium counts how often it works out style and layout, which tells of all that a page does to its
 * elements and sheets by whatever means; what is drawn past them is what stands here.
 */

/** What draws by itself: of another process, a script's, or a decoder's. */
const DRAWN_ELSEWHERE = 'canvas,video,iframe,frame,object,embed';
const COUNTING_PIXEL_PX = 4;

let scrolls = 0;
let listening = false;
let scrollsBefore = 0;

/** Works out style and layout, so that what is counted from now on is new. @returns whether they tell of all that may change in view */
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

/** Works out whatever has been asked of style and layout, so that it is counted. @returns whether nothing has been scrolled since `begin` */
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
