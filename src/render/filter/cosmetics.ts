import { type FiltersEngine, Request } from '@ghostery/adblocker';
import type { Category } from './category.js';
import { type Engines, matchedPart } from './engines.js';

/** What a page has that hiding rules look for. */
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
 * What hides what these switches are about before anything of the document is there: general rules on whatever document comes, those of
 * a host on the hosts that the target is likely to be served from.
 * Rules for cookie banners are left out: a hidden banner could no longer be answered.
 *
 * @returns null when there is nothing to hide
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

/** With and without `www.`: what most redirects lead to. */
function likelyHosts(url: string): string[] {
  const { hostname } = new URL(url);
  return [hostname, hostname.startsWith('www.') ? hostname.slice(4) : `www.${hostname}`];
}

/** Rules that depend on what is in the page. */
export function featureCss(engines: Engines, on: readonly Category[], url: string, features: Features): string {
  return joined(on, (category) => hiding(engines[category], url, { base: false, host: false, features }));
}

/** Rules that hide cookie banners on a page of this address, whatever it holds. */
export function bannerCss(engines: Engines, url: string): string {
  return hiding(engines.cookies, url, { base: true, host: true, features: null });
}

/** Rules that hide cookie banners by what is in the page. */
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
