import { describe, expect, it } from 'vitest';
import type { Rendering } from '../../../src/render/capture.js';
import { document, html } from '../../fixtures/site/answer.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();

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
site.route('/several', (_request, response) => html(response, document('Words', PAGE)));
const page = () => site.url('/several');

function namesOf({ captures }: Rendering): string[] {
  return (captures ?? []).map(({ name }) => name);
}

const isPdf = (content: Uint8Array) => Buffer.from(content.subarray(0, 5)).toString() === '%PDF-';

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
    const loads = () => site.hits.filter(({ path }) => path === '/several').length;
    const before = loads();
    const several = await rig.capture(page(), { captures, mask: ['.card'] });
    expect(loads()).toBe(before + 1);
    expect(namesOf(several)).toEqual(Object.keys(entries));
    expect(several.content).toBe(several.captures?.[0]?.content);
    for (const { name, content, diagnostics, width, height } of several.captures ?? []) {
      const alone = await rig.capture(page(), { ...entries[name], mask: ['.card'] });
      // A PDF has the time at which it was made.
      const isSame = name === 'pdf' ? isPdf(content) : Buffer.from(content).equals(alone.content);
      expect([name, isSame, width, height]).toEqual([name, true, alone.width, alone.height]);
      expect([name, diagnostics]).toEqual([name, alone.diagnostics]);
      expect(alone.captures).toBeNull();
    }
  });

  it('are one for each visible element that matches, up to the limit', async () => {
    const all = await rig.capture(page(), { captures: [{ name: 'card', selector_all: '.card' }] });
    expect(namesOf(all)).toEqual(['card-1', 'card-2', 'card-3']);
    const second = await rig.capture(page(), { selector: '.card:nth-of-type(3)' });
    expect(Buffer.from(all.captures?.[1]?.content ?? []).equals(second.content)).toBe(true);
    expect(namesOf(await rig.capture(page(), { captures: [{ name: 'card', selector_all: '.card', limit: 2 }] }))).toEqual([
      'card-1',
      'card-2',
    ]);
  });
});

describe('a picture that cannot be taken', () => {
  it.each([
    ['gone', { captures: [{}, { name: 'gone', selector: '#gone' }] }],
    ['far', { captures: [{ name: 'far', clip: { x: 0, y: 90_000, width: 10, height: 10 } }, {}] }],
    ['small', { captures: [{}, { name: 'small', selector: 'header' }], min_capture_height: 300 }],
  ])('fails the capture by its name: %s', async (name, wish) => {
    const { code, message, details } = await rig.failure(page(), wish);
    expect([code, details?.capture]).toEqual(['render_incomplete', name]);
    expect(message).toContain(`Picture "${name}"`);
  });

  it('is the view with a warning if that is tolerated', async () => {
    const captures = [{ name: 'gone', selector: '#gone' }, { name: 'view' }];
    const several = await rig.capture(page(), { captures, tolerate: ['render_incomplete'] });
    const [gone, view] = several.captures ?? [];
    expect([gone?.width, gone?.height]).toEqual([view?.width, view?.height]);
    expect([gone?.warnings.map(({ code }) => code), view?.warnings]).toEqual([['render_incomplete'], []]);
    expect(several.warnings.map(({ message }) => message.slice(0, 15))).toEqual(['Picture "gone":']);
  });
});

describe('several loads', () => {
  it('take the pictures of each viewport and colour scheme alone', async () => {
    const several = await rig.capture(page(), {
      viewports: [
        { width: 400, height: 500, deviceScaleFactor: 1 },
        { width: 900, height: 500, deviceScaleFactor: 1 },
      ],
      color_schemes: ['light', 'dark'],
      captures: [{ name: 'view' }],
    });
    expect(namesOf(several)).toEqual(['400x500-light-view', '400x500-dark-view', '900x500-light-view', '900x500-dark-view']);
    const dark = await rig.capture(page(), { viewport: { width: 900, height: 500, deviceScaleFactor: 1 }, color_scheme: 'dark' });
    expect(Buffer.from(several.captures?.at(-1)?.content ?? []).equals(dark.content)).toBe(true);
  });

  it('share the timeout', async () => {
    site.route('/slow-load', (_request, response) => void setTimeout(() => html(response, '<p>Words'), 700));
    const { code, details } = await rig.failure(site.url('/slow-load'), {
      color_schemes: ['light', 'dark', 'no-preference'],
      timeout: 1_500,
    });
    expect([code, details]).toEqual(['render_timeout', { waited_for: 'loads', loads: 3, done: 1 }]);
  });
});
