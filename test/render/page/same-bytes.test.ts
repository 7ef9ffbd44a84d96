import sharp from 'sharp';
import { expect, it } from 'vitest';
import { document, html, words } from '../../fixtures/site/answer.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();

/** `SAME_BYTES_REPEATS=100 npx vitest run test/render/page/same-bytes.test.ts` for the trial of a hundred captures each. */
const REPEATS = Number(process.env.SAME_BYTES_REPEATS ?? 4);

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
  `<h1 id="n">0</h1><script>let at = 0; const show = () => { n.textContent = (++at * 37).toLocaleString('en'); }; ${step}</script>`;

const PAGES: [what: string, body: string, wish?: Record<string, unknown>][] = [
  ['a caret in a field', `<input autofocus value="Words" style="font-size:40px">${FOCUS}`],
  ['a caret in a text', `<textarea autofocus rows="5">Words</textarea>${FOCUS}`],
  ['a caret in a page that is edited', `<div contenteditable autofocus><p>Words</p></div>${FOCUS}`],
  [
    'a caret in a shadow tree',
    '<h1>Words</h1><x-a></x-a><script>const root = document.querySelector("x-a").attachShadow({ mode: "open" }); root.innerHTML = "<input>"; root.firstChild.focus()</script>',
  ],
  [
    'a caret in a frame',
    `<h1>Words</h1><iframe srcdoc="<input autofocus><script>document.querySelector('input').focus()</script>"></iframe><script>document.querySelector("iframe").onload = ({ target }) => target.contentWindow.focus()</script>`,
  ],
  ['an animated picture', '<h1>Words</h1><img src="/three.gif">'],
  ['an animated background', '<h1>Words</h1><div style="background:url(/three.gif);height:200px"></div>'],
  ['a wheel that turns', `${SPIN}<h1>Words</h1><div id="box" class="spin"></div>`],
  [
    'a wheel of a pseudo-element',
    `${SPIN}<style>h1::after{content:"";display:block;width:50px;height:50px;background:linear-gradient(red,blue);animation:spin 1s infinite}</style><h1>Words</h1>`,
  ],
  [
    'a wheel of a script',
    `${SPIN}<h1>Words</h1><div id="box"></div><script>box.animate([{}, { transform: 'rotate(1turn)' }], { duration: 900, iterations: Infinity })</script>`,
  ],
  ['a wheel in a frame', `<h1>Words</h1><iframe srcdoc="${SPIN.replaceAll('"', '&quot;')}<div id=box class=spin>"></iframe>`],
  [
    'a wheel in a shadow tree',
    `<h1>Words</h1><x-a></x-a><script>document.querySelector("x-a").attachShadow({ mode: "open" }).innerHTML = ${JSON.stringify(SPIN)} + '<div id="box" class="spin">'</script>`,
  ],
  [
    'a wheel of an SVG',
    '<h1>Words</h1><svg width="90" height="90"><rect width="40" height="40" fill="teal"><animateTransform attributeName="transform" type="rotate" from="0" to="360" dur="1s" repeatCount="indefinite"/></rect></svg>',
  ],
  [
    'dots that pulse in turn',
    `<style>@keyframes p{50%{opacity:.2}}i{display:inline-block;width:30px;height:30px;background:#246;animation:p 900ms infinite}</style><h1>Words</h1>${[0, 150, 300].map((ms) => `<i style="animation-delay:${ms}ms"></i>`).join('')}`,
  ],
  [
    'text that runs by',
    '<style>@keyframes r{to{transform:translateX(-50%)}}p{white-space:nowrap;animation:r 8s linear infinite}</style>' +
      `<h1>Words</h1><p>${words(60)}</p>`,
  ],
  [
    'a skeleton that shimmers',
    '<style>@keyframes s{to{background-position:-400px 0}}p{height:80px;background:linear-gradient(90deg,#ddd,#fff,#ddd) 0 0/400px;animation:s 1.2s infinite}</style><h1>Words</h1><p></p>',
  ],
  ['a number that counts by frames', count('const go = () => { show(); if (at < 70) requestAnimationFrame(go); }; go()')],
  ['a number that counts by a timer', count('const timer = setInterval(() => { show(); if (at === 30) clearInterval(timer); }, 50)')],
  [
    'a bar that fills by a transition',
    '<style>#bar{height:30px;width:0;background:teal;transition:width 2s}</style><h1>Words</h1><div id="bar"></div><script>addEventListener("load", () => setTimeout(() => { bar.style.width = "80%" }, 30))</script>',
  ],
  [
    'a bar that fills by a timer',
    '<h1>Words</h1><div id="bar" style="height:30px;background:teal;width:0"></div><script>let w = 0; const t = setInterval(() => { bar.style.width = ++w + "%"; if (w === 60) clearInterval(t); }, 20)</script>',
  ],
  ['a bar of unknown length', '<h1>Words</h1><progress style="width:300px;height:30px"></progress>'],
  [
    'pictures that fade in when seen',
    '<style>img{opacity:0;transition:opacity 1.5s}img.on{opacity:1}</style><h1>Words</h1>' +
      '<img src="/image/200x100/cc4400.png?wait=60" style="display:block;margin:300px 0">'.repeat(3) +
      '<script>const o = new IntersectionObserver((all) => { for (const e of all) if (e.isIntersecting) e.target.classList.add("on"); }); for (const i of document.images) o.observe(i)</script>',
    { full_page: true },
  ],
  [
    'a number that counts when seen',
    `<div style="height:1500px">${words(50)}</div><h1 id="n">0</h1><div style="height:900px"></div><script>new IntersectionObserver(([e], o) => { if (!e.isIntersecting) return; o.disconnect(); let at = 0; const t = setInterval(() => { n.textContent = String(++at * 25); if (at === 40) clearInterval(t); }, 25); }).observe(n)</script>`,
    { full_page: true },
  ],
  ['a wheel far down', `${SPIN}<div style="height:1400px">${words(50)}</div><div id="box" class="spin"></div>`, { full_page: true }],
];

it.concurrent.each(PAGES)(
  '%s is the same picture each time, by its bytes',
  async (what, body, wish) => {
    const path = `/same/${what.replaceAll(' ', '-')}`;
    site.route(path, (_request, response) => html(response, document('Same', body)));
    const seen = new Set<string>();
    for (let time = 0; time < REPEATS; time++) {
      // Now early, now late in a blink.
      const { content } = await rig.capture(site.url(path), { ...wish, delay: (time % 3) * 230 });
      seen.add(Buffer.from(content).toString('base64'));
    }
    expect(seen.size).toBe(1);
  },
  20_000 * REPEATS,
);
