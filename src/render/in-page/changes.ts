import { hidingRules } from './consent/inspect.js';
import { eachElement, flatTreeParent, matches, nameOf } from './dom.js';
import { type Pictured, pictured } from './paper-pictures.js';
import { type Role, roles } from './pin.js';
import { expansions } from './scrollers.js';

/** Changes made to a page for its picture. Elements are named in the form `nav#top.bar`. */
export interface PageChanges {
  hidden: string[];
  expanded: string[];
  pinned: { element: string; role: Role }[];
  pictured: Pictured[];
  scrollUnlocked: boolean;
}

const HIDDEN_MAX = 50;
const ELEMENTS_MAX = 60_000;
const LOOK_MAX_MS = 300;

export function report(): PageChanges {
  const { scrollers, wasLocked } = expansions();
  return {
    hidden: hiddenElements(),
    expanded: [...scrollers.keys()].map(nameOf),
    pinned: roles().map(({ element, role }) => ({ element, role })),
    pictured: pictured(),
    scrollUnlocked: wasLocked,
  };
}

/** The names of elements that rules of lists hide. Examines only elements without a box, since there may be tens of thousands of rules. */
export function hiddenElements(): string[] {
  const selectors = hidingRules();
  const found: string[] = [];
  const until = performance.now() + LOOK_MAX_MS;
  if (selectors.length === 0) return found;
  eachElement(ELEMENTS_MAX, (element) => {
    if (found.length >= HIDDEN_MAX || performance.now() > until || element.getClientRects().length > 0) return;
    const isShown = flatTreeParent(element)?.checkVisibility() === true;
    if (isShown && selectors.some((selector) => matches(element, selector))) found.push(nameOf(element));
  });
  return found;
}
