import { documentProperty } from './dom.js';

/** The alpha of a computed colour, from 0 (transparent) to 1 (opaque). */
export function alphaOf(colour: string): number {
  if (colour === 'transparent' || colour === '') return 0;
  const slash = /\/\s*([\d.]+)(%?)\s*\)$/.exec(colour);
  if (slash !== null) return Number(slash[1]) / (slash[2] === '%' ? 100 : 1);
  const legacy = /^rgba\([^,]+,[^,]+,[^,]+,\s*([\d.]+)\)$/.exec(colour);
  return legacy === null ? 1 : Number(legacy[1]);
}

const styleGetter = Object.getOwnPropertyDescriptor(HTMLElement.prototype, 'style')?.get;

/** A form's `style` may be one of its fields. */
export function styleOf(element: HTMLElement): CSSStyleDeclaration {
  return element instanceof HTMLFormElement ? styleGetter?.call(element) : element.style;
}

export function force(element: HTMLElement, property: string, value: string): void {
  styleOf(element).setProperty(property, value, 'important');
}

export function forceAll(element: HTMLElement, properties: Record<string, string>): void {
  for (const [property, value] of Object.entries(properties)) force(element, property, value);
}

/** Adds a style sheet that no content policy can block. */
export function adopt(css: string): CSSStyleSheet {
  const sheet = sheetOf(css);
  keepAdopted([sheet]);
  return sheet;
}

export function sheetOf(css: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  return sheet;
}

/** Adds the sheets again that the page has removed, for instance by replacing the whole list. */
export function keepAdopted(sheets: readonly CSSStyleSheet[]): void {
  const there = documentProperty('adoptedStyleSheets');
  if (sheets.every((sheet) => there.includes(sheet))) return;
  document.adoptedStyleSheets = [...there.filter((sheet) => !sheets.includes(sheet)), ...sheets];
}
