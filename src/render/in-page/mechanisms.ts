/** The changes applied to this document for its picture, for the log. A mechanism that fires on no real page can be removed. */
export type Mechanism =
  | 'element_freed'
  | 'fixed'
  | 'fixed_background'
  | 'held_for_paper'
  | 'hidden_by_own_style'
  | 'laid_flat'
  | 'page_revealed'
  | 'pinned_pseudo_element'
  | 'put_back'
  | 'scroll_unlocked'
  | 'scroller_expanded'
  | 'sticky';

const NAMES_KEPT = 20;
const NAME_MAX_CHARS = 120;

const fired = new Map<Mechanism, number>();
const names = new Map<Mechanism, string[]>();

export function fire(mechanism: Mechanism, where: Element | number = 1): void {
  const times = where instanceof Element ? 1 : where;
  if (times > 0) fired.set(mechanism, (fired.get(mechanism) ?? 0) + times);
  if (!(where instanceof Element)) return;
  const kept = names.get(mechanism) ?? [];
  names.set(mechanism, kept);
  if (kept.length < NAMES_KEPT) kept.push(nameOf(where));
}

/** How often each mechanism has fired in this document. */
export function counts(): Record<string, number> {
  return Object.fromEntries(fired);
}

/** The elements for which it fired, at most 20. */
export function elementsOf(mechanism: Mechanism): string[] {
  return names.get(mechanism) ?? [];
}

/** A name such as `nav#top.bar.dark`, at most 120 characters. */
export function nameOf(element: Element): string {
  // A form's `id` and `classList` may be its fields.
  const [id, classes] = ['id', 'class'].map((name) => (Element.prototype.getAttribute.call(element, name) ?? '').slice(0, NAME_MAX_CHARS));
  const named = `${element.localName}${id === '' ? '' : `#${id}`}${(classes ?? '').replace(/\s*(\S+)/g, '.$1')}`;
  return named.trim().slice(0, NAME_MAX_CHARS);
}
