import { hidingRules } from './consent/look.js';
import { eachElement, flatTreeParent, matches } from './dom.js';
import { elementsOf, nameOf, told } from './mechanisms.js';
import { type Role, roles } from './pin.js';

/** Changes that were made to a page for its picture. Elements are named as `nav#top.bar`. */
export interface PageChanges {
  /** Elements that hiding rules match. */
  hidden: string[];
  /** Inner scrollers that show all of their content. */
  expanded: string[];
  pinned: { element: string; role: Role }[];
  scrollUnlocked: boolean;
}

/** A form may have fields of these names. */
const { checkVisibility, getClientRects } = Element.prototype;
const HIDDEN_MAX = 50;
const MOST_ELEMENTS = 60_000;
const LOOK_MAX_MS = 300;

export function report(): PageChanges {
  return {
    hidden: hiddenElements(),
    expanded: elementsOf('scroller_expanded'),
    pinned: roles().map(({ element, role }) => ({ element, role })),
    scrollUnlocked: (told().scroll_unlocked ?? 0) > 0,
  };
}

/** Looks at elements without a box only: there may be tens of thousands of rules. */
function hiddenElements(): string[] {
  const selectors = hidingRules();
  const found: string[] = [];
  const until = performance.now() + LOOK_MAX_MS;
  if (selectors.length === 0) return found;
  eachElement(MOST_ELEMENTS, (element) => {
    if (found.length >= HIDDEN_MAX || performance.now() > until || getClientRects.call(element).length > 0) return;
    const parent = flatTreeParent(element);
    const isShown = parent !== null && checkVisibility.call(parent);
    if (isShown && selectors.some((selector) => matches(element, selector))) found.push(nameOf(element));
  });
  return found;
}
