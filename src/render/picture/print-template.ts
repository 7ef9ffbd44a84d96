import { CSS_PX_PER_INCH, lengthToInches } from '../../contract/pdf-schema.js';

/** An empty template, since Chromium prints a date and the title by default. */
export const EMPTY_TEMPLATE = '<span></span>';
/** On a side where the template leaves at least this much room, in inches, its own style is kept. */
const ROOM_MIN_INCHES = 0.1;
/** The default font size. Chromium's is too small to read. */
const FONT_SIZE_PX = 10;
const LINE_PX = 1.2 * FONT_SIZE_PX;

type Side = 'top' | 'right' | 'bottom' | 'left';
/** Margins in inches. */
export type Margins = Record<Side, number>;

const SHORTHAND: Side[] = ['top', 'right', 'bottom', 'left'];
const SIDES_OF: Record<string, Side[]> = {
  ...Object.fromEntries(SHORTHAND.map((side) => [side, [side]])),
  inline: ['left', 'right'],
  'inline-start': ['left'],
  'inline-end': ['right'],
  block: ['top', 'bottom'],
  'block-start': ['top'],
  'block-end': ['bottom'],
};

/**
 * Prepares a template for printing: in a legible size, and as far from the paper's edges as the page's text, except on sides
 * with a padding or margin of its own. Its own style wins, and one line fits into a small margin.
 */
export function printTemplate(part: 'header' | 'footer', html: string, margins: Margins): string {
  const own = ownSides(html);
  const edge = part === 'header' ? 'top' : 'bottom';
  const rules = (['left', 'right'] as const).filter((side) => !own.has(side)).map((side) => `padding-${side}:${px(margins[side])}px`);
  // 15pt is Chromium's own distance from the paper's edge.
  if (!own.has(edge)) rules.push(`padding-${edge}:min(15pt,${px(Math.max(0, margins[edge] - LINE_PX / CSS_PX_PER_INCH))}px)`);
  return `<style>#${part}{font-size:${FONT_SIZE_PX}px;${rules.join(';')}}</style>${html}`;
}

/** The sides on which the template's styles leave room, anywhere in the template. */
function ownSides(html: string): Set<Side> {
  const own = new Set<Side>();
  for (const [, side, text = ''] of html.matchAll(/(?<![\w-])(?:padding|margin)(?:-([a-z-]{3,12}))?\s{0,9}:([^;"'}<]{1,100})/gi)) {
    const values = text
      .replace(/!\s*important/i, '')
      .trim()
      .split(/\s+/);
    if (side === undefined) {
      const [top, right = top, bottom = top, left = right] = values;
      for (const [nth, value] of [top, right, bottom, left].entries()) if (isRoomy(value)) own.add(SHORTHAND[nth] as Side);
    } else {
      const sides = SIDES_OF[side.toLowerCase()] ?? [];
      for (const [nth, one] of sides.entries()) if (isRoomy(values[nth] ?? values[0])) own.add(one);
    }
  }
  return own;
}

function isRoomy(value = ''): boolean {
  if (value === 'auto' || Number.parseFloat(value) === 0) return false;
  const inches = lengthToInches(value.replace(/^-/, ''));
  return inches === null || inches >= ROOM_MIN_INCHES;
}

function px(inches: number): number {
  return Math.round(inches * CSS_PX_PER_INCH * 100) / 100;
}
