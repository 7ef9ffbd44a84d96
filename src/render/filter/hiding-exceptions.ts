import type { CosmeticFilter, FiltersEngine } from '@ghostery/adblocker';
import type { Category } from './category.js';
import type { Engines } from './engines.js';

/** A page's address in the form that hiding rules are matched against. */
export interface Site {
  url: string;
  hostname: string;
  domain: string;
}

/** The exceptions from hiding rules for one page. */
export interface HidingExceptions {
  /** Whether generic rules apply to the page. */
  general: boolean;
  /** Whether this rule applies to the page. */
  allows(rule: CosmeticFilter): boolean;
}

/**
 * The exceptions for this page in all active lists, each of which applies to the rules of all categories. A general selector
 * without id, class or link is excepted within its own category only, since the library stores those as text.
 */
export function hidingExceptions(engines: Engines, on: readonly Category[], site: Site): HidingExceptions {
  // A single engine already applies its own exceptions.
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
      // An exception that names no scriptlet applies to all scriptlets. Page-wide exceptions concern hiding only.
      if (rule.isScriptInject()) return !isUnhidden(keyOf(rule)) && !isUnhidden('');
      return (rule.isGenericHide() ? general : specific) && !isUnhidden(keyOf(rule));
    },
  };
}

/** The exceptions `$generichide`, `$specifichide` and `$elemhide`. */
function pageWideExceptions(engine: FiltersEngine, site: Site) {
  const { matches } = engine.matchCosmeticFilters({ ...site, getRulesFromDOM: false, getRulesFromHostname: false });
  return matches.flatMap(({ filter, exception }) => (filter === undefined ? [exception] : []));
}

/** The exceptions of each engine, one or two thousand, which are read once. */
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
