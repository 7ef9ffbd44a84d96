/** The state of elements before changes for one picture, so that the next one shows the page without them. */

/** Inline styles before they were changed. */
export class StyleLog {
  readonly #before = new Map<CSSStyleDeclaration, string>();

  /** To be called before a style is changed. */
  note(style: CSSStyleDeclaration): void {
    if (!this.#before.has(style)) this.#before.set(style, style.cssText);
  }

  undo(): void {
    for (const [style, cssText] of this.#before) style.cssText = cssText;
    this.#before.clear();
  }
}

interface Before {
  styles: StyleLog;
  positions: Map<Element, [left: number, top: number]>;
}

/** Null while nothing is recorded, as in captures of one picture. */
let before: Before | null = null;

/** Starts recording, and forgets what was recorded. */
export function record(): void {
  before = { styles: new StyleLog(), positions: new Map() };
}

/** To be called before an inline style is changed. */
export function noteStyle(style: CSSStyleDeclaration): void {
  before?.styles.note(style);
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
  before.styles.undo();
  const moved = [...before.positions].filter(
    ([{ scrollLeft, scrollTop }, [left, top]]) => scrollLeft !== left || scrollTop !== top,
  );
  for (const [element, [left, top]] of moved) element.scrollTo({ left, top, behavior: 'instant' });
  record();
  return moved.length > 0;
}
