import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { document, html, words } from '../../fixtures/site/answer.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();

/** `SAME_BYTES_REPEATS=100 npx vitest run test/render/page/same-bytes.test.ts` for the trial of a hundred captures of each page. */
const REPEATS = Number(process.env.SAME_BYTES_REPEATS ?? 2);

const frames = [0, 1, 2].map((shade) => ({
  create: { width: 60, height: 60, channels: 3 as const, background: { r: 90 * shade, g: 60, b: 20 } },
}));
const GIF = await sharp(await Promise.all(frames.map((frame) => sharp(frame).png().toBuffer())), { join: { animated: true } })
  .gif({ delay: [70, 70, 70], loop: 0 })
  .toBuffer();
site.route('/three.gif', (_request, response) => response.writeHead(200, { 'content-type': 'image/gif' }).end(GIF));

const BOX = '#box{width:90px;height:90px;background:linear-gradient(90deg,teal,orange)}';
const SPIN = `<style>@keyframes spin{to{transform:rotate(1turn)}}${BOX}.spin{animation:spin 700ms linear infinite}</style>`;
const FOCUS = '<script>document.querySelector("[autofocus]").focus()</script>';
const count = (step: string) =>
  `<h1></h1><script>{ const n = document.currentScript.previousElementSibling; let at = 0; const show = () => { n.textContent = (++at * 37).toLocaleString('en'); }; ${step} }</script>`;

/** Only one place of a page has the caret. */
const CARETS: [where: string, body: string][] = [
  ['a field', `<input autofocus value="Words" style="font-size:40px">${FOCUS}`],
  [
    'a shadow tree',
    '<h1>Words</h1><x-a></x-a><script>const root = document.querySelector("x-a").attachShadow({ mode: "open" }); root.innerHTML = "<input>"; root.firstChild.focus()</script>',
  ],
  [
    'a frame',
    `<h1>Words</h1><iframe srcdoc="<input autofocus><script>document.querySelector('input').focus()</script>"></iframe><script>document.querySelector("iframe").onload = ({ target }) => target.contentWindow.focus()</script>`,
  ],
];

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
  'a number that counts by a timer': count('const timer = setInterval(() => { show(); if (at === 30) clearInterval(timer); }, 50)'),
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

async function isTheSameEachTime(name: string, body: string, wish: Record<string, unknown> = {}): Promise<void> {
  const path = `/same/${name.replaceAll(' ', '-')}`;
  site.route(path, (_request, response) => html(response, document('Same', body)));
  const seen: Uint8Array[] = [];
  for (let time = 0; time < REPEATS; time++) {
    // Now early, now late in a blink.
    const { content } = await rig.capture(site.url(path), { ...wish, delay: (time % 3) * 230, timeout: 60_000 });
    seen.push(content);
  }
  expect(new Set(seen.map((content) => Buffer.from(content).toString('base64'))).size).toBe(1);
}

describe.concurrent('a page yields the same picture each time, byte for byte', () => {
  it.each(CARETS)('with a caret in %s', (where, body) => isTheSameEachTime(`caret in ${where}`, body), 20_000 * REPEATS);

  it(
    'with endless motion',
    () => isTheSameEachTime('endless', blocks(ENDLESS), { viewport: { width: 800, height: 1_400, deviceScaleFactor: 1 } }),
    20_000 * REPEATS,
  );

  it('with finite motion', () => isTheSameEachTime('ending', blocks(COMING_TO_AN_END)), 20_000 * REPEATS);

  it(
    'with motion that begins once it is seen',
    () => isTheSameEachTime('far down', blocks(FAR_DOWN), { full_page: true }),
    20_000 * REPEATS,
  );
});
