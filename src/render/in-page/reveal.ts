import { body, documentProperty, hasVisibleStyle } from './dom.js';
import { fire } from './mechanisms.js';
import { force } from './styles.js';

/**
 * Shows a page that hides itself until a script shows it (anti-flicker snippets of A/B tests), in case the script did not
 * load. The page's own time limit would do the same.
 * @returns whether it was hidden and contains text
 */
export function showHiddenPage(): boolean {
  const holders = [documentProperty('documentElement'), body()].filter((element) => element !== null);
  const page = holders.at(-1);
  if (page === undefined || hasVisibleStyle(page) || (page.textContent ?? '').trim() === '') return false;
  for (const holder of holders) {
    const { visibility, opacity } = getComputedStyle(holder);
    if (visibility === 'hidden') force(holder, 'visibility', 'visible');
    if (Number(opacity) === 0) force(holder, 'opacity', '1');
  }
  fire('page_revealed');
  return hasVisibleStyle(page);
}
