/** The state of elements before changes for one picture, so that the next one shows the page without them. */

interface Before {
  styles: Map<CSSStyleDeclaration, string>;
  positions: Map<Element, [left: number, top: number]>;
}

/** Null while nothing is recorded, as in captures of one picture. */
let before: Before | null = null;

/** Starts recording, and forgets what was recorded. */
export function record(): void {
  before = { styles: new Map(), positions: new Map() };
}

/** To be called before an inline style is changed. */
export function noteStyle(style: CSSStyleDeclaration): void {
  if (before !== null && !before.styles.has(style)) before.styles.set(style, style.cssText);
}

/** To be called before elements are scrolled. */
export function notePositions(elementsOf: () => readonly Element[]): void {
  if (before === null) return;
  for (const element of elementsOf()) {
    if (!before.positions.has(element)) before.positions.set(element, [element.scrollLeft, element.scrollTop]);
  }
}

/**
 * Undoes the recorded changes, and goes on recording.
 * @returns whether anything was scrolled back
 */
export function undoRecorded(): boolean {
  if (before === null) return false;
  for (const [style, cssText] of before.styles) style.cssText = cssText;
  const moved = [...before.positions].filter(([{ scrollLeft, scrollTop }, [left, top]]) => scrollLeft !== left || scrollTop !== top);
  for (const [element, [left, top]] of moved) element.scrollTo({ left, top, behavior: 'instant' });
  record();
  return moved.length > 0;
}
