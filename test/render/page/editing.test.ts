import { describe, expect, it } from 'vitest';
import { ofFile } from '../../fixtures/of-file.js';
import { document, html } from '../../fixtures/site/answer.js';
import { startSite } from '../../fixtures/site/site.js';
import { blotOf, colourAt } from '../picture/blots.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();
const other = await ofFile(startSite({ host: '127.0.0.2' }));

const STRICT = { 'content-security-policy': "default-src 'none'; script-src 'nonce-x'; frame-src *" };
const RED_BOX = '<style nonce="x"></style><div class="box"></div>';

function serve(path: string, body: string, headers: Record<string, string> = {}): string {
  site.route(path, (_request, response) => html(response, document('Page', body, BOXES), { headers }));
  return site.url(path);
}

const policy =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'none'; require-trusted-types-for 'script'; trusted-types none";
for (const one of [site, other]) {
  const strict = document('Strict', '<h1>Strict</h1><p id="t">old</p><img src="/image/20x20/ff0000.png">');
  one.route('/strict', (_request, response) => html(response, strict, { headers: { 'content-security-policy': policy } }));
}

const BOXES =
  '<style>body{margin:0;font:20px sans-serif}.box{width:100px;height:100px;background:#ff0000}.mark{position:absolute;left:300px;top:300px;width:100px;height:100px;background:#0000ff}</style>';

describe('custom_css', () => {
  it('colours the page despite its CSP', async () => {
    const { content } = await rig.capture(serve('/css', `<h1>Words</h1>${RED_BOX}`, STRICT), {
      custom_css: 'body{background:#00ff00!important}',
    });
    expect(await colourAt(content, 700, 500)).toBe('00ff00');
  });

  it('applies at the first paint, and stays when the page replaces its sheets', async () => {
    const url = serve(
      '/css-first',
      '<h1>Words</h1><script>globalThis.first = getComputedStyle(document.body).backgroundColor; document.adoptedStyleSheets = [new CSSStyleSheet()]; document.body.append(first)</script>',
    );
    const wish = { custom_css: 'body{background:rgb(0,255,0)!important}', fail_if_content_missing: ['rgb(0, 255, 0)'] };
    expect(await colourAt((await rig.capture(url, wish)).content, 700, 500)).toBe('00ff00');
  });
});

describe('custom_css that loads files', () => {
  it.each([
    ['a string', (url: string) => `@charset "utf-8"; /* theirs; */ @import "${url}"; .box{background:#0000ff}`],
    ['a bare url', (url: string) => `@layer base;\n@import url( ${url} ) screen;.box{background:#0000ff}`],
  ])('imports by %s despite the CSP, and keeps its own rules', async (_way, css) => {
    other.route('/theirs;v=2.css', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/css' }).end('body{background:#00ff00!important}.box{background:#ff00ff}');
    });
    const { content } = await rig.capture(serve('/imports', RED_BOX, STRICT), { custom_css: css(other.url('/theirs;v=2.css')) });
    expect(await colourAt(content, 700, 500)).toBe('00ff00');
    expect(await colourAt(content, 50, 50)).toBe('0000ff');
  });
});

describe('hide_selectors', () => {
  it('hides elements and keeps their space', async () => {
    const { content } = await rig.capture(serve('/hide', `${RED_BOX}<div class="mark" style="position:static"></div>`), {
      hide_selectors: ['.box'],
    });
    expect([await colourAt(content, 50, 50), await colourAt(content, 50, 150)]).toEqual(['ffffff', '0000ff']);
  });

  it('hides late elements, elements that show themselves again, and those in frames of other sites', async () => {
    other.route('/framed', (_request, response) => html(response, `${BOXES}<div class="box"></div><p>framed</p>`));
    const late =
      '<script>setTimeout(() => { document.body.insertAdjacentHTML("afterbegin", "<div class=box><div style=visibility:visible;background:red;height:100px></div></div>") }, 100)</script>';
    const frame = `<iframe src="${other.url('/framed')}" style="position:absolute;left:400px;top:0;border:0"></iframe>`;
    const { content } = await rig.capture(serve('/hide-late', `<div class="mark"></div>${frame}${late}`), {
      hide_selectors: ['.box'],
      delay: 300,
    });
    expect(await colourAt(content, 50, 50)).toBe('ffffff');
    expect(await colourAt(content, 450, 50)).toBe('ffffff');
    expect(await colourAt(content, 350, 350)).toBe('0000ff');
  });

  const CHAT = '<div class="mark"></div><div id="chat" class="box"></div>';
  const INSIST = 'chat.style.cssText = "visibility:visible!important;opacity:1!important"';
  it.each([
    ['its own inline style', CHAT.replace('id="chat"', 'id="chat" style="visibility:visible!important"')],
    ['an inline style with !important', `${CHAT}<script>${INSIST}</script>`],
    ['a layered style', `<style>@layer a{#chat{visibility:visible!important}}</style>${CHAT}`],
    ['a more specific style', `<style>html body #chat.box{visibility:visible!important;opacity:1!important}</style>${CHAT}`],
    [
      'a shadow tree with its own visibility',
      `<div class="mark"></div><div id="chat"></div><script>chat.attachShadow({ mode: 'open' }).innerHTML =
        '<div style="visibility:visible!important;width:100px;height:100px;background:red"></div>'</script>`,
    ],
  ])('hides elements that are shown by %s', async (_name, body) => {
    const { content } = await rig.capture(serve('/hide-visible', `<h1 style="margin:0;height:0">Words</h1>${body}`), {
      hide_selectors: ['#chat'],
      delay: 800,
    });
    expect(await colourAt(content, 50, 80)).toBe('ffffff');
    expect(await colourAt(content, 350, 350)).toBe('0000ff');
  });

  it('gives up against a page that insists on its own style', async () => {
    const body = `${CHAT}<p id="count">Words</p><script>let changes = 0;
      const watch = new MutationObserver(() => { changes++; count.textContent = 'changes ' + (changes < 50 ? 'few' : 'many'); ${INSIST}; watch.takeRecords() });
      watch.observe(chat, { attributes: true }); ${INSIST}</script>`;
    await rig.capture(serve('/hide-insists', body), {
      hide_selectors: ['#chat'],
      delay: 2_000,
      fail_if_content_missing: ['changes few'],
    });
  });
});

describe('remove_selectors', () => {
  it('removes nodes, even late ones, and the layout follows', async () => {
    const late = '<script>setTimeout(() => { document.body.insertAdjacentHTML("afterbegin", "<div class=box>late</div>") }, 100)</script>';
    const url = serve('/remove', `${RED_BOX}<div class="mark" style="position:static">mark</div>${late}`);
    const wish = { remove_selectors: ['.box', '#absent'], delay: 300, custom_js: '', fail_if_content_contains: ['late'] };
    const { content } = await rig.capture(url, { ...wish, custom_js: undefined });
    expect(await colourAt(content, 90, 90)).toBe('0000ff');
  });
});

describe('an invalid selector', () => {
  it.each([
    ['hide_selectors', { hide_selectors: ['.fine', 'p >> bad'] }, 'hide_selectors.1'],
    ['remove_selectors', { remove_selectors: ['a['] }, 'remove_selectors.0'],
    ['mask', { mask: ['.fine', 'p >> bad'] }, 'mask.1'],
    ['wait_for_selector', { wait_for_selector: 'text=Hello' }, 'wait_for_selector'],
    ['selector', { selector: '###' }, 'selector'],
    ['a part of selector', { selector: 'x-a >>> p[ >>> b' }, 'selector'],
  ])('%s is invalid_request, names the field, and sends no request to the target', async (_name, wish, path) => {
    const hits = site.hits.length;
    const error = await rig.failure(site.url('/static'), wish);
    expect(error).toMatchObject({ code: 'invalid_request', retriable: false, details: { issues: [{ path }] } });
    expect(error.message).toContain(`\`${path}\``);
    expect(error.message).toContain('is not a valid selector');
    expect(site.hits.length).toBe(hits);
  });
});

it('a selector finds an element in a frame of another site, or fails with the reason', async () => {
  const mark = '<b style="display:block;width:60px;height:30px;background:rgb(1,2,3)"></b>';
  const hidden = '<b style="display:none"></b>';
  other.route('/inner', (_request, response) =>
    html(response, document('Inner', `<div style="height:400px"></div>${hidden}<p>${mark}</p>`)),
  );
  const frame = `<iframe src="${other.url('/inner')}" style="border:5px solid red;padding:3px"></iframe>`;
  const url = serve('/other-frame', `<h1>Words</h1><iframe></iframe><div style="height:900px"></div>${frame}`);
  const { content, width, height } = await rig.capture(url, { selector: 'iframe >>> b' });
  expect({ width, height }).toEqual({ width: 60, height: 30 });
  expect(await blotOf(content, [1, 2, 3])).toMatchObject({ width: 60, height: 30, pixels: 60 * 30 });
  const error = await rig.failure(url, { selector: 'iframe >>> p > i' });
  const details = { check: 'selector', seen: 'frame_of_another_origin' };
  expect(error).toMatchObject({ code: 'render_incomplete', details });
  expect(error.message).toContain('in the frame of another origin');
});

describe('custom_js', () => {
  it('may use await and return at the top level, and its globals are the page’s', async () => {
    const url = serve('/js-await', '<h1>Words</h1><script>function greet() { document.body.append("greeted") }</script>');
    await rig.capture(url, { custom_js: 'await Promise.resolve(); greet(); return', fail_if_content_missing: ['greeted'] });
    await rig.capture(url, {
      custom_js: 'var kept = 1; setTimeout(() => { if (window.kept === 1) greet() }, 20)',
      fail_if_content_missing: ['greeted'],
    });
  });

  it.each([
    ['throws', 'throw new TypeError("on purpose")', 'TypeError: on purpose'],
    ['throws no error', 'throw "a word"', 'a word'],
    ['is no JavaScript', 'let = = 3', 'SyntaxError'],
    ['ends in a rejection', 'await Promise.reject(new Error("refused"))', 'Error: refused'],
  ])('that %s is invalid_request with its message', async (_name, js, message) => {
    const error = await rig.failure(site.url('/static'), { custom_js: js });
    expect(error).toMatchObject({ code: 'invalid_request', retriable: false });
    expect(error.message).toContain('`custom_js` failed: ');
    expect(error.message).toContain(message);
  });

  it.each(['for (;;) {}', 'await new Promise(() => {})'])('that does not end (%s) is render_timeout', async (js) => {
    const error = await rig.failure(site.url('/static'), { custom_js: js, timeout: 1_500 });
    expect(error).toMatchObject({ code: 'render_timeout', details: { waited_for: 'custom_js' } });
  });

  it('may navigate to another page, which is captured', async () => {
    const { finalUrl } = await rig.capture(site.url('/static'), { custom_js: 'location.href = "/article"' });
    expect(finalUrl).toBe(site.url('/article'));
    expect(await rig.failure(site.url('/static'), { custom_js: 'location.href = "/status/404"' })).toMatchObject({ code: 'target_error' });
  });

  it('that throws an error of 250,000 lines does not delay the server', async () => {
    const before = process.cpuUsage();
    const throws = "throw new SyntaxError('\\n'.repeat(250_000))";
    const error = await rig.failure(site.url('/strict'), { custom_js: throws, timeout: 60_000 });
    expect(error).toMatchObject({ code: 'invalid_request', details: { issues: [{ path: 'custom_js' }] } });
    const { user, system } = process.cpuUsage(before);
    // It was more than a minute of processor time.
    expect((user + system) / 1_000_000).toBeLessThan(15);
  });

  it.each([
    ['writes markup', 't.innerHTML = "<b>new words</b>"'],
    [
      'adds a script of its own',
      'const s = document.createElement("script"); s.textContent = "t.textContent = `new words`"; document.body.append(s)',
    ],
  ])('that %s is not blocked by the page’s policies', async (_what, js) => {
    await rig.capture(site.url('/strict'), { custom_js: js, fail_if_content_missing: ['new words'] });
  });

  it('succeeds if its result is too long to be read, and fails if it throws that', async () => {
    await rig.capture(site.url('/strict'), { custom_js: '"x".repeat(500_000)' });
    const error = await rig.failure(site.url('/strict'), {
      custom_js: 'throw new Error("\\"exceptionDetails\\":{".repeat(25_000))',
      timeout: 60_000,
    });
    expect(error).toMatchObject({ code: 'invalid_request', details: { issues: [{ path: 'custom_js' }] } });
    await rig.capture(site.url('/strict'), { custom_js: '`"exceptionDetails":{`.repeat(25_000)' });
  });

  it('is not blocked on a page of another site that it leads to', async () => {
    const url = site.url(`/redirect/302?to=${encodeURIComponent(other.url('/strict'))}`);
    const { finalUrl } = await rig.capture(url, { custom_js: 't.innerHTML = "<b>new words</b>"', fail_if_content_missing: ['new words'] });
    expect(finalUrl).toBe(other.url('/strict'));
  });

  it('may add styles, which apply to the page', async () => {
    const js = 'document.head.append(Object.assign(document.createElement("style"), { textContent: "html { background: rgb(0,128,0) }" }))';
    const { content } = await rig.capture(site.url('/strict'), { custom_js: js });
    expect(await colourAt(content, 790, 590)).toBe('008000');
  });

  it('is needed for the page’s policies not to apply', async () => {
    const asked = () => site.hits.filter(({ path }) => path.startsWith('/image/')).length;
    const before = asked();
    await rig.capture(site.url('/strict'));
    expect(asked()).toBe(before);
  });
});
