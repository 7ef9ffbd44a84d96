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

/** Style sheets. */
export interface StartRules {
  base: string;
  byHost: Record<string, string>;
}

/**
 * The style sheet that hides elements from the start of a document: general rules for every document, and rules of a host for the hosts
 * that the target is likely to be served from.
 * Omits rules for cookie banners: a hidden banner could no longer be declined.
 *
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

/** With and without `www.`, which covers most redirects. */
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

/** More rules for one page are not evaluated, and no more characters of their selectors are parsed: about 10 ms. */
const PROCEDURAL_MAX = 500;
const PROCEDURAL_MAX_CHARS = 100_000;

/** The rules of some switches for this page that no style sheet can express, less exceptions of any switch that is on. */
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

/** Which rules of a page are asked for. */
interface Wanted {
  url: string;
  base?: boolean;
  host?: boolean;
  features?: Features;
}

function exceptBanners(engines: Engines, on: readonly Category[], wanted: Wanted): string {
  return hiding(engines, { of: on.filter((category) => category !== 'cookies'), on }, wanted);
}

// What a style sheet cannot express is asked for separately.
const STYLES_ONLY = { getInjectionRules: false, getExtendedRules: false, injectScriptlets: false, injectExtended: false };

/** The rules of some switches, less what the lists of any switch that is on make an exception of. */
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

/** A page's address in the terms of hiding rules. */
export function siteOf(address: string): Site {
  const url = matchedPart(address);
  const { hostname, domain } = Request.fromRawDetails({ url, type: 'main_frame' });
  return { url, hostname, domain };
}
