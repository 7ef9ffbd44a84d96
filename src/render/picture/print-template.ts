import { CSS_PX_PER_INCH, lengthToInches } from '../../contract/lengths.js';

/** Chromium prints a date and the title where a template is not given. */
export const EMPTY_TEMPLATE = '<span></span>';
/** A side of the paper on which a template leaves at least so much room itself, inches, is left as the template has it. */
const OWN_ROOM_INCHES = 0.1;
/** Without it, text of a template without a size of its own is too small to read. */
const FONT_SIZE_PX = 10;
const LINE_PX = 1.2 * FONT_SIZE_PX;

type Side = 'top' | 'right' | 'bottom' | 'left';
/** Inches. */
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
 * A header's or footer's template as the browser prints it: in a readable size, and as far from the paper's edges as the page's text, but
 * for the sides on which it has a padding or margin of its own. The template's own style wins. One line stays within a small margin.
 */
export function printTemplate(part: 'header' | 'footer', html: string, margins: Margins): string {
  const own = ownSides(html);
  const edge = part === 'header' ? 'top' : 'bottom';
  const rules = (['left', 'right'] as const).filter((side) => !own.has(side)).map((side) => `padding-${side}:${px(margins[side])}px`);
  // 15pt is Chromium's own distance from the paper's edge.
  if (!own.has(edge)) rules.push(`padding-${edge}:min(15pt,${px(Math.max(0, margins[edge] - LINE_PX / CSS_PX_PER_INCH))}px)`);
  return `<style>#${part}{font-size:${FONT_SIZE_PX}px;${rules.join(';')}}</style>${html}`;
}

/** The sides on which the template's styles leave room, wherever they stand in it. */
function ownSides(html: string): Set<Side> {
  const own = new Set<Side>();
  for (const [, side, text = ''] of html.matchAll(/(?<![\w-])(?:padding|margin)(?:-([a-z-]{3,12}))?\s{0,9}:([^;"'}<]{1,100})/gi)) {
    const values = text
      .replace(/!\s*important/i, '')
      .trim()
      .split(/\s+/);
    if (side === undefined) {
      const [top, right = top, bottom = top, left = right] = values;
      for (const [nth, value] of [top, right, bottom, left].entries()) if (leavesRoom(value)) own.add(SHORTHAND[nth] as Side);
    } else {
      const sides = SIDES_OF[side.toLowerCase()] ?? [];
      for (const [nth, one] of sides.entries()) if (leavesRoom(values[nth] ?? values[0])) own.add(one);
    }
  }
  return own;
}

function leavesRoom(value = ''): boolean {
  if (value === 'auto' || Number.parseFloat(value) === 0) return false;
  const inches = lengthToInches(value.replace(/^-/, ''));
  return inches === null || inches >= OWN_ROOM_INCHES;
}

function px(inches: number): number {
  return Math.round(inches * CSS_PX_PER_INCH * 100) / 100;
}
