import { describe, expect, it } from 'vitest';
import { words } from '../../fixtures/site/answer.js';
import { siteAndRig } from '../page/capture-rig.js';

const { site, rig, serve } = await siteAndRig();

/** Captures a page, which must be complete. */
const accepts = async (url: string) => expect((await rig.capture(url, { fail_if_incomplete: true })).width).toBe(800);
/** The failure of a page that is not. */
const failure = (url: string, wish: Record<string, unknown> = {}) =>
  rig.failure(url, { fail_if_incomplete: true, ...wish });

const TEXT = `<p>${words(30)}</p>`;
const BEHIND = `<main><h1>The page itself</h1><p>${words(60)}</p></main>`;
const layer = (style: string, inside: string) =>
  `<div style="position:fixed;inset:0;background:#224;color:#fff;${style}">${inside}</div>`;
const circle = (size: number) =>
  `<svg width="${size}" height="${size}"><circle cx="50%" cy="50%" r="50%" fill="red"/></svg>`;
/** A page made of a web component. */
const made = (inside: string, style = '', light = '') =>
  `<x-page style="display:block;${style}">${light}</x-page><script>customElements.define('x-page', class extends HTMLElement { connectedCallback() { this.attachShadow({ mode: 'open' }).innerHTML = \`${inside}\` } })</script>`;
const PART = `<script>customElements.define('x-part', class extends HTMLElement { constructor() { super().attachShadow({ mode: 'open' }).innerHTML = '${TEXT}' } })</script>`;
const HEADER =
  '<header style="padding:20px">Acme Analytics and Reports &middot; Home &middot; Pricing &middot; What is new in this version</header>';
const WHITE =
  '<div style="position:relative;color:#fff;padding:60px"><h1>White words upon the dark</h1><p>All of them.</p></div><script>1</script>';
const dark = (style: string) =>
  `<div style="position:absolute;inset:0;background:linear-gradient(#123,#456);${style}"></div>`;
const BEFORE =
  '<style>main{position:relative;height:400px}main::before{content:"";position:absolute;inset:0;background:#123}main>div{background:none}</style>';
const EMPTY = 'almost no visible text';
const LOADING = /^"Loading.*" instead of content$/;
const COVER = 'an opaque cover over the view';

describe.concurrent('fail_if_incomplete', () => {
  it.each([
    ['/shell/empty', EMPTY],
    ['/shell/skeleton', 'skeletons in place of content'],
    ['/shell/spinner', 'a spinner in place of content'],
    ['/shell/loading', '"Loading…" instead of content'],
    ['/shell/busy', 'a part that is marked busy (aria-busy)'],
    ['/shell/cover', COVER],
    ['/hung-font', 'text whose web font is not loaded yet'],
  ])('%s shows %s', async (path, seen) => {
    const details = { check: 'fail_if_incomplete', seen };
    expect(await failure(site.url(path))).toMatchObject({ code: 'render_incomplete', retriable: true, details });
  });

  it.each([
    ['an image in the document', '<img src="/hang?i" width="50" height="50">'],
    [
      'an image in a shadow tree',
      '<div><template shadowrootmode="open"><img src="/hang?i" width="50" height="50"></template></div>',
    ],
  ])('reports %s that does not load', async (_what, image) => {
    const error = await failure(serve(BEHIND + image), { wait_until: 'domcontentloaded', timeout: 3_000 });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { seen: '1 image in view not loaded yet' } });
  });

  it.each(['/article', '/static', '/shop', '/app-shell', '/sticky', '/boxes', '/frames', '/image/300x200/00ff00.png'])(
    'accepts %s as complete',
    (path) => accepts(site.url(path)),
  );

  it.each([
    ['a layer with a logo that hides the page', BEHIND + layer('display:grid;place-items:center', circle(80)), COVER],
    [
      'a layer with a logo that is placed by itself',
      BEHIND + layer('', `<div style="position:absolute;left:360px;top:260px">${circle(80)}</div>`),
      COVER,
    ],
    ['a web component without content', made('<main></main>'), EMPTY],
    ['a web component that does not show its content', made('<main></main>', '', TEXT), EMPTY],
    [
      'a web component of skeletons',
      made('<div class="skeleton" style="height:400px;background:#eee"></div>'),
      'skeletons in place of content',
    ],
    ['"Loading…" in a web component', `${HEADER}${made('<main style="padding:80px">Loading…</main>')}`, LOADING],
    [
      '"Loading…" between header and footer',
      `${HEADER}<main style="padding:40px">Loading…</main><footer>© Acme</footer>`,
      LOADING,
    ],
    [
      '"Loading…" with what is loading',
      '<div>Acme</div><div style="padding:80px">Loading your reports…</div>',
      LOADING,
    ],
  ])('reports %s', async (_what, body, seen) => {
    expect(await failure(serve(`<hr>${body}`))).toMatchObject({ details: { seen: expect.stringMatching(seen) } });
  });

  it.each([
    ['a layer that is all there is', layer('', '<h1>Coming soon</h1>')],
    ['a layer without a heading that is all there is', layer('', '<div>We are opening here in May</div>')],
    ['a layer with a large picture', BEHIND + layer('display:grid;place-items:center', circle(500))],
    ['a layer that asks something', BEHIND + layer('', `${circle(80)}<p>Are you over 18?</p><button>Yes</button>`)],
    ['a web component', made(`<h1>Opening hours</h1>${TEXT}`)],
    ['words right in a shadow tree', made('From nine to five, on all days')],
    ['a picture in a shadow tree', made('<img src="/image/700x300/336699.png">')],
    ['a web component in a web component', PART + made('<x-part></x-part>')],
    ['a web component with slotted words', made('<main><slot></slot></main>', '', TEXT)],
    ['white words of a web component upon a dark layer', made(dark('') + WHITE.replace('<script>1</script>', ''))],
    [
      '"Loading…" beside content',
      `${HEADER}<main><h2>Reports</h2><p>Twelve of them.</p><aside>Loading…</aside></main>`,
    ],
    [
      'a sentence that begins with "Loading"',
      `${HEADER}<main style="padding:60px">Loading docks for lorries of any size</main>`,
    ],
    [
      '"Loading…" below a form',
      `${HEADER}<main style="padding:60px"><input placeholder="Your question"><p>Loading…</p></main>`,
    ],
    ['"Loading…" below a picture', `${HEADER}<main><img src="/image/700x300/336699.png"><p>Loading…</p></main>`],
    ['"Loading…" beside a shadow tree', `${HEADER}${made(TEXT)}<p>Loading…</p>`],
    ['white text on a layer behind the page', dark('z-index:-1') + WHITE],
    ['white text on a layer of a white page', `<style>body{background:#fff}</style>${dark('')}${WHITE}`],
    ['white text on a picture', `<img src="/image/800x300/112233.png" style="position:absolute;left:0;top:0">${WHITE}`],
    ['white text on a pseudo-element', `${BEFORE}<main>${WHITE}</main>`],
  ])('accepts %s', (_what, body) => accepts(serve(body)));
});

describe.concurrent('text markers', () => {
  const attached = (host: string, tree: string) =>
    `<${host}></${host}><script>document.querySelector('${host}').attachShadow({ mode: 'open' }).innerHTML = '${tree}'</script>`;
  const HOSTS = 'article,aside,blockquote,div,footer,h1,h2,h3,h4,h5,h6,header,main,nav,p,section,span,x-own'.split(',');

  it.each([
    [
      'on visible text and title, ignoring case and white space',
      `<p>Out   of
        <b>st</b>ock</p><p style="display:none">hidden words</p><input value="typed words">`,
      ['out OF stock', 'PAGE', 'typed words'],
      ['hidden words'],
    ],
    [
      'in frames, where they are visible',
      `<h1>Page</h1><iframe srcdoc='<style>.k{display:none}</style><p>Inside words</p><div class=k>Hidden in frame</div><input value="typed inside">'></iframe>`,
      ['inside words', 'typed inside'],
      ['hidden in frame', 'display'],
    ],
    [
      'in shadow trees, where they are visible',
      attached(
        'x-shadow',
        '<style>.error-message{color:red}</style><div hidden>Out of stock</div><p>In stock</p>bare words<span style="display:contents"><i>boxless words</i></span>',
      ),
      ['in stock', 'bare words', 'boxless words'],
      ['out of stock', 'error-message'],
    ],
    [
      'in the shadow trees of all elements that may have one',
      `<script>for (const name of '${HOSTS}'.split(',')) document.body.appendChild(document.createElement(name)).attachShadow({ mode: 'open' }).innerHTML = '<b>words of ' + name + '.</b>'</script>`,
      HOSTS.map((name) => `words of ${name}.`),
      [],
    ],
  ])('are matched %s', async (_where, body, present, absent) => {
    await rig.capture(serve(body), { fail_if_content_missing: present, fail_if_content_contains: absent });
  });
});

describe.concurrent('a check that fails', () => {
  it.each([
    ['fail_if_content_missing', ['quiet page', 'nowhere', 'neither here'], { missing: ['nowhere', 'neither here'] }],
    ['fail_if_content_contains', ['QUIET page', 'nowhere'], { found: ['QUIET page'] }],
    ['min_capture_height', 601, { required: 601, seen: 600 }],
    ['min_capture_bytes', 10_000_000, { required: 10_000_000 }],
  ])('reports what it has found: %s', async (check, wish, details) => {
    const error = await rig.failure(site.url('/static'), { [check]: wish });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { check, ...details } });
  });

  it('lists the resources that failed, of the kinds and hosts that count', async () => {
    const host = new URL(site.url('/')).hostname;
    const page = serve(
      `${TEXT}<link rel="stylesheet" href="/missing.css?secret"><img src="/missing.png"><script>fetch('/missing.json')</script>
        <img src="/image/10x10/00ff00.png"><iframe src="/missing.html"></iframe>`,
    );
    const failedOf = async (wish: unknown) => {
      const { code, details } = await rig.failure(page, { fail_if_resources_fail: wish });
      expect(code).toBe('render_incomplete');
      return (details as { failed: { kind: string }[] }).failed.map(({ kind }) => kind).sort();
    };
    expect(await failedOf(true)).toEqual(['fetch', 'frame', 'image', 'stylesheet']);
    expect(await failedOf({ kinds: ['image', 'font'], hosts: [host] })).toEqual(['image']);
    const { details } = await rig.failure(page, { fail_if_resources_fail: { kinds: ['stylesheet'] } });
    const failed = [{ kind: 'stylesheet', url: new URL('/missing.css', site.url('/')).href, status: 404 }];
    expect(details).toEqual({ check: 'fail_if_resources_fail', failed, count: 1 });
    for (const wish of [false, { kinds: ['font'] }, { hosts: ['example.com'] }])
      await rig.capture(page, { fail_if_resources_fail: wish });
  });

  it('lists what the page has logged and thrown', async () => {
    const page = serve(`${TEXT}<script>console.error('no', 'tiles'); console.warn('slow'); undefinedName()</script>`);
    const { code, details } = await rig.failure(page, { fail_if_console_errors: true });
    expect(code).toBe('render_incomplete');
    const thrown = { text: expect.stringMatching(/undefinedName is not defined$/), uncaught: true };
    expect(details).toMatchObject({ check: 'fail_if_console_errors', errors: [{ text: 'no tiles' }, thrown] });
    await rig.capture(serve(`${TEXT}<script>console.warn('slow')</script>`), { fail_if_console_errors: true });
    const { warnings } = await rig.capture(page, { fail_if_console_errors: true, tolerate: ['render_incomplete'] });
    expect(warnings).toMatchObject([{ code: 'render_incomplete' }]);
  });

  it('passes at the minimum height', async () => {
    expect((await rig.capture(site.url('/static'), { min_capture_height: 600 })).height).toBe(600);
  });
});
