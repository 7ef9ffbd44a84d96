import { documentProperty } from './dom.js';

/** 0 transparent … 1 opaque, of a computed colour. */
export function alphaOf(colour: string): number {
  if (colour === 'transparent' || colour === '') return 0;
  const slash = /\/\s*([\d.]+)(%?)\s*\)$/.exec(colour);
  if (slash !== null) return Number(slash[1]) / (slash[2] === '%' ? 100 : 1);
  const legacy = /^rgba\([^,]+,[^,]+,[^,]+,\s*([\d.]+)\)$/.exec(colour);
  return legacy === null ? 1 : Number(legacy[1]);
}

const styleGetter = Object.getOwnPropertyDescriptor(HTMLElement.prototype, 'style')?.get;

/** A form's `style` may be a field of that name. */
export function styleOf(element: HTMLElement): CSSStyleDeclaration {
  return element instanceof HTMLFormElement ? styleGetter?.call(element) : element.style;
}

export function force(element: HTMLElement, property: string, value: string): void {
  styleOf(element).setProperty(property, value, 'important');
}

export function forceAll(element: HTMLElement, properties: Record<string, string>): void {
  for (const [property, value] of Object.entries(properties)) force(element, property, value);
}

/** Adds a style sheet that no content policy forbids. */
export function adopt(css: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  keepAdopted([sheet]);
  return sheet;
}

/** Adds those sheets that the page, which may replace the whole list, has taken away. */
export function keepAdopted(sheets: readonly CSSStyleSheet[]): void {
  const there = documentProperty('adoptedStyleSheets');
  if (sheets.every((sheet) => there.includes(sheet))) return;
  document.adoptedStyleSheets = [...there.filter((sheet) => !sheets.includes(sheet)), ...sheets];
}
