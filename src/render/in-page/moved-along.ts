import { ancestry } from './dom.js';

/** Finds fixed elements that scripts move along with the page, such as the pictures of parallax sections (parallax.js, skrollr). */

/** Scripts round what they move by, in CSS px. */
const ROUNDING = 2;

interface Place {
  scrollTop: number;
  /** In CSS px of the page. */
  top: number;
  /** Whether it has kept its place on the page while that was scrolled. */
  hasMovedAlong: boolean;
  /** Whether it has kept its place in the view. */
  hasStayed: boolean;
}

const places = new Map<Element, Place>();

/** Notes where a fixed element is shown, in CSS px of the page. */
export function notePlace(element: Element, scrollTop: number, top: number): void {
  const before = places.get(element) ?? { scrollTop, top, hasMovedAlong: false, hasStayed: false };
  const [by, moved] = [scrollTop - before.scrollTop, top - before.top];
  const hasScrolled = Math.abs(by) > 2 * ROUNDING;
  places.set(element, {
    scrollTop,
    top,
    hasMovedAlong: before.hasMovedAlong || (hasScrolled && Math.abs(moved) <= ROUNDING),
    hasStayed: before.hasStayed || (hasScrolled && Math.abs(moved - by) <= ROUNDING),
  });
}

/** Whether a fixed element has kept its place on the page, and none in the view. */
export function isMovedAlong(element: Element): boolean {
  const { hasMovedAlong = false, hasStayed = false } = places.get(element) ?? {};
  return hasMovedAlong && !hasStayed;
}

/** Whether an element is in one that is moved along, or is one. */
export function isInMovedAlong(element: Element): boolean {
  return ancestry(element).some(isMovedAlong);
}
