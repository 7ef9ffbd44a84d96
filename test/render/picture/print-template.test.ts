import { expect, it } from 'vitest';
import { printTemplate } from '../../../src/render/picture/paged-pdf.js';

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
