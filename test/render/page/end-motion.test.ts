import { expect, it } from 'vitest';
import { document, html } from '../../fixtures/site/answer.js';
import { colourAt } from '../picture/blots.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();

const STYLE = '<style>body{margin:0;font:20px sans-serif}#box{height:600px;background:rgb(0,128,0)}</style>';

/** The colour at the middle of the view, as hex. */
async function middleOf(body: string, wish: Record<string, unknown> = {}): Promise<string> {
  site.route('/moving', (_request, response) => html(response, document('Moving', body, STYLE)));
  return await colourAt((await rig.capture(site.url('/moving'), wish)).content, 400, 300);
}

const GREEN = '008000';
const FULL_PAGE = { full_page: true, full_page_algorithm: 'native' };
const FADES_IN = '<style>@keyframes k{to{opacity:1;transform:none}}</style><h1 style="position:absolute">Words</h1>';
const TIMED_OUT = `${FADES_IN}<div id="box" style="opacity:0;transform:translateY(40px);animation:k 3s 8s forwards"></div>`;
const WHOLE = '<style>@keyframes f{from{opacity:0}}#box{animation:f 20s}</style><div id="box">Words</div>';
const OBSERVED =
  '<style>#box{opacity:0;transition:opacity 20s}#box.on{opacity:1}</style><h1 style="position:absolute">Words</h1><div id="box"></div><script>new IntersectionObserver(([seen]) => { if (seen.isIntersecting) box.classList.add("on") }).observe(box)</script>';
const COVERED =
  '<div id="box">Words</div><div id="cover" style="position:fixed;inset:0;background:#224;transition:opacity 20s"></div><script>addEventListener("load", () => setTimeout(() => { cover.style.opacity = 0 }, 50))</script>';
/** The second motion begins when the page is notified of the end of the first. */
const CHAINED =
  '<style>@keyframes k{from{opacity:0}}h1{position:absolute;animation:k 20s}#box{opacity:0;transition:opacity 20s}</style><h1>Words</h1><div id="box"></div><script>document.querySelector("h1").onanimationend = () => { box.style.opacity = 1 }</script>';

it.each([
  ['a block that fades in after a while', TIMED_OUT, {}],
  ['the same in a native picture of the whole page', TIMED_OUT, FULL_PAGE],
  ['a page that fades in as a whole', WHOLE, {}],
  ['what an observer fades in', OBSERVED, { delay: 100 }],
  ['a page under a cover that fades out', COVERED, { delay: 200 }],
  ['what fades in once something else has', CHAINED, {}],
])('%s is captured at its end', async (_what, body, wish) => {
  expect(await middleOf(body, wish)).toBe(GREEN);
});

it('endless motion is frozen at its start', async () => {
  const body =
    '<style>@keyframes k{from{opacity:0}}#box{animation:k 1e6s linear infinite alternate}</style><h1>Words</h1><div id="box"></div>';
  expect(await middleOf(body)).toBe('ffffff');
});

it('motion is unchanged without `reduce_motion`', async () => {
  expect(await middleOf(TIMED_OUT, { reduce_motion: false })).toBe('ffffff');
});
