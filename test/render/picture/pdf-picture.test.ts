import { expect, it } from 'vitest';
import { printTemplate, sheetOf } from '../../../src/render/picture/pdf-picture.js';

const MARGINS = { top: 1, right: 0.5, bottom: 0.125, left: 2 };
const roomOf = (html: string, part: 'header' | 'footer' = 'header') => {
  const [rules = ''] = printTemplate(part, html, MARGINS).split('</style>');
  return Array.from(rules.matchAll(/padding-(\w+):([^;}]+)/g), ([, side, room]) => `${side} ${room}`);
};
const LEFT = 'left 192px';
const RIGHT = 'right 48px';
const TOP = 'top min(15pt,84px)';

it.each([
  ['Page', [LEFT, RIGHT, TOP]],
  ['<p style="margin: 0 auto">Page', [LEFT, RIGHT, TOP]],
  ['<style>td { padding: 2px 4px }</style>Page', [LEFT, RIGHT, TOP]],
  ['<style>.a{scroll-margin:1cm;--padding:1cm}</style>Page', [LEFT, RIGHT, TOP]],
  ['<p style="PADDING : 0 1cm !important">Page', [TOP]],
  ["<p style='margin:1mm 2mm 3mm'>Page", [LEFT, RIGHT, TOP]],
  ['<p style="margin:5mm 2mm 3mm">Page', [LEFT, RIGHT]],
  ['<p style="margin:-15px 0 0 1em">Page', [RIGHT]],
  ['<p style="margin-left:15mm">Page', [RIGHT, TOP]],
  ['<p style="padding-inline:0 5%">Page', [LEFT, TOP]],
])('the header %s has the page’s margins at %j', (html, room) => {
  expect(roomOf(html)).toEqual(room);
});

it('a footer in a margin without room for a line is at the edge', () => {
  expect(roomOf('Page', 'footer')).toEqual([LEFT, RIGHT, 'bottom min(15pt,0px)']);
});

const PAPER = {
  paper: { width: 8, height: 10 },
  margin: { top: 1, right: 1, bottom: 1, left: 1 },
  preferCssPageSize: false,
};

it.each([
  ['no rule', {}, { shrink: 1, contentWidth: 6, mediaShare: 1, margins: { left: 1, right: 1, top: 1 } }],
  [
    'margins of its own',
    { 'margin-left': '2in', 'margin-top': '48px' },
    { contentWidth: 5, mediaShare: 1, margins: { left: 2, right: 1, top: 0.5 } },
  ],
  ['a margin that depends on the paper', { 'margin-left': '10%' }, { contentWidth: 6, margins: { left: 1 } }],
  [
    'a smaller size',
    { size: '4in 6in' },
    { shrink: 1, contentWidth: 2, mediaShare: 1, margins: { left: 3, right: 3, top: 3 } },
  ],
  [
    'a larger size',
    { size: '16in 20in' },
    { shrink: 2, contentWidth: 14, mediaShare: 6 / 14, margins: { left: 0.5, top: 0.5 } },
  ],
  ['a square', { size: '16in' }, { shrink: 2, contentWidth: 14, margins: { left: 0.5, top: 1.5 } }],
  ['a named size on its side', { size: 'letter landscape' }, { shrink: 11 / 8, contentWidth: 9 }],
  ['a direction only', { size: 'landscape' }, { shrink: 1.25, contentWidth: 8 }],
])('the position of the content on paper is found for a page with %s', (_, own, sheet) => {
  expect(sheetOf(PAPER, own)).toMatchObject(sheet);
});

it('the page has no size of its own on a single page', () => {
  expect(sheetOf({ ...PAPER, singlePage: true }, { size: '16in 20in' })).toMatchObject({ shrink: 1, contentWidth: 6 });
});

it("the page’s own size is the paper's if it is preferred", () => {
  expect(sheetOf({ ...PAPER, preferCssPageSize: true }, { size: 'tabloid' })).toMatchObject({
    shrink: 1,
    contentWidth: 9,
    margins: { left: 1 },
  });
});
