import { expect } from 'vitest';
import { blotOf } from '../render/picture/blots.js';
import { printedBoxes } from '../render/picture/pdf-pages.js';
import type { Report } from './report.js';

const FULL_PAGE = { full_page: true };
const BLOCK = [1, 2, 3] as const;
const BAR = [4, 5, 6] as const;
const BLOCKS = 8;
/** Blocks of 200 px, 300 px apart. */
const COLUMN = `<style>body{margin:0}section{height:200px;margin:0 0 100px;background:rgb(${BLOCK})}</style>${'<section></section>'.repeat(BLOCKS)}`;
const ALL_OPAQUE = { top: 0, height: (BLOCKS - 1) * 300 + 200, pixels: BLOCKS * 200 * 800 };

/** Sections of 300 px, 700 px apart, as jarallax makes them. */
const WINDOWS = `<!doctype html><style>body{margin:0}section{position:relative;height:300px;margin-bottom:700px}section div{position:absolute;inset:0;clip-path:polygon(0 0,100% 0,100% 100%,0 100%)}
  i{position:fixed;top:0;left:0;width:100%;height:400px;background:rgb(${BLOCK})}</style>${'<section><div><i></i></div></section>'.repeat(4)}
  <script>const move = () => { for (const one of document.querySelectorAll('i')) one.style.transform = 'translateY(' + one.parentElement.getBoundingClientRect().top * .9 + 'px)'; }
  addEventListener('scroll', move); move()</script>`;

export const SCROLL_ANIMATIONS: Record<string, Report> = {
  'blocks that fade and rise in as they come into the view are opaque and in place all down the page': {
    source: 'https://github.com/nodetool-ai/nodetool/pull/4339',
    page: `<!doctype html>${COLUMN}<style>@keyframes in{from{opacity:0;translate:0 16px}}section{animation:in linear both;animation-timeline:view();animation-range:entry 5% cover 40%}</style>`,
    request: FULL_PAGE,
    right: async ({ content }) => expect(await blotOf(content, BLOCK)).toMatchObject(ALL_OPAQUE),
  },
  'blocks that a script fades in and out again, in an inner scroller that is expanded, look as in the middle of the view':
    {
      source: 'https://github.com/microsoft/playwright/issues/40941',
      page: `<!doctype html><style>main{height:100vh;overflow-y:auto}</style><main>${COLUMN}</main>
      <script>for (const subject of document.querySelectorAll('section')) subject.animate({ opacity: [0, 1, 1, 0], offset: [0, .4, .6, 1] }, { fill: 'both', timeline: new ViewTimeline({ subject }) })</script>`,
      request: { ...FULL_PAGE, full_page_algorithm: 'native', reduce_motion: false },
      right: async ({ content }) => expect(await blotOf(content, BLOCK)).toMatchObject(ALL_OPAQUE),
    },
  'what goes by the scroll position of the page, or of its expanded scroller, stays as at the top': {
    source: 'https://github.com/mehdibha/dotUI/pull/350',
    page: `<!doctype html><style>@keyframes on{to{height:600px;background:red}}@keyframes off{to{opacity:0}}body{margin:0}main{height:100vh;overflow-y:auto;scroll-timeline:--main}
      div{height:40px;background:rgb(${BAR});animation:on linear both;animation-timeline:scroll(root)}i{display:block;height:50px;background:rgb(${BLOCK})}</style>
      <main><div></div><i></i><p style="height:2000px;margin:0"></p></main>
      <script>document.querySelector('i').animate({ opacity: [1, 0] }, { fill: 'both', timeline: new ScrollTimeline({ source: document.querySelector('main') }) })</script>`,
    request: FULL_PAGE,
    async right({ content, height }) {
      expect(height).toBe(2_090);
      expect(await blotOf(content, BAR)).toMatchObject({ top: 0, height: 40, pixels: 40 * 800 });
      expect(await blotOf(content, BLOCK)).toMatchObject({ top: 40, height: 50, pixels: 50 * 800 });
    },
  },
  'cards that GSAP fades in one after the other, and out again, are all opaque': {
    source: 'https://gsap.com/docs/v3/Plugins/ScrollTrigger/static.batch()/',
    page: `<!doctype html><style>body{margin:0}b{float:left;width:30%;margin:10px;height:180px;background:rgb(${BLOCK})}</style>${'<b></b>'.repeat(24)}
      <script src=/npm/gsap/dist/gsap.min.js></script><script src=/npm/gsap/dist/ScrollTrigger.min.js></script>
      <script>gsap.registerPlugin(ScrollTrigger); gsap.set('b', { opacity: 0 });
      const fadeIn = (batch) => gsap.to(batch, { opacity: 1, stagger: .15, overwrite: true }), hide = (batch) => gsap.set(batch, { opacity: 0, overwrite: true });
      ScrollTrigger.batch('b', { onEnter: fadeIn, onLeave: hide, onEnterBack: fadeIn, onLeaveBack: hide })</script>`,
    request: FULL_PAGE,
    right: async ({ content }) => expect(await blotOf(content, BLOCK)).toMatchObject({ pixels: 24 * 240 * 180 }),
  },
  'drawings that are fixed to the view, and seen through boxes that clip them, fill their boxes all down the page': {
    source: 'https://github.com/nk-o/jarallax/issues/25',
    page: WINDOWS,
    request: FULL_PAGE,
    right: async ({ content }) =>
      expect(await blotOf(content, BLOCK)).toMatchObject({ top: 0, height: 3_300, pixels: 4 * 300 * 800 }),
  },
  'such drawings fill their boxes on paper': {
    source: 'https://github.com/nk-o/jarallax/issues/25',
    page: WINDOWS,
    request: { format: 'pdf', pdf: { paper: { width: '800px', height: '4000px' }, margin: '0px' } },
    async right({ content }) {
      const boxes = (await printedBoxes(content)).filter(({ color }) => color === `rgb(${BLOCK})`);
      expect(boxes).toMatchObject([0, 1_000, 2_000, 3_000].map((top) => ({ top, height: 300 })));
    },
  },
  'a PDF shows each block as in the middle of the view, and the progress of the page as at its top': {
    source: 'https://github.com/w3c/csswg-drafts/issues/8226',
    page: `<!doctype html>${COLUMN}<style>@keyframes in{from{background:rgb(255,0,0)}}section{animation:in linear both;animation-timeline:view();animation-range:entry}
      @keyframes read{to{height:500px}}div{position:absolute;height:20px;width:50px;background:rgb(${BAR});animation:read linear both;animation-timeline:scroll()}</style><div></div>`,
    request: { ...FULL_PAGE, full_page_algorithm: 'native', format: 'pdf' },
    async right({ content }) {
      const boxes = await printedBoxes(content);
      const blocks = boxes.filter(({ height }) => height === 200).map(({ color }) => color);
      expect(blocks).toEqual(Array.from({ length: BLOCKS }, () => `rgb(${BLOCK})`));
      expect(boxes.filter(({ color }) => color === `rgb(${BAR})`)).toMatchObject([{ height: 20 }]);
    },
  },
};
