import { type CosmeticFilter, type FiltersEngine, Request } from '@ghostery/adblocker';
import type { ProceduralRule } from '../in-page/procedural.js';
import { type Category, type Engines, matchedPart } from './engines.js';
import { parseProcedural } from './parse-procedural.js';

/** The rules of a page that change what it shows: style sheets and procedural rules. */

/** Selects the rules of a page. */
export interface Wanted {
  url: string;
  /** General rules, whatever the page contains. */
  base?: boolean;
  /** Rules for the page's host. */
  host?: boolean;
  /** General rules for these classes, ids and links of the page. */
  features?: { ids: string[]; classes: string[]; hrefs: string[] };
}

/**
 * The style sheets that hide elements from the start of a document: general rules, and rules for the hosts likely to serve
 * the target.
 * @returns null if there is nothing to hide
 */
export function startRules(engines: Engines, on: readonly Category[], url: string) {
  const base = hidingCss(engines, on, { url, base: true });
  const { hostname } = new URL(url);
  // The host with and without `www.` covers most redirects.
  const hosts = [hostname, hostname.startsWith('www.') ? hostname.slice(4) : `www.${hostname}`];
  const byHost = Object.fromEntries(
    hosts.map((host) => [host, hidingCss(engines, on, { url: `https://${host}/`, host: true })]),
  );
  return base === '' && Object.values(byHost).every((css) => css === '') ? null : { base, byHost };
}

/** The style sheet without rules for cookie banners, since a hidden banner cannot be declined. */
export function hidingCss(engines: Engines, on: readonly Category[], wanted: Wanted): string {
  return cssOf(engines, { of: on.filter((category) => category !== 'cookies'), on }, wanted);
}

/** The style sheet that hides cookie banners. */
export function bannerCss(engines: Engines, on: readonly Category[], wanted: Wanted): string {
  return cssOf(engines, { of: ['cookies'], on }, wanted);
}

/** The categories whose rules are wanted, and those whose exceptions hold. */
interface Scope {
  of: readonly Category[];
  on: readonly Category[];
}

/** Limits on the rules evaluated for one page, and on the characters of their selectors that are parsed: about 10 ms. */
const PROCEDURAL_MAX = 500;
const PROCEDURAL_MAX_CHARS = 100_000;

/** The rules for this page that no style sheet can express. */
export function proceduralRules(engines: Engines, scope: Scope, url: string): ProceduralRule[] {
  const rules: ProceduralRule[] = [];
  let chars = 0;
  for (const rule of activeRules(engines, scope, { url, host: true }).flatMap((active) => active.rules)) {
    if (!rule.isExtended()) continue;
    chars += rule.getSelector().length;
    if (rules.length >= PROCEDURAL_MAX || chars > PROCEDURAL_MAX_CHARS) break;
    rules.push(...parseProcedural(rule.getSelector(), rule.style));
  }
  return rules.slice(0, PROCEDURAL_MAX);
}

/** The style sheet of some categories' rules. */
function cssOf(engines: Engines, scope: Scope, wanted: Wanted): string {
  const sheets = activeRules(engines, scope, wanted).map(({ engine, rules, general }) => {
    const styles = rules.filter((rule) => !rule.isExtended());
    const { url, base: getBaseRules = false } = wanted;
    const only = { injectScriptlets: false, injectExtended: false, allowGenericHides: general };
    return engine.injectCosmeticFilters(styles, { url: matchedPart(url), getBaseRules, ...only }).styles;
  });
  return sheets.filter((sheet) => sheet !== '').join('\n');
}

/** The rules of each category for a page, without those that the list of any active category excepts, and whether general ones apply. */
function activeRules(engines: Engines, { of, on }: Scope, { url: address, host = false, features }: Wanted) {
  const url = matchedPart(address);
  const { hostname, domain } = Request.fromRawDetails({ url, type: 'main_frame' });
  const site = { url, hostname, domain };
  const exceptions = hidingExceptions(engines, on, site);
  return of.map((category) => {
    const engine = engines[category];
    const scope = { getRulesFromHostname: host, getRulesFromDOM: features !== undefined };
    const { matches, allowGenericHides } = engine.matchCosmeticFilters({ ...site, ...features, ...scope });
    const rules = matches.flatMap(({ filter, exception }) =>
      filter !== undefined && exception === undefined && exceptions.allow(filter) ? [filter] : [],
    );
    return { engine, rules, general: allowGenericHides && exceptions.allowGeneral };
  });
}

/**
 * The exceptions for a page in all active lists, each of which applies to the rules of all categories. A general selector
 * without id, class or link is excepted within its own category only, since the library stores those as text.
 */
function hidingExceptions(
  engines: Engines,
  on: readonly Category[],
  site: { url: string; hostname: string; domain: string },
) {
  // The exceptions `$generichide`, `$specifichide` and `$elemhide`.
  const pageWide = on.flatMap((category) => {
    const { matches } = engines[category].matchCosmeticFilters({
      ...site,
      getRulesFromDOM: false,
      getRulesFromHostname: false,
    });
    return matches.flatMap(({ filter, exception }) => (filter === undefined ? [exception] : []));
  });
  const allowGeneral = !pageWide.some((exception) => exception?.isGenericHide());
  const allowSpecific = !pageWide.some((exception) => exception?.isSpecificHide());
  const isUnhidden = (key: string) =>
    on.some((category) =>
      unhidesOf(engines[category])[key]?.some((unhide) => unhide.match(site.hostname, site.domain)),
    );
  return {
    allowGeneral,
    allow: (rule: CosmeticFilter): boolean =>
      (rule.isGenericHide() ? allowGeneral : allowSpecific) && !isUnhidden(keyOf(rule)),
  };
}

type Unhides = Partial<Record<string, CosmeticFilter[]>>;
/** The exceptions of each engine, one or two thousand, which are read once. */
const unhides = new WeakMap<FiltersEngine, Unhides>();

function unhidesOf(engine: FiltersEngine): Unhides {
  const known = unhides.get(engine);
  if (known !== undefined) return known;
  const read: Unhides = Object.create(null);
  for (const unhide of engine.cosmetics.unhideIndex.getFilters()) {
    read[keyOf(unhide)] ??= [];
    read[keyOf(unhide)]?.push(unhide);
  }
  unhides.set(engine, read);
  return read;
}

function keyOf(rule: CosmeticFilter): string {
  return `${rule.getSelector()}${rule.style ?? ''}`;
}
