import { expect } from 'vitest';
import { blotOf } from '../render/picture/blots.js';
import { pageSizes } from '../render/picture/pdf-pages.js';
import type { Report } from './report.js';

const MARK = [1, 2, 3] as const;
const box = (style: string) => `<div style="background:rgb(1,2,3);${style}"></div>`;
const TWO_HALVES = `<div style="display:flex;width:1600px;height:700px">${box('flex:1')}<div style="flex:1;background:red"></div></div>`;
/** 2,000 px wide: a mark, which is painted once it has been in view, at its right end. */
const WIDE_BOARD = `<!doctype html><style>body{margin:0}@media (min-width:801px){div{display:none}}.seen{background:rgb(1,2,3)}</style>
  <header style="width:100%;height:40px;background:red"></header>
  <div style="position:relative;width:2000px;height:700px;background:#eee"><div id=last style="position:absolute;right:0;width:100px;height:100px"></div></div>
  <script>new IntersectionObserver(([last]) => { if (last.isIntersecting) last.target.className = 'seen' }).observe(last)</script>`;
/** 2,000 × 1,500 px, with a mark where it begins. */
const COLUMNS = (mode: string) =>
  `<!doctype html><style>html{writing-mode:${mode}}body{margin:0}main{width:2000px;height:1500px}</style><main>${box('width:100px;height:50px')}</main>`;
const TALL = `<!doctype html><style>body{margin:0}</style>${box('height:100px')}<div style="height:3000px;background:red"></div><footer style="position:fixed;bottom:0;width:80px;height:40px;background:rgb(1,2,3)"></footer>`;

export const SIZES: Record<string, Report> = {
  'a full page that is cut at the right says so': {
    source: 'https://github.com/microsoft/playwright/issues/13339',
    page: `<!doctype html><body style="margin:0">${TWO_HALVES}`,
    request: { full_page: true },
    right({ width, warnings }) {
      expect(width).toBe(800);
      expect(warnings).toEqual([{ code: 'content_cut_right', message: expect.stringContaining('1600 CSS px') }]);
    },
  },
  'a full page in full width shows what lies beside the view, also what loads there only in view, in the layout of the view':
    {
      source: 'https://github.com/reg-viz/storycap-testrun/pull/300',
      page: WIDE_BOARD,
      request: { full_page: true, full_width: true },
      async right({ width, height, content, warnings }) {
        expect({ width, height, warnings }).toEqual({ width: 2_000, height: 740, warnings: [] });
        expect(await blotOf(content, MARK)).toMatchObject({
          left: 1_900,
          top: 40,
          width: 100,
          height: 100,
          pixels: 10_000,
        });
        expect(await blotOf(content, [255, 0, 0])).toMatchObject({ left: 0, width: 800, height: 40 });
      },
    },
  'a table that scrolls sideways in an app is whole in full width': {
    source: 'https://github.com/PyWizards/Selenium_Screenshot/issues/12',
    page: `<!doctype html><style>html,body{margin:0;height:100%}#app{display:flex;height:100%}nav{width:100px}main{flex:1;min-width:0;overflow:hidden auto}#wrap{overflow-x:auto}td{padding:0}</style>
      <div id=app><nav></nav><main><div id=wrap><table cellspacing=0><tr><td>${box('width:1400px;height:900px')}<td>${box('width:100px;height:900px;background:red')}</table></div></main></div>`,
    request: { full_page: true, full_width: true },
    async right({ width, height, content, warnings }) {
      expect({ width, height, warnings }).toEqual({ width: 1_600, height: 900, warnings: [] });
      expect(await blotOf(content, [255, 0, 0])).toMatchObject({ left: 1_500, width: 100, height: 900 });
    },
  },
  'a page in vertical columns from right to left begins at the right, and is whole in full width': {
    source: 'https://github.com/MoonchildProductions/Pale-Moon/issues/1466',
    page: COLUMNS('vertical-rl'),
    request: { full_page: true, full_width: true },
    right: async ({ content }) =>
      expect(await blotOf(content, MARK)).toMatchObject({ left: 1_900, top: 0, width: 100, height: 50, pixels: 5_000 }),
  },
  'a page that is read upwards begins with the view at its end, and a picture of it has the part above': {
    source: 'https://github.com/MoonchildProductions/Pale-Moon/issues/1466',
    page: COLUMNS('sideways-lr'),
    request: { full_page: true },
    async right({ width, height, content, warnings }) {
      expect({ width, height, warnings }).toMatchObject({
        width: 800,
        height: 1_500,
        warnings: [{ code: 'content_cut_right' }],
      });
      expect(await blotOf(content, MARK)).toMatchObject({ left: 0, top: 1_450, width: 100, height: 50, pixels: 5_000 });
    },
  },
  'a page that is wider than 8,000 px is cut there, and says so': {
    source: 'https://github.com/PyWizards/Selenium_Screenshot/issues/12',
    page: `<!doctype html><body style="margin:0">${box('width:9000px;height:100px')}`,
    request: { full_page: true, full_width: true, full_page_scroll_delay: 0 },
    right({ width, warnings }) {
      expect(width).toBe(8_000);
      expect(warnings).toEqual([{ code: 'content_cut_right', message: expect.stringContaining('9000 CSS px') }]);
    },
  },
  'a full page ends at the greatest height that was requested, and is told to be truncated': {
    source: 'https://github.com/dgtlmoon/changedetection.io/issues/3810',
    page: TALL,
    request: { full_page: true, max_height: 1_000 },
    async right({ width, height, content, diagnostics }) {
      expect({ width, height }).toEqual({ width: 800, height: 1_000 });
      expect(diagnostics).toMatchObject({ truncated: true, stoppedReason: 'max_height', scrollHeight: 3_100 });
      expect((await blotOf(content, MARK)).pixels).toBe(800 * 100 + 80 * 40);
    },
  },
  'a full page as one page of a PDF ends at the greatest height too': {
    source: 'https://github.com/buildinternet/uploads/issues/652',
    page: TALL,
    request: { full_page: true, full_page_algorithm: 'native', format: 'pdf', max_height: 500 },
    async right({ content, diagnostics }) {
      expect(await pageSizes(content)).toEqual([{ width: 800, height: 500 }]);
      expect(diagnostics).toMatchObject({ truncated: true, stoppedReason: 'max_height' });
    },
  },
  'a page whose body alone is right-to-left begins at the right, and says that its left is cut': {
    source: 'https://github.com/pagedjs/pagedjs/issues/308',
    page: `<!doctype html><body dir=rtl style="margin:0">${TWO_HALVES}`,
    request: { full_page: true, full_page_algorithm: 'native' },
    async right({ content, warnings }) {
      expect(await blotOf(content, MARK)).toMatchObject({ width: 800, height: 700, pixels: 560_000 });
      expect(warnings).toEqual([{ code: 'content_cut_left', message: expect.stringContaining('to the left') }]);
    },
  },
  'a right-to-left page that a phone shows zoomed out is not shifted': {
    source: 'https://github.com/zinserjan/wdio-screenshot/issues/94',
    page: `<!doctype html><meta name=viewport content="width=device-width"><body dir=rtl style="margin:0">${TWO_HALVES}`,
    request: {
      full_page: true,
      full_page_algorithm: 'native',
      viewport: { width: 400, height: 300, deviceScaleFactor: 1, isMobile: true },
    },
    async right({ content, warnings }) {
      expect(await blotOf(content, MARK)).toMatchObject({ left: 800, width: 800, height: 700 });
      expect(warnings).toEqual([]);
    },
  },
  'a right-to-left page in full width shows what lies to the left': {
    source: 'https://github.com/pagedjs/pagedjs/issues/308',
    page: `<!doctype html><body dir=rtl style="margin:0">${TWO_HALVES}`,
    request: { full_page: true, full_width: true },
    async right({ content, width, warnings }) {
      expect({ width, warnings }).toEqual({ width: 1_600, warnings: [] });
      expect(await blotOf(content, MARK)).toMatchObject({ left: 800, width: 800, height: 700, pixels: 560_000 });
    },
  },
};
