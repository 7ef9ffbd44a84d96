import type { CosmeticFilter, FiltersEngine } from '@ghostery/adblocker';
import type { Category } from './category.js';
import type { Engines } from './engines.js';

/** A page as hiding rules see it. */
export interface Site {
  url: string;
  hostname: string;
  domain: string;
}

/** What hiding rules may do on one page. */
export interface HidingExceptions {
  /** Whether rules for any page apply to it. */
  general: boolean;
  /** Whether one rule applies to it. */
  allows(rule: CosmeticFilter): boolean;
}

/**
 * Exceptions for this page in the lists of all switches that are on, each of which holds against the rules of all of them.
 * A selector that is general and names neither id, class nor link is excepted within its own switch only: the library keeps those as text.
 */
export function hidingExceptions(engines: Engines, on: readonly Category[], site: Site): HidingExceptions {
  // The engine itself heeds its own.
  if (on.length < 2) return { general: true, allows: () => true };
  const pageWide = on.flatMap((category) => pageWideExceptions(engines[category], site));
  const general = !pageWide.some((exception) => exception.isGenericHide());
  const specific = !pageWide.some((exception) => exception.isSpecificHide());
  const isUnhidden = (key: string) =>
    on.some((category) =>
      unhidesOf(engines[category])
        .get(key)
        ?.some((unhide) => unhide.match(site.hostname, site.domain)),
    );
  return {
    general,
    allows: (rule) => {
      // One that names no scriptlet excepts a site from all; those for a whole page are about hiding.
      if (rule.isScriptInject()) return !isUnhidden(keyOf(rule)) && !isUnhidden('');
      return (rule.isGenericHide() ? general : specific) && !isUnhidden(keyOf(rule));
    },
  };
}

/** `$generichide`, `$specifichide` and `$elemhide`. */
function pageWideExceptions(engine: FiltersEngine, site: Site) {
  const { matches } = engine.matchCosmeticFilters({ ...site, getRulesFromDOM: false, getRulesFromHostname: false });
  return matches.flatMap(({ filter, exception }) => (filter === undefined ? [exception] : []));
}

/** Of each engine, read once: a thousand or two. */
const unhides = new WeakMap<FiltersEngine, ReadonlyMap<string, CosmeticFilter[]>>();

function unhidesOf(engine: FiltersEngine): ReadonlyMap<string, CosmeticFilter[]> {
  const known = unhides.get(engine);
  if (known !== undefined) return known;
  const read = new Map<string, CosmeticFilter[]>();
  for (const unhide of engine.cosmetics.unhideIndex.getFilters()) {
    const alike = read.get(keyOf(unhide));
    if (alike === undefined) read.set(keyOf(unhide), [unhide]);
    else alike.push(unhide);
  }
  unhides.set(engine, read);
  return read;
}

function keyOf(rule: CosmeticFilter): string {
  return `${rule.getSelector()}${rule.style ?? ''}`;
}
