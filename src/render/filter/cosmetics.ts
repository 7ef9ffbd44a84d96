import { type FiltersEngine, Request } from '@ghostery/adblocker';
import type { Category } from './category.js';
import { type Engines, matchedPart } from './engines.js';

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
  const base = joined(on, (category) => hiding(engines[category], url, { base: true, host: false, features: null }));
  const byHost = Object.fromEntries(likelyHosts(url).map((host) => [host, hostCss(engines, on, `https://${host}/`)]));
  if (base === '' && Object.values(byHost).every((css) => css === '')) return null;
  return { base, byHost };
}

/** Rules for the documents of one host. */
export function hostCss(engines: Engines, on: readonly Category[], url: string): string {
  return joined(on, (category) => hiding(engines[category], url, { base: false, host: true, features: null }));
}

/** With and without `www.`, which covers most redirects. */
function likelyHosts(url: string): string[] {
  const { hostname } = new URL(url);
  return [hostname, hostname.startsWith('www.') ? hostname.slice(4) : `www.${hostname}`];
}

/** Rules that depend on the page's content. */
export function featureCss(engines: Engines, on: readonly Category[], url: string, features: Features): string {
  return joined(on, (category) => hiding(engines[category], url, { base: false, host: false, features }));
}

/** Rules that hide cookie banners for this URL, whatever the page contains. */
export function bannerCss(engines: Engines, url: string): string {
  return hiding(engines.cookies, url, { base: true, host: true, features: null });
}

/** Rules that hide cookie banners by the page's content. */
export function bannerFeatureCss(engines: Engines, url: string, features: Features): string {
  return hiding(engines.cookies, url, { base: false, host: false, features });
}

function joined(on: readonly Category[], css: (category: Category) => string): string {
  return on
    .filter((category) => category !== 'cookies')
    .map(css)
    .filter((part) => part !== '')
    .join('\n');
}

function hiding(engine: FiltersEngine, address: string, want: { base: boolean; host: boolean; features: Features | null }): string {
  const url = matchedPart(address);
  const { hostname, domain } = Request.fromRawDetails({ url, type: 'main_frame' });
  return engine.getCosmeticsFilters({
    url,
    hostname,
    domain,
    ...(want.features ?? {}),
    getBaseRules: want.base,
    getRulesFromHostname: want.host,
    getRulesFromDOM: want.features !== null,
    // Scripts and pseudo-selectors of filter lists would need a runtime in the page.
    getInjectionRules: false,
    getExtendedRules: false,
  }).styles;
}
