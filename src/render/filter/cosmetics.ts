import { Request } from '@ghostery/adblocker';
import type { ProceduralRule } from '../in-page/procedural-rule.js';
import type { Category } from './category.js';
import { type Engines, matchedPart } from './engines.js';
import { hidingExceptions, type Site } from './hiding-exceptions.js';
import { parseProcedural } from './parse-procedural.js';

/** The classes, ids and links of a page that hiding rules can match. */
export interface Features {
  ids: string[];
  classes: string[];
  hrefs: string[];
}

/** The style sheets to apply at the start of a document. */
export interface StartRules {
  base: string;
  byHost: Record<string, string>;
}

/**
 * The style sheets that hide elements from the start of a document: general rules, and rules for the hosts likely to serve
 * the target. Rules for cookie banners are omitted, since a hidden banner cannot be declined.
 * @returns null if there is nothing to hide
 */
export function startRules(engines: Engines, on: readonly Category[], url: string): StartRules | null {
  const base = exceptBanners(engines, on, { url, base: true });
  const byHost = Object.fromEntries(likelyHosts(url).map((host) => [host, hostCss(engines, on, `https://${host}/`)]));
  if (base === '' && Object.values(byHost).every((css) => css === '')) return null;
  return { base, byHost };
}

/** Rules for the documents of one host. */
export function hostCss(engines: Engines, on: readonly Category[], url: string): string {
  return exceptBanners(engines, on, { url, host: true });
}

/** The host with and without `www.`, which covers most redirects. */
export function likelyHosts(url: string): string[] {
  const { hostname } = new URL(url);
  return [hostname, hostname.startsWith('www.') ? hostname.slice(4) : `www.${hostname}`];
}

/** Rules that depend on the page's content. */
export function featureCss(engines: Engines, on: readonly Category[], at: { url: string; features: Features }): string {
  return exceptBanners(engines, on, at);
}

/** Rules that hide cookie banners for this URL, whatever the page contains. */
export function bannerCss(engines: Engines, on: readonly Category[], url: string): string {
  return hiding(engines, { of: ['cookies'], on }, { url, base: true, host: true });
}

/** Rules that hide cookie banners by the page's content. */
export function bannerFeatureCss(engines: Engines, on: readonly Category[], at: { url: string; features: Features }): string {
  return hiding(engines, { of: ['cookies'], on }, at);
}

/** Limits on the rules evaluated for one page, and on the characters of their selectors that are parsed: about 10 ms. */
const PROCEDURAL_MAX = 500;
const PROCEDURAL_MAX_CHARS = 100_000;

/** The rules of some categories for this page that no style sheet can express, without those excepted by any active category. */
export function proceduralRules(
  engines: Engines,
  { of, on }: { of: readonly Category[]; on: readonly Category[] },
  url: string,
): ProceduralRule[] {
  const site = siteOf(url);
  const exceptions = hidingExceptions(engines, on, site);
  const rules: ProceduralRule[] = [];
  let chars = 0;
  for (const category of of) {
    const { matches } = engines[category].matchCosmeticFilters({ ...site, getRulesFromDOM: false, getInjectionRules: false });
    for (const { filter, exception } of matches) {
      if (rules.length >= PROCEDURAL_MAX || chars >= PROCEDURAL_MAX_CHARS) break;
      if (!filter?.isExtended() || exception !== undefined || !exceptions.allows(filter)) continue;
      chars += filter.getSelector().length;
      rules.push(...parseProcedural(filter.getSelector(), filter.style));
    }
  }
  return rules.slice(0, PROCEDURAL_MAX);
}

/** Selects the rules of a page. */
interface Wanted {
  url: string;
  base?: boolean;
  host?: boolean;
  features?: Features;
}

function exceptBanners(engines: Engines, on: readonly Category[], wanted: Wanted): string {
  return hiding(engines, { of: on.filter((category) => category !== 'cookies'), on }, wanted);
}

// Rules that a style sheet cannot express are matched separately.
const STYLES_ONLY = { getInjectionRules: false, getExtendedRules: false, injectScriptlets: false, injectExtended: false };

/** The style sheet of some categories' rules, without those excepted by the lists of any active category. */
function hiding(engines: Engines, { of, on }: { of: readonly Category[]; on: readonly Category[] }, wanted: Wanted): string {
  if (of.length === 0) return '';
  const { base = false, host = false, features } = wanted;
  const site = siteOf(wanted.url);
  const exceptions = hidingExceptions(engines, on, site);
  const asked = { ...site, ...features, getRulesFromHostname: host, getRulesFromDOM: features !== undefined };
  const css = of.map((category) => {
    const engine = engines[category];
    const { matches, allowGenericHides } = engine.matchCosmeticFilters({ ...asked, ...STYLES_ONLY });
    const rules = matches.flatMap(({ filter, exception }) =>
      filter !== undefined && exception === undefined && exceptions.allows(filter) ? [filter] : [],
    );
    const general = allowGenericHides && exceptions.general;
    return engine.injectCosmeticFilters(rules, { url: site.url, ...STYLES_ONLY, allowGenericHides: general, getBaseRules: base }).styles;
  });
  return css.filter((part) => part !== '').join('\n');
}

/** A page's address in the form that hiding rules are matched against. */
export function siteOf(address: string): Site {
  const url = matchedPart(address);
  const { hostname, domain } = Request.fromRawDetails({ url, type: 'main_frame' });
  return { url, hostname, domain };
}
