import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { words } from '../../fixtures/site/answer.js';
import { colorAt } from '../picture/blots.js';
import { siteAndRig, type Wish } from './capture-rig.js';

const { site, rig, serve } = await siteAndRig();

/** `SAME_BYTES_REPEATS=100 npx vitest run test/render/page/same-bytes.test.ts` for the trial of a hundred captures of each page. */
const REPEATS = Number(process.env.SAME_BYTES_REPEATS ?? 2);

const frames = [0, 1, 2].map((shade) => ({
  create: { width: 60, height: 60, channels: 3 as const, background: { r: 90 * shade, g: 60, b: 20 } },
}));
const GIF = await sharp(await Promise.all(frames.map((frame) => sharp(frame).png().toBuffer())), {
  join: { animated: true },
})
  .gif({ delay: [70, 70, 70], loop: 0 })
  .toBuffer();
site.route('/three.gif', (_request, response) => response.writeHead(200, { 'content-type': 'image/gif' }).end(GIF));

const BOX = '#box{width:90px;height:90px;background:linear-gradient(90deg,teal,orange)}';
const SPIN = `<style>@keyframes spin{to{transform:rotate(1turn)}}${BOX}.spin{animation:spin 700ms linear infinite}</style>`;
const FOCUS = '<script>document.querySelector("[autofocus]").focus()</script>';
const count = (step: string) =>
  `<h1></h1><script>{ const n = document.currentScript.previousElementSibling; let at = 0; const show = () => { n.textContent = (++at * 37).toLocaleString('en'); }; ${step} }</script>`;

const ENDLESS: Record<string, string> = {
  'an animated picture': '<img src="/three.gif">',
  'an animated background': '<div style="background:url(/three.gif);height:100px"></div>',
  'a wheel that turns': `${SPIN}<div id="box" class="spin"></div>`,
  'a wheel of a pseudo-element':
    '<style>b::after{content:"";display:block;width:50px;height:50px;background:linear-gradient(red,blue);animation:spin 1s infinite}</style><b></b>',
  'a wheel of a script': `<div style="width:90px;height:90px;background:linear-gradient(teal,orange)"></div><script>document.currentScript.previousElementSibling.animate([{}, { transform: 'rotate(1turn)' }], { duration: 900, iterations: Infinity })</script>`,
  'a wheel in a frame': `<iframe srcdoc="${SPIN.replaceAll('"', '&quot;')}<div id=box class=spin>"></iframe>`,
  'a wheel in a shadow tree': `<x-a></x-a><script>document.querySelector("x-a").attachShadow({ mode: "open" }).innerHTML = ${JSON.stringify(SPIN)} + '<div id="box" class="spin">'</script>`,
  'a wheel of an SVG':
    '<svg width="90" height="90"><rect width="40" height="40" fill="teal"><animateTransform attributeName="transform" type="rotate" from="0" to="360" dur="1s" repeatCount="indefinite"/></rect></svg>',
  'dots that pulse in turn': `<style>@keyframes p{50%{opacity:.2}}i{display:inline-block;width:30px;height:30px;background:#246;animation:p 900ms infinite}</style>${[0, 150, 300].map((ms) => `<i style="animation-delay:${ms}ms"></i>`).join('')}`,
  'text that runs by': `<style>@keyframes r{to{transform:translateX(-50%)}}p{white-space:nowrap;animation:r 8s linear infinite}</style><p>${words(60)}</p>`,
  'a skeleton that shimmers':
    '<style>@keyframes s{to{background-position:-400px 0}}u{display:block;height:80px;background:linear-gradient(90deg,#ddd,#fff,#ddd) 0 0/400px;animation:s 1.2s infinite}</style><u></u>',
  'a bar of unknown length': '<progress style="width:300px;height:30px"></progress>',
};

const COMING_TO_AN_END: Record<string, string> = {
  'a number that counts by frames': count('const go = () => { show(); if (at < 70) requestAnimationFrame(go); }; go()'),
  'a number that counts by a timer': count(
    'const timer = setInterval(() => { show(); if (at === 30) clearInterval(timer); }, 50)',
  ),
  'a bar that fills by a transition':
    '<style>#slow{height:30px;width:0;background:teal;transition:width 2s}</style><div id="slow"></div><script>addEventListener("load", () => setTimeout(() => { slow.style.width = "80%" }, 30))</script>',
  'a bar that fills by a timer':
    '<div id="bar" style="height:30px;background:teal;width:0"></div><script>let w = 0; const t = setInterval(() => { bar.style.width = ++w + "%"; if (w === 60) clearInterval(t); }, 20)</script>',
};

const FAR_DOWN: Record<string, string> = {
  'space above': `<div style="height:700px">${words(50)}</div>`,
  'a picture that fades in when seen':
    '<style>img{opacity:0;transition:opacity 1.5s}img.on{opacity:1}</style><img src="/image/200x100/cc4400.png?wait=60">' +
    '<script>{ const o = new IntersectionObserver((all) => { for (const e of all) if (e.isIntersecting) e.target.classList.add("on"); }); for (const i of document.images) o.observe(i) }</script>',
  'space between': '<div style="height:700px"></div>',
  'a number that counts when seen': count(
    'new IntersectionObserver(([e], o) => { if (!e.isIntersecting) return; o.disconnect(); const t = setInterval(() => { show(); if (at === 40) clearInterval(t); }, 25); }).observe(n)',
  ),
  'a wheel far down': `${SPIN}<div id="box" class="spin"></div>`,
};

/** Each part in a block of its own, which nothing in it grows out of. */
function blocks(parts: Record<string, string>): string {
  return Object.values(parts)
    .map((part) => `<section style="min-height:100px;overflow:hidden">${part}</section>`)
    .join('');
}

async function isTheSameEachTime(body: string, wish: Wish = {}): Promise<void> {
  const url = serve(body);
  const seen = new Set<string>();
  for (let time = 0; time < REPEATS; time++) {
    // Now early, now late in a blink.
    const { content } = await rig.capture(url, { ...wish, delay: (time % 3) * 230, timeout: 60_000 });
    seen.add(Buffer.from(content).toString('base64'));
  }
  expect(seen.size).toBe(1);
}

describe.concurrent('a page yields the same picture each time, byte for byte', () => {
  it.each<[what: string, body: string, wish?: Wish]>([
    // Only one place of a page has the caret.
    ['a caret in a field', `<input autofocus value="Words" style="font-size:40px">${FOCUS}`],
    [
      'a caret in a shadow tree',
      '<h1>Words</h1><x-a></x-a><script>const root = document.querySelector("x-a").attachShadow({ mode: "open" }); root.innerHTML = "<input>"; root.firstChild.focus()</script>',
    ],
    [
      'a caret in a frame',
      `<h1>Words</h1><iframe srcdoc="<input autofocus><script>document.querySelector('input').focus()</script>"></iframe><script>document.querySelector("iframe").onload = ({ target }) => target.contentWindow.focus()</script>`,
    ],
    ['endless motion', blocks(ENDLESS), { viewport: { width: 800, height: 1_400, deviceScaleFactor: 1 } }],
    ['finite motion', blocks(COMING_TO_AN_END)],
    ['motion that begins once it is seen', blocks(FAR_DOWN), { full_page: true }],
  ])('with %s', (_what, body, wish) => isTheSameEachTime(body, wish), 20_000 * REPEATS);
});

describe.concurrent('motion', () => {
  const STYLE = '<style>body{margin:0;font:20px sans-serif}#box{height:600px;background:rgb(0,128,0)}</style>';
  const HEADING = '<h1 style="position:absolute">Words</h1>';
  const FADES_IN = `<style>@keyframes k{to{opacity:1;transform:none}}</style>${HEADING}<div id="box" style="opacity:0;transform:translateY(40px);animation:k 3s 8s forwards"></div>`;
  const WHOLE = '<style>@keyframes f{from{opacity:0}}#box{animation:f 20s}</style><div id="box">Words</div>';
  const OBSERVED = `<style>#box{opacity:0;transition:opacity 20s}#box.on{opacity:1}</style>${HEADING}<div id="box"></div><script>new IntersectionObserver(([seen]) => { if (seen.isIntersecting) box.classList.add("on") }).observe(box)</script>`;
  const COVERED =
    '<div id="box">Words</div><div id="cover" style="position:fixed;inset:0;background:#224;transition:opacity 20s"></div><script>addEventListener("load", () => setTimeout(() => { cover.style.opacity = 0 }, 50))</script>';
  /** The second motion begins when the page is notified of the end of the first. */
  const CHAINED =
    '<style>@keyframes k{from{opacity:0}}h1{position:absolute;animation:k 20s}#box{opacity:0;transition:opacity 20s}</style><h1>Words</h1><div id="box"></div><script>document.querySelector("h1").onanimationend = () => { box.style.opacity = 1 }</script>';
  const SWINGING =
    '<style>@keyframes k{from{opacity:0}}#box{animation:k 1e6s linear infinite alternate}</style><h1>Words</h1><div id="box"></div>';

  it.each<[what: string, body: string, wish?: Wish, color?: string]>([
    ['a block that fades in after a while is captured at its end', FADES_IN],
    [
      'the same is, in a native picture of the whole page',
      FADES_IN,
      { full_page: true, full_page_algorithm: 'native' },
    ],
    ['a page that fades in as a whole is captured at its end', WHOLE],
    ['what an observer fades in is captured at its end', OBSERVED, { delay: 100 }],
    ['a page under a cover that fades out is captured at its end', COVERED, { delay: 200 }],
    ['what fades in once something else has is captured at its end', CHAINED],
    ['endless motion is frozen at its start', SWINGING, {}, 'ffffff'],
    ['motion is unchanged without `reduce_motion`', FADES_IN, { reduce_motion: false }, 'ffffff'],
  ])('%s', async (_what, body, wish, color = '008000') => {
    expect(await colorAt((await rig.capture(serve(body, STYLE), wish)).content, 400, 300)).toBe(color);
  });
});
