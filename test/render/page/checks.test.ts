import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { document, html } from '../../fixtures/site/answer.js';
import { type Site, startSite } from '../../fixtures/site/site.js';
import { type CaptureRig, openRig } from './capture-rig.js';

let site: Site;
let rig: CaptureRig;

beforeAll(async () => {
  [site, rig] = await Promise.all([startSite(), openRig()]);
});

afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
});

describe('fail_if_incomplete', () => {
  it.each([
    ['/shell/empty', 'next to no visible text'],
    ['/shell/skeleton', 'skeletons in place of content'],
    ['/shell/spinner', 'a spinner in place of content'],
    ['/shell/loading', '"Loading…" instead of content'],
    ['/shell/busy', 'a part that is marked busy (aria-busy)'],
    ['/shell/cover', 'an opaque cover over the view'],
    ['/shell/same-colour', 'next to no visible text'],
  ])('%s shows %s', async (path, seen) => {
    const error = await rig.failure(site.url(path), { fail_if_incomplete: true });
    expect(error).toMatchObject({ code: 'render_incomplete', retriable: true, details: { check: 'fail_if_incomplete', seen } });
  });

  it('an image in view that does not come is told', async () => {
    const wish = { fail_if_incomplete: true, wait_until: 'domcontentloaded', timeout: 6_000 };
    const error = await rig.failure(site.url('/hung-image'), wish);
    expect(error).toMatchObject({ code: 'render_incomplete', details: { seen: '1 image in view not loaded yet' } });
  });

  it('a font that does not come is told', async () => {
    const error = await rig.failure(site.url('/hung-font'), { fail_if_incomplete: true });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { seen: 'text whose web font is not loaded yet' } });
  });

  it.each(['/article', '/static', '/shop', '/app-shell', '/sticky', '/boxes', '/contact', '/frames', '/image/300x200/00ff00.png'])(
    '%s is complete',
    async (path) => {
      expect((await rig.capture(site.url(path), { fail_if_incomplete: true })).width).toBe(800);
    },
  );
});

describe('text markers', () => {
  it('are matched on visible text and title, case and white space folded', async () => {
    site.route('/text', (_request, response) => {
      const body = `<p>Out   of
        <b>st</b>ock</p><p style="display:none">hidden words</p><input value="typed words"><x-shadow></x-shadow>
        <script>document.querySelector('x-shadow').attachShadow({mode:'open'}).innerHTML = '<p>shadow words</p>'</script>`;
      html(response, document('The Title', body));
    });
    const wish = {
      fail_if_content_missing: ['out OF stock', 'the title', 'typed words', 'shadow words'],
      fail_if_content_contains: ['hidden words'],
    };
    expect((await rig.capture(site.url('/text'), wish)).width).toBe(800);
  });

  it('are not matched on what is hidden in frames and shadow trees, style sheets included', async () => {
    const inner = '<style>.k{display:none}</style><p>Inside words</p><div class=k>Hidden in frame</div><input value="typed inside">';
    const tree =
      '<style>.error-message{color:red}</style><div hidden>Out of stock</div><p>In stock</p>bare words<span style="display:contents"><i>boxless words</i></span>';
    const script = `document.querySelector('x-shadow').attachShadow({mode:'open'}).innerHTML = '${tree}'`;
    site.route('/hidden-within', (_request, response) =>
      html(response, document('Page', `<h1>Page</h1><iframe srcdoc='${inner}'></iframe><x-shadow></x-shadow><script>${script}</script>`)),
    );
    const wish = {
      fail_if_content_missing: ['inside words', 'typed inside', 'in stock', 'bare words', 'boxless words'],
      fail_if_content_contains: ['hidden in frame', 'out of stock', 'error-message', 'display'],
    };
    expect((await rig.capture(site.url('/hidden-within'), wish)).width).toBe(800);
  });

  it('are found behind many shadow trees, one inside the other', async () => {
    const script = `let at = document.querySelector('x-a');
      for (let i = 0; i < 9; i++) {
        at.attachShadow({mode:'open'}).innerHTML = '<style>:host{display:block}</style><div><x-b></x-b></div><slot></slot>';
        at = at.shadowRoot.querySelector('x-b');
      }
      at.attachShadow({mode:'open'}).innerHTML = '<p>${'Deep content. '.repeat(40)}</p>';
      document.querySelector('x-last').attachShadow({mode:'open'}).innerHTML = '<p>Closing words</p>'`;
    site.route('/deep-shadow', (_request, response) =>
      html(response, document('Page', `<h1>Page</h1><x-a></x-a><x-last></x-last><script>${script}</script>`)),
    );
    expect((await rig.capture(site.url('/deep-shadow'), { fail_if_content_missing: ['deep content', 'closing words'] })).width).toBe(800);
  });

  it('that are missing are all named', async () => {
    const error = await rig.failure(site.url('/static'), { fail_if_content_missing: ['quiet page', 'nowhere', 'neither here'] });
    expect(error).toMatchObject({
      code: 'render_incomplete',
      details: { check: 'fail_if_content_missing', missing: ['nowhere', 'neither here'] },
    });
  });

  it('that must not be there are named when found', async () => {
    const error = await rig.failure(site.url('/static'), { fail_if_content_contains: ['QUIET page', 'nowhere'] });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { check: 'fail_if_content_contains', found: ['QUIET page'] } });
  });
});

describe('the smallest picture accepted', () => {
  it('is told in output pixels', async () => {
    const error = await rig.failure(site.url('/static'), { min_capture_height: 601 });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { check: 'min_capture_height', required: 601, seen: 600 } });
    expect((await rig.capture(site.url('/static'), { min_capture_height: 600 })).height).toBe(600);
  });

  it('is told in encoded bytes', async () => {
    const error = await rig.failure(site.url('/static'), { min_capture_bytes: 10_000_000 });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { check: 'min_capture_bytes', required: 10_000_000 } });
  });
});
