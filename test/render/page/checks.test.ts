import { describe, expect, it } from 'vitest';
import { document, html, words } from '../../fixtures/site/answer.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();

let served = 0;

function serve(name: string, body: string): string {
  // Each test has a path of its own, since the tests run concurrently.
  const path = `${name}/${++served}`;
  site.route(path, (_request, response) => html(response, document('Page', body)));
  return site.url(path);
}

describe.concurrent('fail_if_incomplete', () => {
  it.each([
    ['/shell/empty', 'almost no visible text'],
    ['/shell/skeleton', 'skeletons in place of content'],
    ['/shell/spinner', 'a spinner in place of content'],
    ['/shell/loading', '"Loading…" instead of content'],
    ['/shell/busy', 'a part that is marked busy (aria-busy)'],
    ['/shell/cover', 'an opaque cover over the view'],
  ])('%s shows %s', async (path, seen) => {
    const error = await rig.failure(site.url(path), { fail_if_incomplete: true });
    expect(error).toMatchObject({ code: 'render_incomplete', retriable: true, details: { check: 'fail_if_incomplete', seen } });
  });

  it.each([
    ['the document', '<img src="/hang?i" width="50" height="50">'],
    ['a shadow tree', '<div><template shadowrootmode="open"><img src="/hang?i" width="50" height="50"></template></div>'],
  ])('reports an image in view of %s that does not load', async (where, image) => {
    const wish = { fail_if_incomplete: true, wait_until: 'domcontentloaded', timeout: 6_000 };
    const error = await rig.failure(serve(`/hung-image/${where.length}`, `<h1>Words</h1><p>${words(60)}</p>${image}`), wish);
    expect(error).toMatchObject({ code: 'render_incomplete', details: { seen: '1 image in view not loaded yet' } });
  });

  it('reports a font that does not load', async () => {
    const error = await rig.failure(site.url('/hung-font'), { fail_if_incomplete: true });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { seen: 'text whose web font is not loaded yet' } });
  });

  it.each(['/article', '/static', '/shop', '/app-shell', '/sticky', '/boxes', '/frames', '/image/300x200/00ff00.png'])(
    'accepts %s as complete',
    async (path) => {
      expect((await rig.capture(site.url(path), { fail_if_incomplete: true })).width).toBe(800);
    },
  );
});

describe.concurrent('a layer over the whole view', () => {
  const behind = `<main><h1>The page itself</h1><p>${words(60)}</p></main>`;
  const layer = (style: string, inside: string) =>
    `<div style="position:fixed;inset:0;background:#224;color:#fff;${style}">${inside}</div>`;
  const circle = (size: number) => `<svg width="${size}" height="${size}"><circle cx="50%" cy="50%" r="50%" fill="red"/></svg>`;

  it.each([
    ['bears a logo', layer('display:grid;place-items:center', circle(80))],
    ['bears a logo that is placed by itself', layer('', `<div style="position:absolute;left:360px;top:260px">${circle(80)}</div>`)],
  ])('that %s and hides the page is a cover', async (name, cover) => {
    const error = await rig.failure(serve(`/cover/${name.length}`, behind + cover), { fail_if_incomplete: true });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { seen: 'an opaque cover over the view' } });
  });

  it.each([
    ['is all there is', layer('', '<h1>Coming soon</h1>')],
    ['is all there is, without a heading', layer('', '<div>We are opening here in May</div>')],
    ['shows a large picture', behind + layer('display:grid;place-items:center', circle(500))],
    ['asks something', behind + layer('', `${circle(80)}<p>Are you over 18?</p><button>Yes</button>`)],
  ])('that %s is part of the page', async (name, body) => {
    expect((await rig.capture(serve(`/layer/${name.length}`, body), { fail_if_incomplete: true })).width).toBe(800);
  });
});

describe.concurrent('a page made of web components', () => {
  const made = (inside: string, style = '', light = '') =>
    `<x-page style="display:block;${style}">${light}</x-page><script>customElements.define('x-page', class extends HTMLElement { connectedCallback() { this.attachShadow({ mode: 'open' }).innerHTML = \`${inside}\` } })</script>`;
  const nested = '<x-part></x-part>';
  const part = `<script>customElements.define('x-part', class extends HTMLElement { constructor() { super().attachShadow({ mode: 'open' }).innerHTML = '<p>${words(30)}</p>' } })</script>`;

  it.each([
    ['with its words', made(`<h1>Opening hours</h1><p>${words(30)}</p>`)],
    ['with words that lie right in the tree', made('From nine to five, on all days')],
    ['with a picture', made('<img src="/image/700x300/336699.png">')],
    ['with parts in its parts', part + made(nested)],
    ['with words that are slotted', made('<main><slot></slot></main>', '', `<p>${words(30)}</p>`)],
    [
      'white upon a dark layer',
      made(
        '<div style="position:absolute;inset:0;background:#123"></div><h1 style="position:relative">White upon the dark</h1>',
        'color:#fff',
      ),
    ],
  ])('%s is complete', async (what, body) => {
    expect((await rig.capture(serve(`/made/${what.length}`, body), { fail_if_incomplete: true })).width).toBe(800);
  });

  it.each([
    ['almost no visible text', made('<main></main>')],
    ['almost no visible text', made('<main></main>', '', `<p>${words(30)}</p>`)],
    ['"Loading…" instead of content', `<header style="padding:40px">Acme</header>${made('<main style="padding:80px">Loading…</main>')}`],
    ['skeletons in place of content', made('<div class="skeleton" style="height:400px;background:#eee"></div>')],
  ])('that shows %s is a shell (%#)', async (seen, body) => {
    const error = await rig.failure(serve('/made-shell', `<hr>${body}`), { fail_if_incomplete: true });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { check: 'fail_if_incomplete' } });
    if (!seen.startsWith('"')) expect(error.details?.seen).toBe(seen);
  });
});

describe.concurrent('"Loading…" below a header', () => {
  const header =
    '<header style="padding:20px">Acme Analytics and Reports &middot; Home &middot; Pricing &middot; What is new in this version</header>';

  it.each([
    ['is all there is', `${header}<main style="padding:40px">Loading…</main><footer>© Acme</footer>`],
    ['says what for', `<div>Acme</div><div style="padding:80px">Loading your reports…</div>`],
  ])('that %s is a shell', async (name, body) => {
    const error = await rig.failure(serve(`/loading/${name.length}`, body), { fail_if_incomplete: true });
    expect(error).toMatchObject({ code: 'render_incomplete' });
    expect(error.details?.seen).toMatch(/^"Loading.*" instead of content$/);
  });

  it.each([
    ['stands beside content', `${header}<main><h2>Reports</h2><p>Twelve of them.</p><aside>Loading…</aside></main>`],
    ['begins a sentence', `${header}<main style="padding:60px">Loading docks for lorries of any size</main>`],
    ['stands below a form', `${header}<main style="padding:60px"><input placeholder="Your question"><p>Loading…</p></main>`],
    ['stands below a picture', `${header}<main><img src="/image/700x300/336699.png"><p>Loading…</p></main>`],
    [
      'stands beside a shadow tree',
      `${header}<x-a style="display:block"></x-a><p>Loading…</p><script>document.querySelector('x-a').attachShadow({mode:'open'}).innerHTML = '<p>${words(40)}</p>'</script>`,
    ],
  ])('that %s is not a shell', async (name, body) => {
    expect((await rig.capture(serve(`/loaded/${name.length}`, body), { fail_if_incomplete: true })).width).toBe(800);
  });
});

describe.concurrent('white text', () => {
  const said =
    '<div style="position:relative;color:#fff;padding:60px"><h1>White words upon the dark</h1><p>All of them.</p></div><script>1</script>';
  const dark = (style: string) => `<div style="position:absolute;inset:0;background:linear-gradient(#123,#456);${style}"></div>`;
  const before =
    '<style>main{position:relative;height:400px}main::before{content:"";position:absolute;inset:0;background:#123}main>div{background:none}</style>';

  it.each([
    ['on a layer behind the page', dark('z-index:-1') + said],
    ['on a layer beside them, on a white page', `<style>body{background:#fff}</style>${dark('')}${said}`],
    ['on a picture', `<img src="/image/800x300/112233.png" style="position:absolute;left:0;top:0">${said}`],
    ['on a layer of style', `${before}<main>${said}</main>`],
  ])('%s is legible', async (where, body) => {
    expect((await rig.capture(serve(`/white/${where.length}`, body), { fail_if_incomplete: true })).width).toBe(800);
  });
});

describe.concurrent('text markers', () => {
  it('are matched on visible text and title, ignoring case and white space', async () => {
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

  it('are not matched on hidden content of frames and shadow trees, nor on style sheets', async () => {
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

  it('are found in the shadow trees of all elements that may have one', async () => {
    const hosts = 'article,aside,blockquote,div,footer,h1,h2,h3,h4,h5,h6,header,main,nav,p,section,span,x-own'.split(',');
    const code = `for (const name of '${hosts}'.split(',')) document.body.appendChild(document.createElement(name)).attachShadow({ mode: 'open' }).innerHTML = '<b>words of ' + name + '.</b>'`;
    const url = serve('/hosts', `<script>${code}</script>`);
    const wish = { fail_if_content_missing: hosts.map((name) => `words of ${name}.`) };
    expect((await rig.capture(url, wish)).width).toBe(800);
  });

  it('are found inside many nested shadow trees', async () => {
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

  it('are all named when they are missing', async () => {
    const error = await rig.failure(site.url('/static'), { fail_if_content_missing: ['quiet page', 'nowhere', 'neither here'] });
    expect(error).toMatchObject({
      code: 'render_incomplete',
      details: { check: 'fail_if_content_missing', missing: ['nowhere', 'neither here'] },
    });
  });

  it('are named when they must not be found', async () => {
    const error = await rig.failure(site.url('/static'), { fail_if_content_contains: ['QUIET page', 'nowhere'] });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { check: 'fail_if_content_contains', found: ['QUIET page'] } });
  });
});

describe.concurrent('the minimum picture size', () => {
  it('is reported in output pixels', async () => {
    const error = await rig.failure(site.url('/static'), { min_capture_height: 601 });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { check: 'min_capture_height', required: 601, seen: 600 } });
    expect((await rig.capture(site.url('/static'), { min_capture_height: 600 })).height).toBe(600);
  });

  it('is reported in encoded bytes', async () => {
    const error = await rig.failure(site.url('/static'), { min_capture_bytes: 10_000_000 });
    expect(error).toMatchObject({ code: 'render_incomplete', details: { check: 'min_capture_bytes', required: 10_000_000 } });
  });
});
