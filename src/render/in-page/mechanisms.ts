/** What had to be done to this document for its picture, for the log: a mechanism that fires on no real page need not be kept. */
export type Mechanism =
  | 'element_freed'
  | 'fixed'
  | 'fixed_background'
  | 'held_for_paper'
  | 'hidden_by_own_style'
  | 'page_revealed'
  | 'pinned_pseudo_element'
  | 'put_back'
  | 'scroll_unlocked'
  | 'scroller_expanded'
  | 'sticky';

const fired = new Map<Mechanism, number>();

export function fire(mechanism: Mechanism, times = 1): void {
  if (times > 0) fired.set(mechanism, (fired.get(mechanism) ?? 0) + times);
}

/** How often each has fired in this document. */
export function told(): Record<string, number> {
  return Object.fromEntries(fired);
}
