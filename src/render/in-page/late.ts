import { isPinned } from './containing.js';
import { documentProperty, pageScroller } from './dom.js';
import { sleep } from './frames.js';

/** What a page does when it is scrolled, at once or a while after, as those do that wait for the scrolling to pause. */

const MOST_IMAGES = 5_000;
/** Nodes that are looked at for whether they are pinned. */
const MOST_LOOKED_AT = 500;
const LOOK_EVERY_MS = 20;

interface Watch {
  observer: MutationObserver;
  /** Each node that has changed, with what its attributes were before. */
  changed: Map<Node, Map<string, string | null>>;
  /** How many of them are not pinned to the view: what is, changes with the scrolling on many pages. */
  content: number;
  /** How many there were when last asked. */
  told: number;
  /** Nodes have come or gone. */
  rebuilt: boolean;
}

let watched: Watch | null = null;

/** Notes from now on what changes: what does so again and again, as a clock or a carousel, counts once. */
export function watch(): void {
  begun();
}

/** Whether content has changed that had not before, since this was last asked. */
export function stirred(): boolean {
  const state = begun();
  note(state, state.observer.takeRecords());
  const isNew = state.content > state.told;
  state.told = state.content;
  return isNew;
}

/** Whether all that has changed is again as it was. */
export function isBack(): boolean {
  const state = begun();
  note(state, state.observer.takeRecords());
  if (state.rebuilt) return false;
  return Array.from(state.changed).every(([node, before]) =>
    Array.from(before).every(([name, value]) => ((node as Element).getAttribute(name) ?? '') === (value ?? '')),
  );
}

/** Whether nothing has changed, not even for a while: an observer that marks where the view is would do so again for a larger one. */
export function isUntouched(): boolean {
  const state = begun();
  note(state, state.observer.takeRecords());
  return state.changed.size === 0;
}

/**
 * Waits, and tells whether content has changed meanwhile that had not changed before.
 *
 * @param given.onlyLazy waits only where an image in view still waits for its source
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
 * Waits until the page is longer than it was, but no longer than given.
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

/** An image that shows nothing yet, or next to nothing, and carries data of its own, such as where its source is. */
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
