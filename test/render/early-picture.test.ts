import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { PageSession } from '../../src/render/page-session.js';
import { document, html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { openRig } from './page/capture-rig.js';

const [site, rig] = await Promise.all([startSite(), openRig()]);
afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
});

/** Of icons, which Playwright brings for itself. */
const FONTS = new URL('lib/vite/recorder/assets/', pathToFileURL(createRequire(import.meta.url).resolve('playwright-core/package.json')));
const A_FONT = readFileSync(new URL(readdirSync(FONTS).find((name) => name.endsWith('.ttf')) ?? 'none', FONTS));

/** The progress told once a page has settled and is pictured. */
const SETTLED = 80;

/** What each screenshot of the capture at hand is followed by. */
let afterShot: (session: PageSession, nth: number) => Promise<unknown> = async () => {};
let shots = 0;
const { pool } = rig.deps;
const acquire = pool.acquire.bind(pool);
pool.acquire = async (...given: Parameters<typeof acquire>) => {
  const lease = await acquire(...given);
  const { cdp } = lease.session;
  const send = cdp.send.bind(cdp);
  cdp.send = (async (method: Parameters<typeof send>[0], params: never) => {
    const answer = await send(method, params);
    if (method === 'Page.captureScreenshot') await afterShot(lease.session, ++shots);
    return answer;
  }) as typeof send;
  return lease;
};

const STYLE = `<style>body{margin:0;font:20px sans-serif;background:#fff;height:2000px}.on{background:#0a0}
#box{width:300px;height:100px;background:#ddd}.moved{transform:translateX(50px);transition:transform 60s}
@keyframes k{to{background:#00f}}.runs{animation:k 60s forwards}#pane{height:60px;overflow:auto}#pane p{height:400px;background:linear-gradient(red,blue)}</style>`;
const BODY =
  '<h1 id="head">Words</h1><div id="box">A box</div><input id="field" value="one"><div id="pane"><p>More</p></div><div id="host"></div><img id="image" width="40" height="40" alt="">';

/** A page with a script that changes it when told to, or, as it is to be in the end, from its start. */
function changing(change: string, body = BODY): { before: string; after: string } {
  const page = (end: string) => document('Changing', `${body}<script>function change() { ${change} } ${end}</script>`, STYLE);
  site.route('/before', (_request, response) => html(response, page('')));
  site.route('/after', (_request, response) => html(response, page('change()')));
  return { before: site.url('/before'), after: site.url('/after') };
}

/** One capture. `isEarly`: its first screenshot was taken before the page was taken for settled. */
async function shotsOf(url: string, then: typeof afterShot = async () => {}) {
  shots = 0;
  rig.progress.length = 0;
  let isEarly = false;
  afterShot = async (session, nth) => {
    if (nth === 1) isEarly = !rig.progress.includes(SETTLED);
    await then(session, nth);
  };
  const { content } = await rig.capture(url);
  return { content: Buffer.from(content), shots, isEarly };
}

describe('a picture that is taken while the page is only waited for', () => {
  it('is the only one of a page that stays as it is, and there before the wait is over', async () => {
    const still = await shotsOf(changing('').before);
    expect(still.shots).toBe(1);
    expect(still.isEarly).toBe(true);
    expect(rig.progress).not.toContain(SETTLED);
  });

  it('is the only one of a page without scripts, which has two frames to stay as it is', async () => {
    site.route('/inert', (_request, response) => html(response, document('Inert', BODY, STYLE)));
    const still = await shotsOf(site.url('/inert'));
    expect(still.shots).toBe(1);
    expect(still.isEarly).toBe(true);
  });

  it('is the only one of a page whose network has long been idle when its scripts have run', async () => {
    const works = `<script>addEventListener('DOMContentLoaded', () => { for (const end = performance.now() + 400; performance.now() < end; ); })</script>`;
    site.route('/works', (_request, response) => html(response, document('Works', `${BODY}${works}`, STYLE)));
    const still = await shotsOf(site.url('/works'));
    expect(still.shots).toBe(1);
    expect(still.isEarly).toBe(true);
  });

  it('is not kept of a page without scripts whose animation ends during its two frames', async () => {
    const moving = '<style>@keyframes grow{to{width:400px}}#box{animation:grow 400ms forwards}</style>';
    site.route('/inert-moving', (_request, response) => html(response, document('Moving', BODY, `${STYLE}${moving}`)));
    site.route('/inert-moved', (_request, response) =>
      html(response, document('Moving', BODY, `${STYLE}<style>#box{width:400px}</style>`)),
    );
    const [moved, end] = [await shotsOf(site.url('/inert-moving')), await shotsOf(site.url('/inert-moved'))];
    expect(moved.content.equals(end.content)).toBe(true);
  });

  it.each([
    ['text', 'head.textContent = "Other words"'],
    ['a class', 'box.className = "on"'],
    ['a rule of a style sheet', 'document.styleSheets[0].cssRules[0].style.background = "#eef"'],
    ['a transition', 'box.className = "moved"'],
    ['an animation', 'box.className = "runs"'],
    ['an image', 'image.src = "/image/40x40/ff0000.png"'],
    ['a field', 'field.value = "two"'],
    ['the next frame', 'requestAnimationFrame(() => { box.style.width = "200px" })'],
    ['the page as it scrolls', 'scrollTo(0, 300)'],
    ['a pane as it scrolls', 'pane.scrollTop = 100'],
    ['a closed shadow tree', 'host.attachShadow({ mode: "closed" }).innerHTML = "<p>In the shadow</p>"'],
    ['a frame', 'box.innerHTML = "<iframe srcdoc=\'<p>Framed\'></iframe>"'],
    ['a canvas', 'box.innerHTML = "<canvas>"; box.firstChild.getContext("2d").fillRect(0, 0, 50, 50)'],
    [
      'a font',
      'head.textContent = "\\uea60\\uea61"; head.style.fontFamily = "Late"; new FontFace("Late", "url(/late.ttf)").load().then((face) => document.fonts.add(face))',
    ],
  ])('is taken again once %s has changed', async (_what, change) => {
    site.route('/late.ttf', (_request, response) => response.end(A_FONT));
    const { before, after } = changing(change);
    const changed = await shotsOf(before, async ({ page }, nth) => (nth === 1 ? page.evaluate('change()') : null));
    expect(changed.isEarly).toBe(true);
    expect(changed.shots).toBeGreaterThan(1);
    const { content } = await shotsOf(after);
    expect(changed.content.equals(content)).toBe(true);
  });

  it.each([
    ['a canvas', '<canvas></canvas>'],
    ['a video', '<video width="200" height="100"></video>'],
    ['a frame', '<iframe srcdoc="<p>Framed"></iframe>'],
    ['an animation', '<style>@keyframes f{from{opacity:0}}h1{animation:f 60s}</style>'],
  ])('is not taken where %s is in view, of which changes are not told', async (_what, element) => {
    expect((await shotsOf(changing('', `${BODY}${element}`).before)).shots).toBe(1);
    expect(rig.progress).toContain(SETTLED);
  });

  it('is not taken more than twice in vain', async () => {
    const { before } = changing('fetch("/robots.txt"); box.append("more ")');
    const { shots: taken } = await shotsOf(before, async ({ page }, nth) => (nth <= 4 ? page.evaluate('change()') : null));
    expect(taken).toBe(3);
  });
});
