import { all, allIn, documentProperty } from './dom.js';

const PROGRAM = /javascript|^(module)?$/i;
const RUNNING = 'object,embed,[onload],[onerror],[onpageshow]';

/**
 * Whether the page runs scripts, or contains a frame that runs them, is still loading or cannot be read. Without scripts, a
 * page cannot change by itself.
 */
export function runsScript(root: Document = document): boolean {
  // Most pages have a script element, which is faster to find than the other elements.
  if ([...documentProperty('scripts', root)].some((script) => PROGRAM.test(script.getAttribute('type') ?? ''))) return true;
  if (Document.prototype.querySelector.call(root, RUNNING) !== null) return true;
  return allIn(root, 'iframe,frame').some((frame) => {
    const inner = (frame as HTMLIFrameElement).contentDocument ?? null;
    return inner === null || inner.readyState !== 'complete' || runsScript(inner);
  });
}

/** Seconds until a pending `<meta http-equiv="refresh">`, or null if there is none. */
export function refreshAfterS(): number | null {
  const times = all('meta')
    .filter((meta) => /^refresh$/i.test(Element.prototype.getAttribute.call(meta, 'http-equiv') ?? ''))
    .map((meta) => Number.parseFloat(Element.prototype.getAttribute.call(meta, 'content') ?? ''))
    .filter((seconds) => seconds >= 0);
  return times.length === 0 ? null : Math.min(...times);
}
