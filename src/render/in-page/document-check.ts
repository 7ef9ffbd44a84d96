import { matchesOf } from './deep-selector.js';
import { all, body, documentProperty, isVisible } from './dom.js';
import { nextFrame } from './frames.js';

/** The text of Chromium's error block, which it inserts at the start of XML that does not parse; null if there is none. */
export function parseError(): string | null {
  const [block] = all('parsererror');
  const parent = block?.parentElement;
  if (block?.namespaceURI !== 'http://www.w3.org/1999/xhtml' || parent?.firstElementChild !== block) return null;
  if (parent !== documentProperty('documentElement') && parent !== body()) return null;
  return (block.querySelector('div')?.textContent ?? '').trim().slice(0, 300);
}

/** Whether the document is the browser's page for a single image that failed to load. */
export function isBrokenImage(): boolean {
  const [image] = all('img');
  return image instanceof HTMLImageElement && image.complete && image.naturalWidth === 0;
}

export function asksForPassword(): boolean {
  return all('input[type=password]').some(isVisible);
}

/** Resolves once a match is visible. Checks every frame, since style changes alone can affect visibility. */
export async function untilVisible(selector: string): Promise<void> {
  while (!matchesOf(selector).some(({ element, frames }) => [element, ...frames].every(isVisible))) await nextFrame();
}
