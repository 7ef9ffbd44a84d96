/** Numbers that count up and bars that fill by script, without an animation: changes are observed from `watch` on. */

/** Changes after which an element counts as counting. */
const CHANGES = 3;
const NUMBER_MAX_CHARS = 24;

const changes = new WeakMap<Node, number>();
let watching = false;
let hasCounted = false;

/** Observes changes from now on; further calls do nothing. */
export function watch(): void {
  if (watching) return;
  watching = true;
  const options = { subtree: true, childList: true, characterData: true, attributeFilter: ['style'], attributeOldValue: true };
  new MutationObserver((records) => records.forEach(note)).observe(document, options);
}

/** Whether anything has counted since the last call. */
export function isCounting(): boolean {
  const counted = hasCounted;
  hasCounted = false;
  return counted;
}

function note({ type, target, oldValue, removedNodes, addedNodes }: MutationRecord): void {
  const place = type === 'characterData' ? target.parentNode : target;
  if (place === null || !(type === 'attributes' ? isResized(target as HTMLElement, oldValue) : isNumber(target, removedNodes, addedNodes)))
    return;
  const times = (changes.get(place) ?? 0) + 1;
  changes.set(place, times);
  if (times >= CHANGES) hasCounted = true;
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
