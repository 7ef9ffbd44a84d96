import { forceAll, pageScroller, sheetOf } from './dom.js';

/** Numbered boxes around elements, above everything else on the page, without a change of its layout. */

export interface Mark {
  number: number;
  /** CSS px of the page. */
  box: { x: number; y: number; width: number; height: number };
}

interface Label {
  x: number;
  y: number;
  width: number;
}

/** Colours that differ from each other, and that white text can be read on. */
const COLOURS = ['#c2185b', '#1565c0', '#2e7d32', '#6a1b9a', '#bf360c', '#00695c'];
const LABEL_HEIGHT_PX = 14;
const DIGIT_PX = 7;
const LABEL_PADDING_PX = 6;
const CSS_TEXT = `
  i, b { position: absolute; box-sizing: border-box; pointer-events: none }
  i { border: 1.5px solid var(--colour); border-radius: 2px; box-shadow: 0 0 0 1px #fff9 }
  b { height: ${LABEL_HEIGHT_PX}px; border-radius: 2px; background: var(--colour); color: #fff; text-align: center;
      font: bold 11px/${LABEL_HEIGHT_PX}px ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace }
`;

let host: HTMLElement | null = null;

/** Draws in the top layer, after dialogs and popovers, whose style sheets do not reach it. */
export function mark(marks: readonly Mark[]): void {
  clear();
  if (!(document.documentElement instanceof HTMLElement)) return;
  const box = document.createElement('div');
  // Popovers are placed in the middle of the view by the browser's own style sheet.
  box.setAttribute('popover', 'manual');
  box.setAttribute('aria-hidden', 'true');
  box.setAttribute(MARKS, '');
  forceAll(box, { all: 'initial', display: 'block', position: 'absolute', inset: '0 auto auto 0', width: '0', height: '0', margin: '0' });
  forceAll(box, { border: '0', padding: '0', background: 'none', overflow: 'visible', 'pointer-events': 'none', direction: 'ltr' });
  const tree = box.attachShadow({ mode: 'closed' });
  tree.adoptedStyleSheets = [sheetOf(CSS_TEXT)];
  tree.append(...drawn(marks));
  document.documentElement.append(box);
  box.showPopover();
  host = box;
}

const MARKS = 'data-stillframe-marks';

/** Removes what `mark` has drawn. */
export function clear(): void {
  host?.remove();
  // Another copy of this program has drawn it.
  for (const left of document.querySelectorAll(`html > [${MARKS}]`)) left.remove();
  host = null;
}

function drawn(marks: readonly Mark[]): HTMLElement[] {
  const labels: Label[] = [];
  return marks.flatMap(({ number, box }) => {
    const colour = COLOURS[(number - 1) % COLOURS.length] ?? '';
    const label = place(box, String(number).length * DIGIT_PX + LABEL_PADDING_PX, labels);
    labels.push(label);
    const text = part('b', { left: label.x, top: label.y, width: label.width }, colour);
    text.textContent = String(number);
    return [part('i', { left: box.x, top: box.y, width: box.width, height: box.height }, colour), text];
  });
}

function part(name: 'i' | 'b', px: Record<string, number>, colour: string): HTMLElement {
  const element = document.createElement(name);
  for (const [property, value] of Object.entries(px)) element.style.setProperty(property, `${value}px`);
  element.style.setProperty('--colour', colour);
  return element;
}

/** Above the box, or else at another corner where no number is yet, within the page. */
function place({ x, y, width, height }: Mark['box'], labelWidth: number, taken: readonly Label[]): Label {
  const { scrollWidth, scrollHeight } = pageScroller();
  const within = (left: number, top: number): Label => ({
    x: Math.max(0, Math.min(left, scrollWidth - labelWidth)),
    y: Math.max(0, Math.min(top, scrollHeight - LABEL_HEIGHT_PX)),
    width: labelWidth,
  });
  const right = x + width - labelWidth;
  const places = [
    within(x, y - LABEL_HEIGHT_PX),
    within(right, y - LABEL_HEIGHT_PX),
    within(x, y + height),
    within(right, y + height),
    within(x - labelWidth, y),
    within(x + width, y),
  ];
  const isFree = (one: Label) =>
    taken.every((other) => Math.abs(other.y - one.y) >= LABEL_HEIGHT_PX || other.x >= one.x + one.width || one.x >= other.x + other.width);
  return places.find(isFree) ?? within(x, y);
}
