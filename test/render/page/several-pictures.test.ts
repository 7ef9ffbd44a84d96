import { describe, expect, it } from 'vitest';
import type { Rendering } from '../../../src/render/capture.js';
import { html } from '../../fixtures/site/answer.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig, serve } = await siteAndRig();

/** A page with a fixed header, a sticky footer, a scroller, an endless animation and a script that reacts to scrolling. */
const PAGE = `<style>
  body { margin: 0; font: 20px sans-serif }
  header { position: fixed; inset: 0 0 auto; height: 50px; background: #246 }
  header.scrolled { background: #a33 }
  main { padding-top: 70px }
  .card { margin: 12px; height: 140px; background: #cde }
  .card:nth-of-type(2) { background: #ecd }
  .list { height: 120px; overflow: auto }
  .list div { height: 700px; background: linear-gradient(#f80, #08f) }
  .spin { width: 30px; height: 30px; background: #808; animation: spin 900ms linear infinite }
  @keyframes spin { to { transform: rotate(1turn) } }
  @media (prefers-color-scheme: dark) { body { background: #112 } }
  footer { position: sticky; bottom: 0; height: 30px; background: #642 }
</style>
<header></header>
<main><h1>Words</h1><div class="spin"></div><input autofocus value="Words">
<div class="card">One</div><div class="card">Two</div><div class="list"><div></div></div><div style="height:900px"></div>
<div class="card" id="low">Low</div></main><footer></footer>
<script>
  document.querySelector('[autofocus]').focus();
  addEventListener('scroll', () => document.querySelector('header').classList.toggle('scrolled', scrollY > 5));
</script>`;
const url = serve(PAGE);
const namesOf = ({ captures }: Rendering) => (captures ?? []).map(({ name }) => name);
const isSame = (one: Uint8Array | undefined, another: Uint8Array) => Buffer.from(one ?? []).equals(another);

describe('several pictures of one load', () => {
  const entries: Record<string, Record<string, unknown>> = {
    pdf: { format: 'pdf' },
    page: { full_page: true },
    low: { selector: '#low', padding: 10 },
    view: {},
    header: { selector: 'header' },
    clip: { clip: { x: 20, y: 60, width: 300, height: 200 } },
    heading: { selector: 'h1', format: 'webp', resize: { width: 120 } },
    clear: { omit_background: true },
    jpeg: { full_page: true, format: 'jpeg', max_height: 900 },
  };

  it('have the bytes that each has alone, in the order of the request, from one load', async () => {
    const captures = Object.entries(entries).map(([name, entry]) => ({ name, ...entry }));
    const several = await rig.capture(url, { captures, mask: ['.card'] });
    expect(site.hits.filter(({ path }) => site.url(path) === url)).toHaveLength(1);
    expect(namesOf(several)).toEqual(Object.keys(entries));
    expect(several.content).toBe(several.captures?.[0]?.content);
    for (const { name, content, diagnostics, width, height } of several.captures ?? []) {
      const alone = await rig.capture(url, { ...entries[name], mask: ['.card'] });
      // A PDF has the time at which it was made.
      const isRight =
        name === 'pdf' ? Buffer.from(content).toString('latin1', 0, 5) === '%PDF-' : isSame(content, alone.content);
      expect([name, isRight, width, height, diagnostics]).toEqual([
        name,
        true,
        alone.width,
        alone.height,
        alone.diagnostics,
      ]);
      expect(alone.captures).toBeNull();
    }
  });

  it('are one for each visible element that matches, up to the limit', async () => {
    const card = { name: 'card', selector_all: '.card' };
    const all = await rig.capture(url, { captures: [card] });
    expect(namesOf(all)).toEqual(['card-1', 'card-2', 'card-3']);
    const second = await rig.capture(url, { selector: '.card:nth-of-type(3)' });
    expect(isSame(all.captures?.[1]?.content, second.content)).toBe(true);
    expect(namesOf(await rig.capture(url, { captures: [{ ...card, limit: 2 }] }))).toEqual(['card-1', 'card-2']);
  });
});

describe('a page with thousands of matches', () => {
  const many = serve(`<style>.off { height: 0; overflow: hidden } .card { height: 20px; margin: 2px }</style>
    <div class="off">${'<div class="card">Clipped</div>'.repeat(3_000)}</div>
    ${Array.from({ length: 4 }, (_, at) => `<div class="card">${at}</div>`).join('')}`);

  it('has the pictures of the visible ones, which are found once', async () => {
    const captures = [{ name: 'card', selector_all: '.card', limit: 4, format: 'jpeg' }];
    const all = await rig.capture(many, { captures });
    const last = await rig.capture(many, { selector: '.card:last-of-type', format: 'jpeg' });
    expect(namesOf(all)).toHaveLength(4);
    expect(isSame(all.captures?.[3]?.content, last.content)).toBe(true);
  });

  it('names how many have been looked at if none of those is visible', async () => {
    const hidden = serve(`Words of a page<div hidden>${'<b>x</b>'.repeat(12_000)}</div>`);
    const message = expect.stringContaining('12000 elements matched, none of the first 10000 was visible.');
    await expect(rig.capture(hidden, { selector: 'b' })).rejects.toMatchObject({ code: 'render_incomplete', message });
  });
});

describe('a picture that cannot be taken', () => {
  it.each([
    ['gone', { captures: [{}, { name: 'gone', selector: '#gone' }] }],
    ['far', { captures: [{ name: 'far', clip: { x: 0, y: 90_000, width: 10, height: 10 } }, {}] }],
    ['small', { captures: [{}, { name: 'small', selector: 'header' }], min_capture_height: 300 }],
  ])('fails the capture by its name: %s', async (name, wish) => {
    const message = expect.stringContaining(`Picture "${name}"`);
    expect(await rig.failure(url, wish)).toMatchObject({
      code: 'render_incomplete',
      details: { capture: name },
      message,
    });
  });

  it('is the view with a warning if that is tolerated', async () => {
    const captures = [{ name: 'gone', selector: '#gone' }, { name: 'view' }];
    const several = await rig.capture(url, { captures, tolerate: ['render_incomplete'] });
    const [gone, view] = several.captures ?? [];
    expect([gone?.width, gone?.height]).toEqual([view?.width, view?.height]);
    expect([gone?.warnings.map(({ code }) => code), view?.warnings]).toEqual([['render_incomplete'], []]);
    expect(several.warnings.map(({ message }) => message.slice(0, 15))).toEqual(['Picture "gone":']);
  });
});

describe('several loads', () => {
  it('take the pictures of each viewport and color scheme alone', async () => {
    const [narrow, wide] = [400, 900].map((width) => ({ width, height: 500, deviceScaleFactor: 1 }));
    const loads = { viewports: [narrow, wide], color_schemes: ['light', 'dark'] };
    const several = await rig.capture(url, { ...loads, captures: [{ name: 'view' }] });
    expect(namesOf(several)).toEqual([
      '400x500-light-view',
      '400x500-dark-view',
      '900x500-light-view',
      '900x500-dark-view',
    ]);
    const dark = await rig.capture(url, { viewport: wide, color_scheme: 'dark' });
    expect(isSame(several.captures?.at(-1)?.content, dark.content)).toBe(true);
  });

  it('share the timeout', async () => {
    site.route('/slow-load', (_request, response) => void setTimeout(() => html(response, '<p>Words'), 700));
    const wish = { color_schemes: ['light', 'dark', 'no-preference'], timeout: 1_500 };
    const details = { waited_for: 'loads', loads: 3, done: 1 };
    expect(await rig.failure(site.url('/slow-load'), wish)).toMatchObject({ code: 'render_timeout', details });
  });
});
