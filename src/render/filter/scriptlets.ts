import { source } from '../in-page/scriptlets/run.js?bundled';
import type { Scriptlet } from '../in-page/scriptlets/scriptlet.js';
import type { Category } from './category.js';
import { likelyHosts, siteOf } from './cosmetics.js';
import type { Engines } from './engines.js';
import { hidingExceptions } from './hiding-exceptions.js';
import { readScriptlet } from './scriptlet-syntax.js';

/** Further ones for one host are not run. */
const SCRIPTLETS_MAX = 200;

/**
 * The script to run in each document before its own, for the hosts that the target is likely to be served from; null if the lists of
 * these switches call no scriptlets there.
 */
export function scriptletSource(engines: Engines, on: readonly Category[], url: string): string | null {
  const byHost = Object.fromEntries(likelyHosts(url).map((host) => [host, scriptletsOf(engines, on, `https://${host}/`)]));
  if (Object.values(byHost).every((scriptlets) => scriptlets.length === 0)) return null;
  return `(() => { ${source}\nstillframe.run(${JSON.stringify(byHost)}); })();`;
}

function scriptletsOf(engines: Engines, on: readonly Category[], url: string): Scriptlet[] {
  const site = siteOf(url);
  const exceptions = hidingExceptions(engines, on, site);
  const calls = new Map<string, Scriptlet>();
  for (const category of on) {
    const { matches } = engines[category].matchCosmeticFilters({ ...site, getRulesFromDOM: false, getExtendedRules: false });
    for (const { filter, exception } of matches) {
      if (!filter?.isScriptInject() || exception !== undefined || !exceptions.allows(filter)) continue;
      const scriptlet = readScriptlet(filter.getSelector());
      if (scriptlet !== null) calls.set(filter.getSelector(), scriptlet);
    }
  }
  return [...calls.values()].slice(0, SCRIPTLETS_MAX);
}
