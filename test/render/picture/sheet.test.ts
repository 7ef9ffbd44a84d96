import { expect, it } from 'vitest';
import { sheetOf } from '../../../src/render/picture/paged-pdf.js';

const PAPER = { paper: { width: 8, height: 10 }, margin: { top: 1, right: 1, bottom: 1, left: 1 }, preferCssPageSize: false };

it.each([
  ['no rule', {}, { shrink: 1, contentWidth: 6, margins: { left: 1, right: 1, top: 1 } }],
  ['margins of its own', { 'margin-left': '2in', 'margin-top': '48px' }, { contentWidth: 5, margins: { left: 2, right: 1, top: 0.5 } }],
  ['a margin that depends on the paper', { 'margin-left': '10%' }, { contentWidth: 6, margins: { left: 1 } }],
  ['a smaller size', { size: '4in 6in' }, { shrink: 1, contentWidth: 2, margins: { left: 3, right: 3, top: 3 } }],
  ['a larger size', { size: '16in 20in' }, { shrink: 2, contentWidth: 14, margins: { left: 0.5, top: 0.5 } }],
  ['a square', { size: '16in' }, { shrink: 2, contentWidth: 14, margins: { left: 0.5, top: 1.5 } }],
  ['a named size on its side', { size: 'letter landscape' }, { shrink: 11 / 8, contentWidth: 9 }],
  ['a direction only', { size: 'landscape' }, { shrink: 1.25, contentWidth: 8 }],
])('the position of the content on paper is found for a page with %s', (_, own, sheet) => {
  expect(sheetOf(PAPER, own)).toMatchObject(sheet);
});

it("the page’s own size is the paper's if it is preferred", () => {
  expect(sheetOf({ ...PAPER, preferCssPageSize: true }, { size: 'tabloid' })).toMatchObject({
    shrink: 1,
    contentWidth: 9,
    margins: { left: 1 },
  });
});
