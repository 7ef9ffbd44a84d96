import * as limits from '../../contract/limits.js';
import type * as program from '../in-page/facts-program.js';
import { source } from '../in-page/facts-program.js?bundled';
import type { ElementLimits } from '../in-page/page-elements.js';
import type { FactLimits } from '../in-page/page-facts.js';
import type { World } from '../page-session.js';

type Program = typeof program;

export const ELEMENT_LIMITS: ElementLimits = {
  items: limits.ELEMENTS_MAX_ITEMS,
  chars: limits.FACT_LIST_MAX_CHARS,
  nameChars: limits.ELEMENT_NAME_MAX_CHARS,
  selectorChars: limits.ELEMENT_SELECTOR_MAX_CHARS,
};

export const FACT_LIMITS: FactLimits = {
  textChars: limits.FACT_TEXT_MAX_CHARS,
  urlChars: limits.FACT_URL_MAX_CHARS,
  shortChars: limits.FACT_NAME_MAX_CHARS,
  nameChars: limits.ELEMENT_NAME_MAX_CHARS,
  links: limits.LINKS_MAX_ITEMS,
  linkChars: limits.FACT_LIST_MAX_CHARS,
  headings: limits.HEADINGS_MAX_ITEMS,
  icons: limits.ICONS_MAX_ITEMS,
  feeds: limits.FEEDS_MAX_ITEMS,
  fonts: limits.FONTS_MAX_ITEMS,
  properties: limits.PROPERTIES_MAX_ITEMS,
};

/**
 * Calls a function of the program that reads pages, which is sent to the page's isolated world each time.
 * @param how.timeoutMs the browser ends the function after this time of computing
 * @throws DocumentReplaced, or Error if the function throws or takes too long
 */
export async function callInPage<Name extends keyof Program>(
  world: Pick<World, 'run'>,
  name: Name,
  how: { given: Parameters<Program[Name]>; timeoutMs: number },
): Promise<unknown> {
  const given = how.given.map((one) => JSON.stringify(one)).join(',');
  return await world.run(`(() => { ${source}\nreturn stillframe.${name}(${given}); })()`, how.timeoutMs);
}
