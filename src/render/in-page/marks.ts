import { overlaps } from './boxes.js';
import { adopt, allIn, forceAll, pageScroller, sheetOf } from './dom.js';

/** Numbered boxes around elements, above everything else on the page, without a change of its layout. */

export interface Mark {
  number: number;
  /** In CSS px of the page. */
  box: DOMRect;
}

/** Colors that differ from each other, and that white text can be read on. */
const COLORS = ['#c2185b', '#1565c0', '#2e7d32', '#6a1b9a', '#bf360c', '#00695c'];
const LABEL_HEIGHT_PX = 14;
const DIGIT_PX = 7;
const LABEL_PADDING_PX = 6;
const CSS_TEXT = `
  i, b { position: absolute; box-sizing: border-box; pointer-events: none }
  i { border: 1.5px solid var(--color); border-radius: 2px; box-shadow: 0 0 0 1px #fff9 }
  b { height: ${LABEL_HEIGHT_PX}px; border-radius: 2px; background: var(--color); color: #fff; text-align: center;
      font: bold 11px/${LABEL_HEIGHT_PX}px ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace }
`;

const MARKS = 'data-stillframe-marks';

/** Draws in the top layer, after dialogs and popovers, whose style sheets do not reach it. */
export function mark(marks: readonly Mark[]): void {
  clear();
  if (!(document.documentElement instanceof HTMLElement)) return;
  const box = document.createElement('div');
  // Popovers are placed in the middle of the view by the browser's own style sheet.
  box.setAttribute('popover', 'manual');
  box.setAttribute('aria-hidden', 'true');
  box.setAttribute(MARKS, '');
  forceAll(box, {
    all: 'initial',
    display: 'block',
    position: 'absolute',
    inset: '0 auto auto 0',
    width: '0',
    height: '0',
    margin: '0',
  });
  forceAll(box, {
    border: '0',
    padding: '0',
    background: 'none',
    overflow: 'visible',
    'pointer-events': 'none',
    direction: 'ltr',
  });
  const tree = box.attachShadow({ mode: 'closed' });
  tree.adoptedStyleSheets = [sheetOf(CSS_TEXT)];
  tree.append(...drawn(marks));
  // Pages give all backdrops a color, which would cover the page.
  adopt(`[${MARKS}]::backdrop { display: none !important }`);
  document.documentElement.append(box);
  box.showPopover();
}

/** Removes what `mark` has drawn, also in an earlier run of this program. */
export function clear(): void {
  for (const box of allIn(document, `html > [${MARKS}]`)) box.remove();
}

function drawn(marks: readonly Mark[]): HTMLElement[] {
  const labels: DOMRect[] = [];
  return marks.flatMap(({ number, box }) => {
    const color = COLORS[(number - 1) % COLORS.length] ?? '';
    const others = marks.flatMap((mark) => (mark.number === number ? [] : [mark.box]));
    const label = place(box, String(number).length * DIGIT_PX + LABEL_PADDING_PX, { labels, others });
    labels.push(label);
    const text = part('b', label, color);
    text.textContent = String(number);
    return [part('i', box, color), text];
  });
}

function part(name: 'i' | 'b', { left, top, width, height }: DOMRect, color: string): HTMLElement {
  const element = document.createElement(name);
  for (const [property, value] of Object.entries({ left, top, width, height }))
    element.style.setProperty(property, `${value}px`);
  element.style.setProperty('--color', color);
  return element;
}

/** The first place beside the box, within the page, that covers no other element and no other number, if there is one. */
function place(
  { x, y, width, height }: DOMRect,
  labelWidth: number,
  taken: { labels: readonly DOMRect[]; others: readonly DOMRect[] },
): DOMRect {
  const { scrollWidth, scrollHeight } = pageScroller();
  const within = (left: number, top: number) =>
    new DOMRect(
      Math.max(0, Math.min(left, scrollWidth - labelWidth)),
      Math.max(0, Math.min(top, scrollHeight - LABEL_HEIGHT_PX)),
      labelWidth,
      LABEL_HEIGHT_PX,
    );
  const right = x + width - labelWidth;
  const places = [
    within(x, y - LABEL_HEIGHT_PX),
    within(right, y - LABEL_HEIGHT_PX),
    within(x - labelWidth, y),
    within(x + width, y),
    within(x, y + height),
    within(right, y + height),
  ];
  const isFree = (one: DOMRect, areas: readonly DOMRect[]) => areas.every((other) => !overlaps(one, other));
  const apart = places.filter((one) => isFree(one, taken.labels));
  return apart.find((one) => isFree(one, taken.others)) ?? apart[0] ?? within(x, y);
}
