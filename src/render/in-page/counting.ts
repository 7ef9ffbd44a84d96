import { sleep } from './frames.js';

/**
 * Numbers that count up and bars that fill by script, without an animation: changes are observed from `watch` on, and repeated ones are
 * waited for.
 */

/** Changes after which an element counts as counting. */
const CHANGES = 3;
/** A number that has changed this recently may have begun to count. */
const FIRST_STEP_MAX_MS = 300;
const NUMBER_MAX_CHARS = 24;
/** Clocks, prices and games never end. */
const WAIT_MAX_MS = 2_500;
const LOOK_EVERY_MS = 50;
/** Samples without a change after which a count is over. */
const QUIET_LOOKS = 5;
const FIRST_QUIET_LOOKS = 3;

const changes = new WeakMap<Node, number>();
let watching = false;
let changedAt = Number.NEGATIVE_INFINITY;
let isCounting = false;

/** Observes changes from now on; further calls do nothing. */
export function watch(): void {
  if (watching) return;
  watching = true;
  const options = { subtree: true, childList: true, characterData: true, attributeFilter: ['style'], attributeOldValue: true };
  new MutationObserver((records) => records.forEach(note)).observe(document, options);
}

/**
 * Waits while something counts, at most `ms`. Measures in samples, not by the clock: a page that is blocked for a while continues
 * afterwards.
 */
export async function counted(ms: number): Promise<void> {
  const began = performance.now();
  if (began - changedAt > FIRST_STEP_MAX_MS) return;
  const isOver = () => performance.now() - began > Math.min(ms, WAIT_MAX_MS);
  for (let quiet = 0; quiet < (isCounting ? QUIET_LOOKS : FIRST_QUIET_LOOKS) && !isOver(); quiet++) {
    const before = changedAt;
    await sleep(LOOK_EVERY_MS);
    if (changedAt !== before) quiet = -1;
  }
  isCounting = false;
}

function note({ type, target, oldValue, removedNodes, addedNodes }: MutationRecord): void {
  const place = type === 'characterData' ? target.parentNode : target;
  if (place === null || !(type === 'attributes' ? isResized(target as HTMLElement, oldValue) : isNumber(target, removedNodes, addedNodes)))
    return;
  const times = (changes.get(place) ?? 0) + 1;
  changes.set(place, times);
  changedAt = performance.now();
  if (times >= CHANGES) isCounting = true;
}

function isNumber(target: Node, removed: NodeList, added: NodeList): boolean {
  if (target.nodeType !== Node.TEXT_NODE && (removed.length !== 1 || added.length !== 1)) return false;
  const text = target.nodeType === Node.TEXT_NODE ? target.nodeValue : added[0]?.nodeType === Node.TEXT_NODE ? added[0].nodeValue : null;
  return text !== null && text.length <= NUMBER_MAX_CHARS && /\p{N}/u.test(text);
}

function isResized(element: HTMLElement, before: string | null): boolean {
  const width = /(?:^|[\s;])width:\s*([\d.]+%)/;
  const now = width.exec(Element.prototype.getAttribute.call(element, 'style') ?? '')?.[1];
  return now !== undefined && now !== width.exec(before ?? '')?.[1];
}
