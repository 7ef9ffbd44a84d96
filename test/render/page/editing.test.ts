import { describe, expect, it } from 'vitest';
import { fetches, importsOf } from '../../../src/render/page/navigate.js';
import { ofFile } from '../../fixtures/of-file.js';
import { document, html } from '../../fixtures/site/answer.js';
import { startSite } from '../../fixtures/site/site.js';
import { blotOf, colorAt } from '../picture/blots.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig, serve: serveBody } = await siteAndRig();
const other = await ofFile(startSite({ host: '127.0.0.2' }));

const BOXES =
  '<style>body{margin:0;font:20px sans-serif}.box{width:100px;height:100px;background:#ff0000}.mark{position:absolute;left:300px;top:300px;width:100px;height:100px;background:#0000ff}</style>';
const MARK = '<div class="mark"></div>';
const serve = (body: string, headers: Record<string, string> = {}) => serveBody(body, BOXES, headers);
/** A script that adds to the page after a while. */
const later = (added: string) =>
  `<script>setTimeout(() => document.body.insertAdjacentHTML('afterbegin', '${added}'), 100)</script>`;

/** The colors of a picture at these points. */
async function colorsOf(
  url: string,
  wish: Record<string, unknown>,
  ...points: [left: number, top: number][]
): Promise<string[]> {
  return (await seen(url, wish, ...points)).colors;
}

/** As `colorsOf`, with the text of the page. */
async function seen(url: string, wish: Record<string, unknown>, ...points: [left: number, top: number][]) {
  const { content, text, finalUrl } = await rig.capturedText(url, wish);
  return { text, finalUrl, colors: await Promise.all(points.map(([left, top]) => colorAt(content, left, top))) };
}

const policy =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'none'; require-trusted-types-for 'script'; trusted-types none";
for (const one of [site, other]) {
  const strict = document('Strict', '<h1>Strict</h1><p id="t">old</p><img src="/image/20x20/ff0000.png">');
  one.route('/strict', (_request, response) =>
    html(response, strict, { headers: { 'content-security-policy': policy } }),
  );
}

describe('custom_css', () => {
  it('applies at the first paint, and stays when the page replaces its sheets', async () => {
    const url = serve(
      '<h1>Words</h1><script>globalThis.first = getComputedStyle(document.body).backgroundColor; document.adoptedStyleSheets = [new CSSStyleSheet()]; document.body.append(first)</script>',
    );
    const { text, colors } = await seen(url, { custom_css: 'body{background:rgb(0,255,0)!important}' }, [700, 500]);
    expect(text).toContain('rgb(0, 255, 0)');
    expect(colors).toEqual(['00ff00']);
  });

  it.each([
    ['a string', (url: string) => `@charset "utf-8"; /* theirs; */ @import "${url}"; .box{background:#0000ff}`],
    ['a bare url', (url: string) => `@layer base;\n@import url( ${url} ) screen;.box{background:#0000ff}`],
  ])('imports by %s despite the CSP, and keeps its own rules', async (_way, css) => {
    other.route('/theirs;v=2.css', (_request, response) => {
      response
        .writeHead(200, { 'content-type': 'text/css' })
        .end('body{background:#00ff00!important}.box{background:#ff00ff}');
    });
    const strict = { 'content-security-policy': "default-src 'none'; script-src 'nonce-x'; frame-src *" };
    const url = serve('<style nonce="x"></style><div class="box"></div>', strict);
    const wish = { custom_css: css(other.url('/theirs;v=2.css')) };
    expect(await colorsOf(url, wish, [700, 500], [50, 50])).toEqual(['00ff00', '0000ff']);
  });
});

describe('hide_selectors', () => {
  it('hides late elements, elements that show themselves again, and those in frames of other sites', async () => {
    other.route('/framed', (_request, response) => html(response, `${BOXES}<div class="box"></div><p>framed</p>`));
    const frame = `<iframe src="${other.url('/framed')}" style="position:absolute;left:400px;top:0;border:0"></iframe>`;
    const url = serve(
      MARK + frame + later('<div class=box><div style=visibility:visible;background:red;height:100px></div></div>'),
    );
    const wish = { hide_selectors: ['.box'], delay: 300 };
    expect(await colorsOf(url, wish, [50, 50], [450, 50], [350, 350])).toEqual(['ffffff', 'ffffff', '0000ff']);
  });

  const CHAT = `${MARK}<div id="chat" class="box"></div>`;
  const INSIST = 'chat.style.cssText = "visibility:visible!important;opacity:1!important"';
  it.each([
    ['its own inline style', CHAT.replace('id="chat"', 'id="chat" style="visibility:visible!important"')],
    ['an inline style with !important', `${CHAT}<script>${INSIST}</script>`],
    ['a layered style', `<style>@layer a{#chat{visibility:visible!important}}</style>${CHAT}`],
    [
      'a more specific style',
      `<style>html body #chat.box{visibility:visible!important;opacity:1!important}</style>${CHAT}`,
    ],
    [
      'a shadow tree with its own visibility',
      `${MARK}<div id="chat"></div><script>chat.attachShadow({ mode: 'open' }).innerHTML =
        '<div style="visibility:visible!important;width:100px;height:100px;background:red"></div>'</script>`,
    ],
  ])('hides elements that are shown by %s, and keeps their space', async (_name, body) => {
    const url = serve(`<h1 style="margin:0;height:0">Words</h1>${body}<div class="box"></div>`);
    const wish = { hide_selectors: ['#chat'], delay: 800 };
    expect(await colorsOf(url, wish, [50, 80], [50, 150], [350, 350])).toEqual(['ffffff', 'ff0000', '0000ff']);
  });

  it('gives up against a page that insists on its own style', async () => {
    const body = `${CHAT}<p id="count">Words</p><script>let changes = 0;
      const watch = new MutationObserver(() => { changes++; count.textContent = 'changes ' + (changes < 50 ? 'few' : 'many'); ${INSIST}; watch.takeRecords() });
      watch.observe(chat, { attributes: true }); ${INSIST}</script>`;
    expect((await seen(serve(body), { hide_selectors: ['#chat'], delay: 2_000 })).text).toContain('changes few');
  });
});

it('remove_selectors removes nodes, even late ones, and the layout follows', async () => {
  const url = serve(
    `<div class="box"></div><div class="box" style="background:#00f">mark</div>${later('<div class=box>late</div>')}`,
  );
  const { text, colors } = await seen(
    url,
    { remove_selectors: ['.box:not([style])', '#absent'], delay: 300 },
    [90, 90],
  );
  expect(text).toContain('mark');
  expect(text).not.toContain('late');
  expect(colors).toEqual(['0000ff']);
});

describe('a selector whose matches depend on other elements', () => {
  const items = (...names: string[]) => names.map((name) => `<li>${name}</li>`).join('');
  const table = '<table><tr><td>a</td><td>b</td><td>c</td></tr></table>';
  // The list grows before the page is ready, and again after it.
  const grows = `<script>setTimeout(() => list.insertAdjacentHTML('beforeend', '${items('i4', 'i5')}'), 200);
    addEventListener('scroll', () => { list.insertAdjacentHTML('afterbegin', '${items('i0')}'); list.insertAdjacentHTML('beforeend', '${items('i6', 'i7')}') }, { once: true })</script>`;
  const url = serve(`<ul id="list">${items('i1', 'i2', 'i3')}</ul>${table}<div style="height:900px"></div>${grows}`);

  it.concurrent.each([
    ['remove_selectors', 'li:first-child', 'i2 i3 i4 i5 i6 i7 a b c'],
    ['remove_selectors', 'li:nth-child(3)', 'i0 i1 i2 i4 i5 i6 i7 a b c'],
    ['remove_selectors', 'li:last-child', 'i0 i1 i2 i3 i4 i6 a b c'],
    ['remove_selectors', 'li + li', 'i0 i1 a b c'],
    ['remove_selectors', 'td:last-child', 'i0 i1 i2 i3 i4 i5 i6 i7 a b'],
    ['hide_selectors', 'li:first-child', 'i2 i3 i4 i5 i6 i7 a b c'],
  ])(
    '%s: %s concerns what it matches when the page is ready, and later what it matches among added elements',
    async (field, selector, left) => {
      const { text } = await rig.capturedText(url, { full_page: true, [field]: [selector] });
      expect(text.match(/[a-z]\d?\b/g)?.join(' ')).toBe(left);
    },
  );
});

it.each([
  ['hide_selectors', { hide_selectors: ['.fine', 'p >> bad'] }, 'hide_selectors.1'],
  ['remove_selectors', { remove_selectors: ['a['] }, 'remove_selectors.0'],
  ['mask', { mask: ['.fine', 'p >> bad'] }, 'mask.1'],
  ['wait_for_selector', { wait_for_selector: 'text=Hello' }, 'wait_for_selector'],
  ['selector', { selector: '###' }, 'selector'],
  ['a part of selector', { selector: 'x-a >>> p[ >>> b' }, 'selector'],
])(
  'an invalid selector in %s is invalid_request, names the field, and sends no request to the target',
  async (_name, wish, path) => {
    const hits = site.hits.length;
    const error = await rig.failure(site.url('/static'), wish);
    expect(error).toMatchObject({ code: 'invalid_request', retriable: false, details: { issues: [{ path }] } });
    expect(error.message).toMatch(new RegExp(`\`${path}\`.* is not a valid selector`));
    expect(site.hits.length).toBe(hits);
  },
);

it('a selector finds an element in a frame of another site, or fails with the reason', async () => {
  const mark = '<b style="display:block;width:60px;height:30px;background:rgb(1,2,3)"></b>';
  const inner = `<div style="height:400px"></div><b style="display:none"></b><p>${mark}</p>`;
  other.route('/inner', (_request, response) => html(response, document('Inner', inner)));
  const frame = `<iframe src="${other.url('/inner')}" style="border:5px solid red;padding:3px"></iframe>`;
  const url = serve(`<h1>Words</h1><iframe></iframe><div style="height:900px"></div>${frame}`);
  const { content, width, height } = await rig.capture(url, { selector: 'iframe >>> b' });
  // Below a heading whose height is no whole px, it fills one row only in part.
  expect(width).toBe(60);
  expect([30, 31]).toContain(height);
  expect((await blotOf(content, [1, 2, 3])).pixels).toBe(60 * 30);
  expect(await rig.failure(url, { selector: 'iframe >>> p > i' })).toMatchObject({
    code: 'render_incomplete',
    message: expect.stringContaining('in the frame of another origin'),
    details: { check: 'selector', seen: 'frame_of_another_origin' },
  });
});

describe('custom_js', () => {
  it.each([
    ['await and return at the top level', 'await Promise.resolve(); greet(); return'],
    [
      'globals that stay, like those of the page',
      'var kept = 1; setTimeout(() => { if (window.kept === 1) greet() }, 20)',
    ],
  ])('may use %s', async (_what, js) => {
    const url = serve('<h1>Words</h1><script>function greet() { document.body.append("greeted") }</script>');
    expect((await seen(url, { custom_js: js })).text).toContain('greeted');
  });

  it.each([
    ['throws', 'throw new TypeError("on purpose")', 'TypeError: on purpose'],
    ['throws no error', 'throw "a word"', 'a word'],
    ['is no JavaScript', 'let = = 3', 'SyntaxError'],
    ['ends in a rejection', 'await Promise.reject(new Error("refused"))', 'Error: refused'],
    ['throws more than can be read', 'throw new Error("\\"exceptionDetails\\":{".repeat(25_000))', ''],
  ])('that %s is invalid_request with its message', async (_name, js, message) => {
    expect(await rig.failure(site.url('/static'), { custom_js: js, timeout: 60_000 })).toMatchObject({
      code: 'invalid_request',
      retriable: false,
      message: expect.stringMatching(`^\`custom_js\` failed: .*${message}`),
      details: { issues: [{ path: 'custom_js' }] },
    });
  });

  it.each(['for (;;) {}', 'await new Promise(() => {})'])('that does not end (%s) is render_timeout', async (js) => {
    const error = await rig.failure(site.url('/static'), { custom_js: js, timeout: 1_500 });
    expect(error).toMatchObject({ code: 'render_timeout', details: { waited_for: 'custom_js' } });
  });

  it('may navigate to another page, which is captured', async () => {
    const { finalUrl } = await rig.capture(site.url('/static'), { custom_js: 'location.href = "/article"' });
    expect(finalUrl).toBe(site.url('/article'));
    const toBlob = "location.href = URL.createObjectURL(new Blob(['<h1>Made here</h1>'], { type: 'text/html' }))";
    const made = await seen(site.url('/static'), { custom_js: toBlob });
    expect(made.text).toContain('Made here');
    expect(made.finalUrl).toBe(site.url('/static'));
    expect(await rig.failure(site.url('/static'), { custom_js: 'location.href = "/status/404"' })).toMatchObject({
      code: 'target_error',
    });
  });

  it('that throws an error of 250,000 lines does not delay the server', async () => {
    const before = process.cpuUsage();
    const throws = "throw new SyntaxError('\\n'.repeat(250_000))";
    expect(await rig.failure(site.url('/strict'), { custom_js: throws, timeout: 60_000 })).toMatchObject({
      code: 'invalid_request',
    });
    const { user, system } = process.cpuUsage(before);
    // It was more than a minute of processor time.
    expect((user + system) / 1_000_000).toBeLessThan(15);
  });

  it.each(['"x".repeat(500_000)', '`"exceptionDetails":{`.repeat(25_000)'])(
    'succeeds if its result is too long to be read: %s',
    async (js) => {
      await rig.capture(site.url('/strict'), { custom_js: js });
    },
  );

  it('may write markup, and add scripts and styles, despite the policies of the page, even of another that it leads to', async () => {
    const js = `t.innerHTML = '<b>new words</b>';
      const add = (name, textContent) => document.body.append(Object.assign(document.createElement(name), { textContent }));
      add('script', 't.append(" of a script")');
      add('style', 'html { background: rgb(0,128,0) }');`;
    const away = `/redirect/302?to=${encodeURIComponent(other.url('/strict'))}`;
    for (const path of ['/strict', away]) {
      const { text, colors } = await seen(site.url(path), { custom_js: js }, [790, 590]);
      expect(text, path).toContain('new words of a script');
      expect(colors, path).toEqual(['008000']);
    }
  });

  it('is needed for the page’s policies not to apply', async () => {
    const asked = () => site.hits.filter(({ path }) => path.startsWith('/image/')).length;
    const before = asked();
    await rig.capture(site.url('/strict'));
    expect(asked()).toBe(before);
  });
});

describe('the head of a style sheet with imports', () => {
  it.each([
    ['@import "a.css";b{}', '@import "a.css";'],
    [
      "@charset 'utf-8';\n/* ; */ @import url('a;b.css') screen; b{}",
      "@charset 'utf-8';\n/* ; */ @import url('a;b.css') screen; ",
    ],
    [
      '@layer a, b; @import url( a;b.css ) layer(a);@import "c.css";',
      '@layer a, b; @import url( a;b.css ) layer(a);@import "c.css";',
    ],
    ['/* none */ b{} @import "late.css";', ''],
    ['@layer a{}@import "late.css";', ''],
    ['', ''],
  ])('of %j is %j', (css, head) => {
    expect(importsOf(css)).toBe(head);
  });

  it.each(['@import url(', "@import url('a'", '@import url("', '@import ', '@layer ', '/*', '@import url( "a" '])(
    'is found fast, however long the text after %j is',
    (start) => {
      const began = performance.now();
      expect(importsOf(start + ' '.repeat(250_000))).toBe('');
      expect(performance.now() - began).toBeLessThan(5_000);
    },
  );
});

it.each([
  ['b{background:url("a.png")}', true],
  ['b{background:image-set("a.png" 1x)}', true],
  ['@import "a.css"', true],
  ['b{filter:url(#x);mask:url( "#y")}', false],
  ['b{color:red}', false],
])('%s fetches something: %s', (css, does) => {
  expect(fetches(css)).toBe(does);
});
