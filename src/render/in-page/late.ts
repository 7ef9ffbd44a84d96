import { isPinned } from './containing.js';
import { documentProperty, pageScroller } from './dom.js';
import { sleep } from './frames.js';

/** What a page changes when it is scrolled, at once or later, as pages do that wait for scrolling to pause. */

const MOST_IMAGES = 5_000;
/** The most nodes that are checked for being pinned. */
const MOST_LOOKED_AT = 500;
const LOOK_EVERY_MS = 20;

interface Watch {
  observer: MutationObserver;
  /** Each node that has changed, with its former attributes. */
  changed: Map<Node, Map<string, string | null>>;
  /** The number of those that are not pinned to the view: pinned elements change with scrolling on many pages. */
  content: number;
  /** That number at the last call. */
  told: number;
  /** Nodes were added or removed. */
  rebuilt: boolean;
}

let watched: Watch | null = null;

/** Records changes from now on; a node that changes repeatedly, such as a clock or a carousel, counts once. */
export function watch(): void {
  begun();
}

/** Whether content has changed for the first time since the last call. */
export function stirred(): boolean {
  const state = begun();
  note(state, state.observer.takeRecords());
  const isNew = state.content > state.told;
  state.told = state.content;
  return isNew;
}

/** Whether everything that has changed has its former state again. */
export function isBack(): boolean {
  const state = begun();
  note(state, state.observer.takeRecords());
  if (state.rebuilt) return false;
  return Array.from(state.changed).every(([node, before]) =>
    Array.from(before).every(([name, value]) => ((node as Element).getAttribute(name) ?? '') === (value ?? '')),
  );
}

/** Whether nothing has changed, not even temporarily: an observer that marks what is in view would do so again for a larger view. */
export function isUntouched(): boolean {
  const state = begun();
  note(state, state.observer.takeRecords());
  return state.changed.size === 0;
}

/**
 * Waits for content to change that had not changed before.
 *
 * @returns whether it has
 * @param given.onlyLazy waits only if an image in view still has no source
 */
export async function change({ waitMs, onlyLazy }: { waitMs: number; onlyLazy: boolean }): Promise<boolean> {
  const scroller = pageScroller();
  begun();
  if (onlyLazy && !lazyInView()) return false;
  stirred();
  const height = scroller.scrollHeight;
  await sleep(waitMs);
  return stirred() || scroller.scrollHeight > height + 1;
}

/**
 * Waits until the page is longer than before, at most as long as given.
 *
 * @returns whether content has changed meanwhile
 */
export async function growth({ pageHeight, waitMs }: { pageHeight: number; waitMs: number }): Promise<boolean> {
  const scroller = pageScroller();
  stirred();
  for (const end = performance.now() + waitMs; performance.now() < end && scroller.scrollHeight <= pageHeight + 1; ) {
    await sleep(LOOK_EVERY_MS);
  }
  return stirred();
}

function begun(): Watch {
  if (watched !== null) return watched;
  const observer = new MutationObserver((records) => note(state, records));
  const state: Watch = { observer, changed: new Map(), content: 0, told: 0, rebuilt: false };
  observer.observe(document, {
    subtree: true,
    childList: true,
    attributeOldValue: true,
    attributeFilter: ['class', 'style', 'src', 'srcset', 'hidden'],
  });
  watched = state;
  return state;
}

function note(state: Watch, records: MutationRecord[]): void {
  for (const { target, attributeName, oldValue } of records) {
    const known = state.changed.get(target);
    const before = known ?? new Map<string, string | null>();
    if (known === undefined) {
      state.changed.set(target, before);
      const looks = state.changed.size <= MOST_LOOKED_AT && target instanceof Element;
      if (!looks || !isPinned(target, ['fixed', 'sticky'])) state.content++;
    }
    if (attributeName === null) state.rebuilt = true;
    else if (!before.has(attributeName)) before.set(attributeName, oldValue);
  }
}

/** An image that shows nothing yet, or a placeholder, and has data attributes, which may contain its source. */
function lazyInView(): boolean {
  return Array.from(documentProperty('images'))
    .slice(0, MOST_IMAGES)
    .some((image) => {
      if (image.naturalWidth > 1 && !image.currentSrc.startsWith('data:')) return false;
      if (Object.keys(image.dataset).length === 0) return false;
      const box = image.getBoundingClientRect();
      return box.bottom > 0 && box.top < innerHeight && box.width > 0;
    });
}
