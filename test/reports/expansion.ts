import { expect } from 'vitest';
import type { Rendering } from '../../src/render/capture.js';
import { blotOf } from '../render/picture/blots.js';
import type { Report } from './report.js';

const FULL_PAGE = { full_page: true };
const [HEADER, NAV, FOOTER, ITEM] = [[1, 2, 3] as const, [4, 5, 6] as const, [7, 8, 9] as const, [10, 11, 12] as const];
/** CSS px. */
const CONTENT = 1_600;
const ROWS = `<div style="height:${CONTENT}px"></div>`;
const paint = (rgb: readonly number[]) => `background:rgb(${rgb})`;

async function hasBox(
  { content }: Rendering,
  color: readonly [number, number, number],
  box: Record<string, number>,
): Promise<void> {
  expect(await blotOf(content, color)).toMatchObject(box);
}

export const EXPANSION: Record<string, Report> = {
  'a frameset whose frames have more content than they show says so': {
    source: 'https://github.com/wswebcreation/protractor-image-comparison/issues/99',
    page: {
      '/': '<frameset cols="20%,*"><frame src="inner"><frame src="inner"></frameset>',
      '/inner': `<!doctype html><h1>Words</h1>${ROWS}`,
    },
    request: FULL_PAGE,
    right: ({ warnings, diagnostics }) =>
      expect({ warnings, diagnostics }).toMatchObject({
        warnings: [{ code: 'content_missing' }],
        diagnostics: { truncated: true },
      }),
  },
  'a page that loads anew when its size changes is pictured whole': {
    source: 'https://github.com/puppeteer/puppeteer/issues/8690',
    page: `<!doctype html><style>html,body{margin:0;height:100%}main{height:100%;overflow:auto}</style><main><h1>Words</h1>${ROWS}</main><script>addEventListener('resize', () => location.reload())</script>`,
    request: FULL_PAGE,
    right: ({ height, diagnostics }) => {
      expect(height).toBeGreaterThan(CONTENT);
      expect(diagnostics.truncated).toBe(false);
    },
  },
  'a title bar and a menu around the content that scrolls keep their size and place': {
    source: 'https://github.com/microsoft/playwright-java/issues/1347',
    page: `<!doctype html><style>body{margin:0}#app{display:flex;flex-direction:column;height:100vh}header{height:50px;${paint(HEADER)}}
      .row{flex:1;display:flex;min-height:0}nav{width:200px;display:flex;align-items:center;${paint(NAV)}}nav i{width:100px;height:30px;${paint(ITEM)}}
      .column{width:100%;min-width:0;display:flex;flex-direction:column}main{overflow:auto}pre{width:1500px;margin:0}</style>
      <div id=app><header></header><div class=row><nav><i></i></nav><div class=column><main><pre>wide</pre>${ROWS}</main></div></div></div>`,
    request: FULL_PAGE,
    async right(rendering) {
      const line = rendering.height - 50 - CONTENT;
      expect(line).toBeGreaterThan(5);
      expect(line).toBeLessThan(30);
      await hasBox(rendering, HEADER, { top: 0, height: 50, width: 800 });
      // Beside a column that asks for all of the width, the menu has four fifths of its own.
      await hasBox(rendering, NAV, { left: 0, width: 160, top: 50, height: CONTENT + line });
      await hasBox(rendering, ITEM, { top: 50 + 275 - 15, height: 30 });
    },
  },
  'the bars above and below content that scrolls in a shadow tree, at an absolute place, stay around it': {
    source: 'https://github.com/microsoft/playwright/issues/12962',
    page: `<!doctype html><style>html,body{margin:0;width:100%;height:100%}body{position:fixed;overflow:hidden}#app{position:absolute;inset:0;display:flex;flex-direction:column;contain:layout size style}
      x-content{flex:1;position:relative;contain:size style;display:block}header,footer{height:56px;${paint(HEADER)}}footer{${paint(FOOTER)}}</style>
      <div id=app><header></header><x-content>${ROWS}</x-content><footer></footer></div>
      <script>document.querySelector('x-content').attachShadow({ mode: 'open' }).innerHTML =
        '<div style="position:absolute;inset:0;overflow:hidden auto;padding:16px;box-sizing:border-box"><slot></slot></div>'</script>`,
    request: FULL_PAGE,
    async right(rendering) {
      expect(rendering.height).toBe(CONTENT + 2 * 16 + 2 * 56);
      await hasBox(rendering, HEADER, { top: 0, height: 56 });
      await hasBox(rendering, FOOTER, { top: rendering.height - 56, height: 56 });
    },
  },
  'bricks at absolute places in a scroller stay there when it grows': {
    source: 'https://github.com/jaredLunde/masonic/issues/167',
    page: `<!doctype html><style>html,body{margin:0;height:100%}main{height:100%;overflow:auto}#wall{position:relative;height:${CONTENT}px}i{position:absolute;top:1000px;height:30px;width:100px;${paint(ITEM)}}</style>
      <main><div id=wall><i></i></div></main>`,
    request: FULL_PAGE,
    right: async (rendering) => await hasBox(rendering, ITEM, { top: 1_000, height: 30 }),
  },
  'a header that is a part of the height of a grid does not grow with the content that scrolls': {
    source: 'https://github.com/puppeteer/puppeteer/issues/746',
    page: `<!doctype html><style>body{margin:0}#app{display:grid;height:100vh;grid-template:10% 1fr 40px / 150px 1fr;transition:all 1s}header,footer{grid-column:1/3;${paint(HEADER)}}footer{${paint(FOOTER)}}
      nav{display:flex;flex-direction:column;justify-content:space-between;${paint(NAV)}}nav i{width:100px;height:30px;${paint(ITEM)}}nav b{height:30px}main{overflow:auto;transition:all 1s}</style>
      <div id=app><header></header><nav><b></b><i></i><b></b></nav><main>${ROWS}</main><footer></footer></div>`,
    request: FULL_PAGE,
    async right(rendering) {
      expect(rendering.height).toBe(60 + CONTENT + 40);
      await hasBox(rendering, HEADER, { top: 0, height: 60 });
      await hasBox(rendering, NAV, { top: 60, height: CONTENT });
      await hasBox(rendering, ITEM, { top: 60 + 250 - 15, height: 30 });
      await hasBox(rendering, FOOTER, { top: 60 + CONTENT, height: 40 });
    },
  },
  'sections as high as the view, of a page that shows one at a time, are pictured whole below one another': {
    source: 'https://github.com/puppeteer/puppeteer/issues/959',
    page: `<!doctype html><style>html,body{margin:0;height:100%;overflow:hidden}#all,section{height:100%;display:block}section{display:flex;align-items:center}section i{width:100px;height:30px;${paint(ITEM)}}</style>
      <div id=all>${[HEADER, NAV, FOOTER].map((rgb) => `<section style="${paint(rgb)}"><i></i></section>`).join('')}</div>
      <script>addEventListener('resize', () => { const all = [...document.querySelectorAll('section')];
        for (const one of all) one.style.height = innerHeight + 'px'; setTimeout(() => { for (const one of all) one.style.height = '' }, 400) })</script>`,
    request: FULL_PAGE,
    async right(rendering) {
      expect(rendering.height).toBe(3 * 600);
      for (const [at, color] of [HEADER, NAV, FOOTER].entries())
        await hasBox(rendering, color, { top: at * 600, height: 600 });
      await hasBox(rendering, ITEM, { top: 285, height: 1_200 + 30 });
    },
  },
  'content as high as the scroller that holds it keeps its height, and its pictures are cut as before': {
    source: 'https://github.com/mozilla-services/screenshots/issues/4487',
    page: `<!doctype html><style>html,body{margin:0;height:100%}main{height:100%;overflow-y:auto}section{height:100%;${paint(HEADER)}}section+section{overflow:hidden;background:none}img{max-height:100%;display:block;${paint(NAV)}}footer{height:50px;${paint(FOOTER)}}</style>
      <main><section></section><section><img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='900' height='1200'></svg>"></section><footer></footer></main>`,
    request: FULL_PAGE,
    async right(rendering) {
      expect(rendering.height).toBe(2 * 600 + 50);
      await hasBox(rendering, HEADER, { top: 0, height: 600 });
      await hasBox(rendering, NAV, { top: 600, height: 600, width: 450 });
      await hasBox(rendering, FOOTER, { top: 1_200, height: 50 });
    },
  },
};
