import { expect } from 'vitest';
import type { Rendering } from '../../src/render/capture.js';
import { blotOf } from '../render/picture/blots.js';
import type { Report } from './report.js';

const COLORS = [
  [200, 10, 10],
  [10, 200, 10],
  [10, 10, 200],
] as const;
const VIEW = { width: 320, height: 240, deviceScaleFactor: 1 };
const FULL = { full_page: true, viewport: VIEW };

/** Not seen but while its section is the current one. */
const HIDDEN = '<h1>Text</h1><style>h1{opacity:0;transition:opacity .3s}.active h1{opacity:1}</style>';

function sections(name: string, inside = ''): string {
  return COLORS.map((color) => `<section class="${name}" style="background:rgb(${color})">${inside}</section>`).join(
    '',
  );
}

/** Each section is as high as the view and follows the one before. */
async function showsAll({ content, height, diagnostics }: Rendering): Promise<void> {
  expect(height).toBe(COLORS.length * VIEW.height);
  expect(diagnostics).toMatchObject({ stoppedReason: 'end_of_page', truncated: false });
  for (const [at, color] of COLORS.entries()) {
    const { top, height: tall, pixels } = await blotOf(content, color);
    expect({ top, tall }).toEqual({ top: at * VIEW.height, tall: VIEW.height });
    expect(pixels).toBeGreaterThan(VIEW.width * VIEW.height * 0.9);
  }
}

const FULLPAGE = (options: string, inside = '') =>
  `<!doctype html><link rel=stylesheet href=/npm/fullpage.js/dist/fullpage.min.css><style>body{margin:0}</style><div id=fullpage>${sections('section', inside)}</div>
  <script src=/npm/fullpage.js/dist/fullpage.min.js></script><script>new fullpage('#fullpage', { licenseKey: 'gplv3-license', credits: { enabled: false }${options} })</script>`;

const SWIPER = (options: string) =>
  `<!doctype html><link rel=stylesheet href=/npm/swiper/swiper-bundle.min.css><style>html,body{margin:0;height:100%}.swiper{height:100vh}</style>
  <div class=swiper><div class=swiper-wrapper>${sections('swiper-slide')}</div></div>
  <script src=/npm/swiper/swiper-bundle.min.js></script><script>new Swiper('.swiper', { direction: 'vertical', mousewheel: true${options} })</script>`;

export const TRANSFORM_SCROLLERS: Record<string, Report> = {
  'All sections of a fullPage.js site are in the picture, one below another': {
    source: 'https://github.com/alvarotrigo/vue-fullpage.js/issues/272',
    page: FULLPAGE(''),
    request: FULL,
    right: showsAll,
  },
  'The texts that a fullPage.js site shows only in its current section are in the picture': {
    source: 'https://github.com/alvarotrigo/fullPage.js/issues/1283',
    page: FULLPAGE('', HIDDEN),
    request: FULL,
    async right(rendering) {
      await showsAll(rendering);
      expect(rendering.warnings).toEqual([]);
      const { height } = await blotOf(rendering.content, [0, 0, 0]);
      expect(height).toBeGreaterThan(2 * VIEW.height);
    },
  },
  'A page whose content smooth-scrollbar moves on each wheel event is pictured down to its end': {
    source: 'https://github.com/dolphin-wood/smooth-scrollbar/issues/247',
    page: `<!doctype html><style>html,body{margin:0;height:100%}#box{width:100vw;height:100vh;overflow:hidden;position:relative}section{height:100vh}</style>
      <div id=box tabindex=-1><div id=content style="transform:translate3d(0px, 0px, 0px)"><main>${sections('')}</main></div></div>
      <script>let y = 0; box.addEventListener('wheel', (event) => { event.preventDefault(); y = Math.min(content.offsetHeight - box.clientHeight, Math.max(0, y + event.deltaY));
        content.style.transform = \`translate3d(0px, \${-y}px, 0px)\` }, { passive: false })</script>`,
    request: FULL,
    right: showsAll,
  },
  'All slides of a vertical Swiper that is the whole page are in the picture': {
    source: 'https://github.com/puppeteer/puppeteer/issues/959',
    page: SWIPER(''),
    request: FULL,
    right: showsAll,
  },
  'All slides of a Swiper that fades from one to the next are in the picture, one below another': {
    source: 'https://github.com/puppeteer/puppeteer/issues/959',
    page: SWIPER(", effect: 'fade'"),
    request: FULL,
    right: showsAll,
  },
  'Fixed content that a script moves along with the document is not white below the first view': {
    source: 'https://github.com/puppeteer/puppeteer/issues/5318',
    page: `<!doctype html><style>body{margin:0}#box{position:fixed;inset:0;overflow:hidden}#content{will-change:transform}section{height:100vh}</style>
      <div id=box><div id=content style="transform:translate3d(0px, 0px, 0px)">${sections('')}</div></div>
      <script>document.body.style.height = content.offsetHeight + 'px'; let y = 0;
        (function follow() { y += (scrollY - y) * 0.2; content.style.transform = \`translate3d(0px, \${-y}px, 0px)\`; requestAnimationFrame(follow) })()</script>`,
    request: FULL,
    right: showsAll,
  },
};
