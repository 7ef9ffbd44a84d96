import sharp, { type Region } from 'sharp';
import { expect, it } from 'vitest';
import { documentFactsSchema } from '../../../src/contract/page-facts.js';
import { callInPage } from '../../../src/render/inspect/page-program.js';
import { resolveRef } from '../../../src/render/steps/element-ref.js';
import { html } from '../../fixtures/site/answer.js';
import { siteAndRig } from '../page/capture-rig.js';
import { aPageSession, browserOfFile, options } from '../picture/a-page-session.js';
import { difference } from '../picture/blots.js';

const { site, rig } = await siteAndRig();
const browser = await browserOfFile();

const HEAD = `<title> Tea
  shop </title><meta name="description" content="Teas from small gardens"><link rel="canonical" href="/tea">
  <meta name="theme-color" content="#0a7d4f"><meta property="og:title" content="Tea"><meta property="og:title" content="Second">
  <meta property="og:image" content="https://user:secret@cdn.example/tea.png"><meta name="twitter:card" content="summary">
  <meta name="__proto__" content="no"><link rel="icon" href="/icon.svg" sizes="any"><link rel="apple-touch-icon" href="data:image/png;base64,AA">
  <link rel="alternate" type="application/rss+xml" href="/feed.xml" title="News">`;

let served = 0;

/** @param page the HTML of the page, or a path that is served already */
async function inspected(page: string, wish: Record<string, unknown> = {}) {
  const path = page.startsWith('/') ? page : `/facts-${++served}`;
  if (path !== page) site.route(path, (_request, response) => html(response, page));
  const { inspection, ...rendering } = await rig.capture(site.url(path), { inspect_page: true, ...wish });
  if (inspection?.facts === undefined) throw new Error('the page told no facts');
  return { ...rendering, facts: inspection.facts, elements: inspection.elements ?? [] };
}

it('reports the head of a document, without credentials, and its headings and links', async () => {
  const body = `<h1>Tea &amp; <em>cups</em></h1><h2 hidden>Hidden</h2><div role="heading" aria-level="3">Green</div>
    <a href="/green?size=2#top"><img alt="Green tea" src="/missing.png"></a><a href="/green?size=2#top">Again</a>
    <a href="http://user:secret@shop.example/x" rel="nofollow">Shop</a><a href="javascript:alert(1)">No</a><a href="mailto:a@b.example">Mail</a>
    <x-card></x-card><script>document.querySelector('x-card').attachShadow({mode:'open'}).innerHTML='<a href="/inner">Inner</a>'</script>`;
  const { facts } = await inspected(`<!doctype html><html lang="en-GB"><head>${HEAD}</head><body>${body}`);
  expect(facts).toMatchObject({
    title: 'Tea shop',
    description: 'Teas from small gardens',
    canonical: site.url('/tea'),
    language: 'en-GB',
    theme_color: '#0a7d4f',
    open_graph: { 'og:title': 'Tea', 'og:image': 'https://cdn.example/tea.png' },
    twitter: { 'twitter:card': 'summary' },
    icons: [{ url: site.url('/icon.svg'), rel: 'icon', sizes: 'any' }],
    feeds: [{ url: site.url('/feed.xml'), type: 'application/rss+xml', title: 'News' }],
    headings: [
      { level: 1, text: 'Tea & cups' },
      { level: 3, text: 'Green' },
    ],
    links: [
      { url: site.url('/green?size=2#top'), text: 'Green tea' },
      { url: 'http://shop.example/x', text: 'Shop', rel: 'nofollow' },
      { url: site.url('/inner'), text: 'Inner' },
    ],
    status: 200,
    redirects: [],
  });
  expect(JSON.stringify(facts)).not.toContain('secret');
});

it('reports requests by type, those that failed, redirects and console errors, without queries', async () => {
  site.route('/moved', (_request, response) => response.writeHead(302, { location: '/page?token=secret' }).end());
  site.route('/broken.js', (_request, response) => response.writeHead(404).end('no'));
  site.route('/throws.js', (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/javascript' }).end('\nnull.cart;'),
  );
  const page = `<title>P</title><p>Text</p><script src="/broken.js?key=secret"></script><script src="/throws.js?key=secret"></script>
    <script>fetch('http://me:secret@127.0.0.2/?key=secret').catch((error) => console.error(error));
    console.error('cart', 3, new Error('is empty')); console.warn('careful'); Promise.reject(new TypeError('never'))</script>
    <img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">`;
  site.route('/page', (_request, response) => html(response, page));
  const { facts } = await inspected('/moved?token=secret');
  expect(facts.status).toBe(200);
  expect(Object.keys(facts)).not.toContain('canonical');
  expect(facts.redirects).toEqual([{ url: site.url('/moved'), status: 302 }]);
  expect(facts.requests.failed).toContainEqual({ url: site.url('/broken.js'), type: 'script', status: 404 });
  expect(facts.requests.by_type.document).toMatchObject({ count: 1 });
  expect(facts.requests.by_type.script).toMatchObject({ count: 2 });
  expect(facts.requests.bytes).toBeGreaterThan(page.length);
  expect(facts.requests.slowest.map(({ url }) => url)).toContain(site.url('/page'));
  expect(facts.console_errors).toEqual([
    expect.objectContaining({
      text: expect.stringContaining('TypeError'),
      url: site.url('/throws.js'),
      line: 2,
      uncaught: true,
    }),
    { text: 'cart 3 Error: is empty', url: site.url('/page'), line: expect.any(Number) },
    expect.objectContaining({ text: expect.stringMatching(/includes credentials: http:\/\/127\.0\.0\.2\/$/) }),
    expect.objectContaining({ text: 'TypeError: never' }),
  ]);
  expect(JSON.stringify(facts)).not.toContain('secret');
});

it('measures the largest paint and how much the page has moved, before the capture moves it', async () => {
  const page = `<title>V</title><style>body{margin:0}h1{font-size:80px}</style><div id="late"></div><h1 id="top">Tea</h1><p>Text</p>
    <div style="height:3000px"></div><script>requestAnimationFrame(() => setTimeout(() => { late.style.height = '300px' }, 100))</script>`;
  const { facts } = await inspected(page, { full_page: true });
  expect(facts.largest_contentful_paint?.element).toBe('h1#top');
  expect(facts.largest_contentful_paint?.ms).toBeGreaterThan(0);
  expect(facts.layout_shift?.score).toBeGreaterThan(0.05);
  expect(facts.layout_shift?.elements).toContain('h1#top');
});

it('lists the visible elements that can be acted on, also in open shadow trees', async () => {
  const page = `<title>E</title><style>body{margin:0}a,button{position:absolute}</style>
    <button id="buy" style="left:10px;top:20px;width:100px;height:40px">Buy now</button>
    <button style="display:none">Hidden</button><button disabled style="top:500px">Off</button>
    <a href="/a" style="left:10px;top:100px">One</a><a href="/a" style="left:10px;top:130px">One</a>
    <a href="/below" style="top:2000px">Below</a>
    <label style="position:absolute;top:160px">Your name <input name="who" value="typed"></label>
    <input type="hidden" name="csrf"><div onclick="x()" style="cursor:pointer;position:absolute;top:200px;width:80px;height:20px">Open</div>
    <button style="left:400px;top:20px;width:50px;height:50px">Covered</button><div style="position:absolute;left:390px;top:10px;width:90px;height:90px;background:#fff"></div>
    <x-card style="position:absolute;top:240px"></x-card>
    <script>document.querySelector('x-card').attachShadow({mode:'open'}).innerHTML='<b role="checkbox" tabindex="0">Agree</b>'</script>`;
  const { elements } = await inspected(page);
  const names = [
    'button Buy now',
    'link One',
    'link One',
    'textbox Your name',
    'generic Open',
    'checkbox Agree',
    'link Below',
  ];
  expect(elements.map(({ role, name }) => `${role} ${name}`)).toEqual(names);
  expect(elements[0]).toMatchObject({ box: { x: 10, y: 20, width: 100, height: 40 }, selector: '#buy' });
  expect(elements[0]?.ref).toMatch(/^e1-[0-9a-z]{7}-[0-9a-z]{7}$/);
  expect(elements[2]?.selector).toBe('body > a:nth-of-type(2)');
  expect(elements[5]?.selector).toBe('body > x-card >>> b');
  expect(JSON.stringify(elements)).not.toContain('typed');
});

const MARKED = `<title>M</title><style>body{margin:0;background:#fff}button,a{position:absolute;width:100px;height:40px;border:0;background:#ccc;color:#ccc}
  p{height:2400px}dialog{position:absolute;margin:0;left:300px;top:100px;border:0;padding:20px;background:#ddd}</style>
  <button style="left:60px;top:60px">First</button><a href="/x" style="left:60px;top:2000px">Far</a><p></p>
  <dialog open><button style="position:static">Within</button></dialog><script>document.querySelector('dialog').close(); document.querySelector('dialog').showModal()</script>`;

it('draws the numbers of the elements on pictures of the view, the page, an element and a part, above dialogs, without changing the rest', async () => {
  for (const wish of [
    {},
    { full_page: true },
    { selector: 'dialog' },
    { clip: { x: 0, y: 1_950, width: 300, height: 150 } },
  ]) {
    const plain = await inspected(MARKED, wish);
    const marked = await inspected(MARKED, { ...wish, annotate: true });
    expect(marked.elements.map(({ name, box }) => ({ name, box }))).toEqual(
      plain.elements.map(({ name, box }) => ({ name, box })),
    );
    expect([marked.width, marked.height]).toEqual([plain.width, plain.height]);
    const { changed } = await difference(plain.content, marked.content);
    expect(changed).toBeGreaterThan(0.000_5);
    expect(changed).toBeLessThan(0.1);
  }
});

it('numbers only what is shown, and covers nothing with a backdrop', async () => {
  const buttons = '<button style="flex:0 0 100px">S</button>'.repeat(5);
  const view = { viewport: { width: 390, height: 600, deviceScaleFactor: 1, isMobile: true } };
  const body = (css: string, more: string) =>
    `<title>B</title><meta name=viewport content="width=device-width"><style>body{margin:0;background:#fff}${css}</style>
    <div style="overflow:hidden;width:100%;height:60px"><div style="display:flex;gap:400px;width:3000px">${buttons}</div></div><h1>Page</h1>
    <div style="height:900px"></div><div style="overflow:auto;height:40px">${more}</div><div style="height:900px"></div>`;
  const clipped = body('::backdrop{background:#000}', '<a href="/x" style="display:block;height:30px">X</a>'.repeat(9));
  const darkest = async (png: Uint8Array, region: Region) =>
    (await sharp(await sharp(png).extract(region).png().toBuffer()).stats()).channels.map(({ min }) => min);
  for (const wish of [view, { ...view, full_page: true }]) {
    const plain = await inspected(body('', ''), wish);
    const marked = await inspected(clipped, { ...wish, annotate: true });
    expect(marked.elements.length).toBe(14);
    const right = { left: 300, top: 0, width: 90, height: 500 };
    expect(await darkest(marked.content, right)).toEqual(await darkest(plain.content, right));
    if (!('full_page' in wish)) continue;
    expect(await darkest(marked.content, { left: 0, top: 1_100, width: 390, height: 400 })).toEqual([255, 255, 255]);
  }
});

it('finds the element of a ref in another load of the page, or reports that it no longer fits', async () => {
  const buttons = (
    first: string,
  ) => `<title>R</title><div>${first}</div><main><button>Same</button><button>Same</button></main>
    <x-card></x-card><script>document.querySelector('x-card').attachShadow({mode:'open'}).innerHTML='<button>Inside</button><button>Next</button>'</script>`;
  const refs = (await inspected(buttons('<button>Buy</button>'))).elements.map(({ ref }) => ref);
  const lookUp = async (body: string) => {
    await using session = await aPageSession(browser, { html: body, options: options() });
    const look = async (ref: string) => await session.page.locator(await resolveRef(session.world, ref)).textContent();
    return await Promise.all(refs.map((ref) => look(ref).catch((error: Error) => error.message)));
  };
  expect(await lookUp(buttons('<p>New</p><button class="red">Buy</button>'))).toEqual([
    'Buy',
    'Same',
    'Same',
    'Inside',
    'Next',
  ]);
  const [gone, one, two] = await lookUp(
    buttons('').replace('<button>Same</button>', '<b></b>').replace('main>', 'nav>'),
  );
  expect(gone).toMatch(
    /^The element `e1-\w+-\w+` no longer fits: the page has no visible element with its role and name/,
  );
  expect([one, two]).toEqual(['Same', 'Same']);
  const several = await lookUp(buttons('').replaceAll('main>', 'nav>'));
  expect(several[1]).toContain('2 elements of the page have its role and name, and none of them is where it was');
});

it('keeps its limits on a hostile page', async () => {
  const long = 'x'.repeat(50_000);
  const text = long.slice(0, 300);
  const item = (nth: number) =>
    `<a href="/p${nth}?${'q'.repeat(200)}" id="${long.slice(0, 500)}${nth}">${text}</a><h2>${nth}${text}</h2>`;
  const items = Array.from({ length: 3_000 }, (_, nth) => item(nth));
  const page = `<title>${long}</title><meta name="description" content="${long}"><meta property="og:x" content="${long}">${items.join('')}
    <form><input name="id"><input name="getAttribute"><input name="parentElement"><button name="localName">B</button></form>
    <script>for (let i = 0; i < 2000; i++) console.error(i, '${long}'); Element.prototype.getAttribute = () => { throw 1 };
    Object.defineProperty(document, 'title', { get() { while (true); } })</script>`;
  const { facts, elements } = await inspected(page);
  expect(facts.title.length).toBeLessThanOrEqual(500);
  expect(facts.console_errors.length).toBeLessThanOrEqual(20);
  expect(facts.links.length).toBeLessThanOrEqual(500);
  expect(elements.length).toBeLessThanOrEqual(300);
  expect(JSON.stringify({ facts, elements }).length).toBeLessThan(200_000);
});

it('reads no more icons and feeds than it reports', async () => {
  const links = '<link rel="icon" href="/i.png"><link rel="alternate" type="application/rss+xml" href="/f.xml">'.repeat(
    500,
  );
  await using session = await aPageSession(browser, { html: links, options: options() });
  const count = `const { getAttribute } = Element.prototype;
    globalThis.reads = 0;
    Element.prototype.getAttribute = function (name) { reads++; return getAttribute.call(this, name); }`;
  await session.world.run(`(() => { ${count} })()`, 1_000);
  const { icons, feeds } = documentFactsSchema.parse(await callInPage(session.world, 'read', []));
  expect([icons.length, feeds.length]).toEqual([20, 20]);
  expect(await session.world.run('reads', 1_000)).toBeLessThan(200);
});

const EVERY_TYPE = {
  title: { selector: 'h1', required: true },
  price: { selector: '.price', type: 'number' },
  list: { selector: 'li', all: true },
  stars: { selector: 'data', type: 'number' },
  day: { selector: 'time', type: 'date' },
  updated: { selector: '#updated', type: 'date' },
  link: { selector: 'p', type: 'url' },
  canonical: { selector: 'link[rel=canonical]', type: 'url' },
  sku: { selector: 'form', type: 'attribute', attribute: 'data-sku' },
  source: { selector: 'b', type: 'html' },
  markdown: { selector: 'main', type: 'markdown' },
  table: { selector: '#prices', type: 'table' },
  inner: { selector: 'iframe >>> b' },
  password: { selector: '[type=password]' },
  nothing: { selector: '.nothing', type: 'number' },
  sale: { selector: '.sale', type: 'number' },
  sales: { selector: '.sale', type: 'number', all: true },
  hidden: { selector: 'li[hidden]' },
  hiddenDay: { selector: '.day', type: 'date' },
  choice: { selector: 'option' },
  heads: { selector: '.heads', type: 'table' },
  far: { selector: '.far' },
} as const;

it('extracts values of every type with their boxes, although the page has changed its own world', async () => {
  const page = `<!doctype html><html lang="de"><link rel="canonical" href="https://me:secret@shop.example/tea"><title>Tea</title>
    <style>body{margin:0}main{padding-top:1000px}h1{margin:0;height:40px}</style><main><h1>Green
    tea</h1><span class="price">1.234,56 €</span><data value="4.5">4 1/2</data>
    <time datetime="2026-11-28T09:05+01:00">gestern</time><i id="updated">Stand: 3. März 2026</i>
    <p>Siehe <a href="/more">mehr</a></p><ul><li>One</li><li>Two<script>1</script></li><li hidden>Three</li></ul>
    <form data-sku="T-1"><input name="getAttribute"><input name="getClientRects"><input name="innerText"><input type="password" value="hush"></form><b id="b">Bold <i>text</i></b>
    <p class="sale"><s>$5.00</s> $<b>4</b>.<sup>50</sup></p><p class="sale"><span style="text-decoration:line-through">9 €</span></p><p class="sale" hidden>$1</p>
    <p class="day" hidden>28 Nov 2026</p><select><option>Green<option>Black</select>
    <table class="heads"><tr><th rowspan="2">Tea</th><th colspan="2">Hot</th></tr><tr><th>min</th><th>max</th></tr><tr hidden><td>x</td></tr><tr><td>A</td><td>1</td><td>2</td></tr></table>
    <div style="content-visibility:auto;opacity:0"><p class="far" style="display:contents">Far</p></div>
    <div id="prices"><table><thead><tr><th>Tea</th><th>Price</th></tr></thead><tr><td rowspan="2">Green</td><td>2</td></tr><tr><td>3</td></tr></table></div>
    <iframe style="position:absolute;left:100px;top:200px;border:10px solid" srcdoc="<body style='margin:0'><b style='display:block;height:20px'>Inner</b>"></iframe></main>
    <script>for (const name of ['innerText', 'textContent', 'outerHTML']) for (const one of [HTMLElement, Element, Node])
      Object.defineProperty(one.prototype, name, { get() { return 'forged' }, configurable: true });
    Element.prototype.getAttribute = Document.prototype.querySelector = Document.prototype.querySelectorAll = () => { throw new Error('no') };
    Element.prototype.getBoundingClientRect = () => ({ left: 1e9 })</script>`;
  site.route('/values', (_request, response) => html(response, page));
  const { extraction, html: saved } = await rig.capture(site.url('/values'), {
    extract: EVERY_TYPE,
    save_html: true,
    full_page: true,
  });
  const { values } = extraction ?? expect.fail();
  const read = (name: keyof typeof EVERY_TYPE) => [values[name]].flat()[0]?.value;
  expect(values.title).toEqual({ value: 'Green tea', box: { x: 0, y: 1_000, width: 800, height: 40 } });
  expect(values.price).toMatchObject({ value: 1234.56, text: '1.234,56 €' });
  expect([values.list].flat().map((one) => one?.value)).toEqual(['One', 'Two']);
  expect([read('sale'), read('hidden'), read('hiddenDay'), read('choice')]).toEqual([4.5, null, null, 'Green']);
  expect([values.sales].flat().map((one) => one?.value)).toEqual([4.5, 9]);
  expect(read('far')).toBe('Far');
  expect(read('heads')).toEqual({ columns: ['Tea', 'Hot min', 'Hot max'], rows: [['A', '1', '2']] });
  expect(read('stars')).toBe(4.5);
  expect(read('day')).toBe('2026-11-28T09:05+01:00');
  expect(read('updated')).toBe('2026-03-03');
  expect(read('link')).toBe(site.url('/more'));
  expect(read('canonical')).toBe('https://shop.example/tea');
  expect(read('sku')).toBe('T-1');
  expect(read('source')).toBe('<b id="b">Bold <i>text</i></b>');
  expect(values.table).toMatchObject({
    value: {
      columns: ['Tea', 'Price'],
      rows: [
        ['Green', '2'],
        ['Green', '3'],
      ],
    },
  });
  expect(values.inner).toMatchObject({ value: 'Inner', box: { x: 110, y: 210, height: 20 } });
  expect(read('password')).toBeNull();
  expect(values.nothing).toEqual({ value: null, box: null });
  expect(Buffer.from(saved ?? []).toString()).toMatch(/^<!DOCTYPE html><html lang="de".*data-sku="T-1"/s);
});

it('extracts only so much of a page that has too much, and fails by name without what is required', async () => {
  const page = `<title>Much</title><p>Text</p><style>#wide,#wide *{display:block}</style><div style="height:0;overflow:hidden"><div id="many" hidden></div><div id="long"></div><table id="wide"></table></div>
    <script>many.innerHTML = '<a href=/x>x</a>'.repeat(50000); long.textContent = 'long '.repeat(5000);
    wide.innerHTML = '<tr><td colspan=1000 rowspan=65534>cell</td></tr>'.repeat(20) + '<tr>'.repeat(1100)</script>`;
  site.route('/much', (_request, response) => html(response, page));
  const capture = (extract: Record<string, unknown>, wish = {}) => rig.capture(site.url('/much'), { extract, ...wish });
  const { extraction } = await capture({
    links: { selector: '#many a', type: 'url', all: true },
    long: { selector: '#long' },
    wide: { selector: '#wide', type: 'table' },
    plain: { selector: 'p' },
  });
  const { values, truncated } = extraction ?? expect.fail();
  expect(truncated).toEqual(['links', 'long', 'wide']);
  expect([values.links].flat()).toHaveLength(500);
  expect(JSON.stringify(values).length).toBeLessThan(300_000);
  expect(values.plain).toMatchObject({ value: 'Text' });
  const required = {
    price: { selector: 'p', type: 'number', required: true },
    sku: { selector: '.sku', all: true, required: true },
  };
  const missing = { code: 'render_incomplete', details: { check: 'extract', missing: ['price', 'sku'] } };
  await expect(capture(required)).rejects.toMatchObject(missing);
  const tolerant = await capture(required, { tolerate: ['render_incomplete'] });
  expect(tolerant.warnings).toMatchObject([{ code: 'render_incomplete', message: expect.stringContaining('"sku"') }]);
  await expect(capture({ bad: { selector: 'p[' } })).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringMatching(/^`extract\.bad\.selector`/),
  });
});
