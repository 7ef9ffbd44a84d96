import sharp from 'sharp';
import { expect, it } from 'vitest';
import { ofFile } from '../../fixtures/of-file.js';
import { document, html } from '../../fixtures/site/answer.js';
import { startSite } from '../../fixtures/site/site.js';
import { colourAt } from '../picture/blots.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();
const other = await ofFile(startSite({ host: '127.0.0.2' }));

/** A page whose body and script are given. */
function page(path: string, body: string, script = ''): string {
  site.route(path, (_request, response) => html(response, document('Steps', `${body}<script>${script}</script>`)));
  return site.url(path);
}

/** Carries out the steps, and fails unless the page shows these words afterwards. */
async function shows(url: string, steps: object[], words: string[], more: object = {}) {
  return await rig.capture(url, { steps, fail_if_content_missing: words, ...more });
}

const click = (selector: string) => ({ action: 'click', selector });
const type = (selector: string, text: string) => ({ action: 'type', selector, text });

/** The darkest value of a strip of a picture, 60 px high. */
async function darkest(picture: Uint8Array | undefined, top: number): Promise<number> {
  const strip = await sharp(picture).extract({ left: 0, top, width: 800, height: 60 }).png().toBuffer();
  const { channels } = await sharp(strip).stats();
  return channels[0]?.min ?? 255;
}

const form = page(
  '/form',
  `<style>#menu { display: none } nav:hover #menu { display: block } #log { white-space: pre }</style>
  <label>Name <input id="name" value="old"></label><label>Word <input type="password" id="word"></label>
  <label><input type="checkbox" id="agree"> I agree</label>
  <select id="country"><option value="us">United States</option><option value="de">Germany</option></select>
  <button id="say">Say</button> <nav>Products<div id="menu">All products</div></nav><p id="log"></p>`,
  `const by = (id) => document.getElementById(id);
  by('say').onclick = () => { by('log').textContent = [by('name').value, by('word').value.length, by('agree').checked, by('country').value].join(' '); };
  by('name').onkeydown = (event) => { if (event.key === 'Enter') by('log').textContent = 'entered ' + by('name').value; };`,
);

it.concurrent('types, checks, selects and clicks in order, by every kind of selector', async () => {
  const steps = [
    type('#name', 'Ada'),
    { action: 'type', selector: 'input[type=password]', secret: 'hunter22' },
    { action: 'check', selector: 'text=I agree' },
    { action: 'select', selector: '#country', value: 'Germany' },
    click('role=button[name="Say"]'),
  ];
  await shows(form, steps, ['Ada 8 true de']);
});

it.concurrent('presses a key in a field, and hovers until the picture', async () => {
  const steps = [type('#name', 'Bob'), { action: 'press', selector: '#name', key: 'Enter' }, { action: 'hover', selector: 'nav' }];
  await shows(form, steps, ['entered Bob', 'All products']);
  await shows(form, [click('#name'), { action: 'press', key: 'Enter' }], ['entered old']);
});

it.concurrent('scrolls to an element, and leaves it there for a picture of the view', async () => {
  const url = page('/tall', '<div style="height:3000px"></div><div id="low" style="height:600px;background:rgb(0,128,0)"></div>');
  const { content } = await rig.capture(url, { steps: [{ action: 'scroll_to', selector: '#low' }] });
  expect(await colourAt(content, 400, 300)).toBe('008000');
});

const late = page(
  '/late',
  '<button id="go" disabled>Go</button><p id="state">waiting</p>',
  `setTimeout(() => { go.disabled = false }, 6000);
  go.onclick = () => { state.textContent = 'working'; setTimeout(() => { state.textContent = 'finished'; state.id = 'done' }, 8000) };`,
);

it.concurrent('waits on the page’s clock: a button that is enabled after 6 s, and a text 8 s later, take less', async () => {
  const began = performance.now();
  const steps = [
    click('#go'),
    { action: 'wait_for', text: 'finished' },
    { action: 'wait_for', selector: '#done' },
    { action: 'wait_for', hidden: '#state' },
    { action: 'wait_for', expression: 'document.querySelector("#done") !== null' },
    { action: 'wait_for', ms: 9_000 },
  ];
  await shows(late, steps, ['finished']);
  expect(performance.now() - began).toBeLessThan(14_000);
});

it.concurrent('waits for the requests of a step before the next one', async () => {
  site.route('/list.json', async (_request, response) => {
    await new Promise((resolve) => setTimeout(resolve, 400));
    response.setHeader('content-type', 'application/json');
    response.end('["new item"]');
  });
  const url = page(
    '/list',
    '<button>Load</button><ul><li>old item</li></ul><p></p>',
    `const [button, item, p] = ['button', 'li', 'p'].map((one) => document.querySelector(one));
    button.onclick = async () => { item.textContent = (await (await fetch('/list.json')).json())[0] };
    item.onclick = () => { p.textContent = 'clicked ' + item.textContent };`,
  );
  await shows(url, [click('button'), click('li')], ['clicked new item']);
});

it.concurrent('waits for the page that a form leads to, and that a script leads to after its request', async () => {
  const inAWhile = (answer: () => void) => void setTimeout(answer, 400);
  site.route('/checked', (_request, response) => inAWhile(() => response.writeHead(303, { location: '/inside' }).end()));
  site.route('/session', (_request, response) => inAWhile(() => response.end()));
  page('/inside', '<h1>Inside</h1>');
  const login = page(
    '/login',
    '<form method="post" action="/checked"><input name="user"><button>Send</button></form><a href="#">Script</a>',
    `document.querySelector('a').onclick = async () => { await fetch('/session'); location.href = '/checked' }`,
  );
  for (const selector of ['button', 'a'])
    await shows(
      login,
      [type('input', 'Ada'), click(selector), { action: 'evaluate', script: 'document.body.append("evaluated at " + location.pathname)' }],
      ['evaluated at /inside'],
    );
});

it.concurrent('types with keys, after it has cleared the field, and puts in what has no keys', async () => {
  const url = page(
    '/keys',
    `<input id="search" value="before"><ul></ul><textarea id="long"></textarea><div id="rich" contenteditable>old</div>
    <label for="day">Day</label><input type="date" id="day"><input id="joined"><p id="state"></p>`,
    `const keys = {};
    onkeydown = ({ target, key }) => { keys[target.id] = (keys[target.id] ?? 0) + 1 };
    let timer;
    search.onkeyup = () => {
      clearTimeout(timer);
      timer = setTimeout(() => { document.querySelector('ul').innerHTML = '<li>' + search.value + ' Street</li>' }, 300);
    };
    document.querySelector('ul').onclick = ({ target }) => {
      state.textContent = [target.textContent, long.value.length, keys.long > 40, rich.textContent, day.value, joined.value].join('|');
    };`,
  );
  await shows(
    url,
    [
      type('#long', '😀'.repeat(500)),
      type('#rich', 'new é'),
      type('text=Day', '2026-01-02'),
      type('#joined', 'one\ntwo'),
      type('#search', 'Main'),
      click('li'),
    ],
    ['Main Street|1000|false|new é|2026-01-02|one two'],
  );
});

it.concurrent('follows links, forms and go_to to the page that they lead to, even if a page asks whether to leave it', async () => {
  page('/second', '<h1>Second page</h1><form action="/third"><input name="q"></form>');
  page('/third', '<h1>Third page</h1>', 'document.querySelector("h1").textContent += location.search');
  const first = page('/first', '<a href="/second">Next</a>', 'onbeforeunload = (event) => { event.preventDefault(); return "no" }');
  const { finalUrl } = await shows(
    first,
    [click('text=Next'), type('input', 'x'), { action: 'press', selector: 'input', key: 'Enter' }, { action: 'wait_for', url: '/third*' }],
    ['Third page?q=x'],
  );
  expect(finalUrl).toBe(site.url('/third?q=x'));
  const gone = await shows(first, [{ action: 'go_to', url: other.url('/static') }], []);
  expect(gone.finalUrl).toBe(other.url('/static'));
  const fragment = await shows(first, [{ action: 'go_to', url: `${first}#part` }], ['Next']);
  expect(fragment.finalUrl).toBe(`${first}#part`);
});

it.concurrent.each([
  ['an alert and a confirmation', 'alert(1); p.textContent = confirm("sure?") ? "yes" : "no"', 'no'],
  ['a new window', 'const w = open("/second"); p.textContent = "opened"', 'opened'],
  [
    'a link to a new window',
    'Object.assign(document.createElement("a"), { href: "/second", target: "_blank" }).click(); p.textContent = "asked"',
    'asked',
  ],
  ['a download', 'location.href = "/download"; p.textContent = "downloads"', 'downloads'],
  ['a page without content', 'location.href = "/no-content"; p.textContent = "nothing new"', 'nothing new'],
  ['a file chooser', 'Object.assign(document.createElement("input"), { type: "file" }).click(); p.textContent = "chooses"', 'chooses'],
  ['the print dialog', 'print(); p.textContent = "prints"', 'prints'],
])('%s does not hold a step', async (_what, script, word) => {
  const url = page(
    `/dialogs/${encodeURIComponent(word)}`,
    '<button>Do</button><p>nothing</p>',
    `const p = document.querySelector('p'); document.querySelector('button').onclick = () => { ${script} }`,
  );
  const began = performance.now();
  await shows(url, [click('button'), { action: 'hover', selector: 'p' }], [word], { timeout: 20_000 });
  expect(performance.now() - began).toBeLessThan(8_000);
});

it.concurrent('runs a script, whose promise is awaited on the page’s clock', async () => {
  const script = 'await new Promise((resolve) => setTimeout(resolve, 12_000)); document.body.append("ran at last")';
  const began = performance.now();
  await shows(form, [{ action: 'evaluate', script }], ['ran at last']);
  expect(performance.now() - began).toBeLessThan(12_000);
});

it.concurrent('clicks in a frame of another site, and in a shadow tree', async () => {
  const script = 'b.onclick = () => { b.textContent = "inner clicked"; parent.postMessage("told", "*") }';
  other.route('/inner', (_request, response) =>
    html(response, document('Inner', `<button id="b">Inner</button><script>${script}</script>`)),
  );
  const url = page(
    '/outer',
    `<div id="host"></div><iframe src="${other.url('/inner')}" width="300" height="200"></iframe><p></p>`,
    `const say = (word) => { document.querySelector('p').textContent += word };
    onmessage = () => say('frame ');
    host.attachShadow({ mode: 'open' }).innerHTML = '<button id="deep">Deep</button>';
    host.shadowRoot.querySelector('button').onclick = () => say('shadow ');`,
  );
  const steps = [click('iframe >> internal:control=enter-frame >> #b'), click('#deep')];
  await shows(url, steps, ['frame shadow']);
});

it.concurrent('a step that fails is named with its reason and a small picture', async () => {
  const error = await rig.failure(form, { steps: [click('#say'), click('#none')] });
  expect(error).toMatchObject({ code: 'render_timeout', details: { step: 1, action: 'click', reason: 'not_found' } });
  expect(error.message).toBe('`steps.1` (click "#none") failed: nothing visible matches the selector.');
  const { width, format } = await sharp(error.picture).metadata();
  expect({ width, format }).toEqual({ width: 800, format: 'webp' });
  expect(error.picture?.length).toBeLessThan(100_000);
});

it.concurrent.each([
  [click('#off'), 'render_timeout', 'disabled'],
  [click('#under'), 'render_timeout', 'covered'],
  [type('h1', 'x'), 'invalid_request', 'wrong_element'],
  [{ action: 'check', selector: 'h1' }, 'invalid_request', 'wrong_element'],
  [{ action: 'select', selector: 'select', value: 'none' }, 'render_timeout', 'no_option'],
  [click('a[['), 'invalid_request', 'invalid_selector'],
  [click('nonsense=x'), 'invalid_request', 'invalid_selector'],
  [{ action: 'press', key: 'Nokey' }, 'invalid_request', 'unknown_key'],
  [{ action: 'wait_for', url: '*/nowhere' }, 'render_timeout', 'not_yet'],
  [{ action: 'wait_for', expression: 'window.none.such' }, 'render_timeout', 'not_yet'],
])('%o fails as %s: %s', async (step, code, reason) => {
  const url = page(
    '/bad',
    `<h1>Title</h1><button id="off" disabled>Off</button><select><option>one</option></select>
    <button id="under">Under</button><div style="position:fixed;inset:0"></div>`,
  );
  const error = await rig.failure(url, { steps: [step], timeout: code === 'render_timeout' ? 3_000 : 30_000 });
  expect(error).toMatchObject({ code, details: { step: 0, reason } });
});

it.concurrent('scripts of steps that do not compile or that throw are named by their field', async () => {
  const thrown = await rig.failure(form, { steps: [{ action: 'evaluate', script: 'throw new Error("broken")' }] });
  expect(thrown).toMatchObject({ code: 'invalid_request', details: { step: 0, issues: [{ path: 'steps.0.script' }] } });
  const uncompiled = await rig.failure(form, { steps: [{ action: 'wait_for', expression: 'if (' }] });
  expect(uncompiled).toMatchObject({ code: 'invalid_request', details: { step: 0, issues: [{ path: 'steps.0.expression' }] } });
});

it.concurrent('go_to reaches no private address, and an error page fails the step', async () => {
  const away = await rig.failure(form, { steps: [{ action: 'go_to', url: 'http://127.0.0.3:8080/' }] });
  expect(away).toMatchObject({ code: 'navigation_failed', details: { step: 0, action: 'go_to' } });
  const missing = await rig.failure(form, { steps: [{ action: 'go_to', url: site.url('/status/404') }] });
  expect(missing).toMatchObject({ code: 'target_error', details: { step: 0, status: 404 } });
  await rig.capture(form, { steps: [{ action: 'go_to', url: site.url('/status/404') }], tolerate: ['target_error'] });
});

it.concurrent('keeps a promise on the page’s clock, and waits for one that is never kept no longer than for other things', async () => {
  const began = performance.now();
  const kept = 'new Promise((resolve) => setTimeout(resolve, 9_000, true))';
  await shows(
    form,
    [{ action: 'wait_for', expression: kept }, { action: 'wait_for', expression: 'new Promise(() => {})', optional: true }, click('#say')],
    ['old 0 false us'],
    { wait_for_function: kept },
  );
  expect(performance.now() - began).toBeLessThan(14_000);
});

it.concurrent('the picture of a failure does not show a secret, wherever the page has put it', async () => {
  const url = page(
    '/echo',
    `<style>* { font: 40px monospace; background: white; color: black; border: 0; transition: all 60s }
    body > * { position: absolute; left: 0; width: 780px; height: 60px; margin: 0 } [data-copy]::before { content: attr(data-copy) }</style>
    <input id="field" style="top: 0"><p id="copy" style="top: 80px"></p><iframe srcdoc="" style="top: 160px"></iframe><p id="parts" style="top: 240px"></p>
    <input type="button" id="button" style="top: 320px"><select id="list" style="top: 400px"></select><p id="attribute" style="top: 480px"></p>
    <p style="top: 540px">visible</p>`,
    `field.oninput = () => {
      const { value } = field;
      copy.textContent = 'copy ' + value.match(/../g).join(' ');
      frames[0].document.body.innerHTML = '<h1>' + value + '</h1>';
      parts.innerHTML = [...value].map((one) => '<b>' + one + '</b>').join('');
      button.value = value.toUpperCase();
      list.innerHTML = '<option>' + value;
      attribute.dataset.copy = value;
    }`,
  );
  const steps = [{ action: 'type', selector: '#field', secret: 'mmmmwwww' }, click('#none')];
  const error = await rig.failure(url, { steps, timeout: 4_000 });
  const hidden = [0, 80, 160, 240, 320, 400, 480];
  expect(await Promise.all(hidden.map((top) => darkest(error.picture, top)))).toEqual(hidden.map(() => expect.closeTo(255, -1)));
  expect(await darkest(error.picture, 540)).toBeLessThan(100);
  expect(JSON.stringify([error.message, error.details])).not.toContain('mmmm');
});

it.concurrent('the picture of a failure shows nothing that the request masks, even if it moves', async () => {
  const url = page(
    '/masked-failure',
    `<style>body { margin: 0; background: #fff } div { position: absolute; top: 40px; width: 200px; height: 80px; background: #00f; animation: move 2s infinite alternate linear }
    @keyframes move { from { left: 0 } to { left: 500px } }</style><div></div>`,
  );
  const error = await rig.failure(url, { steps: [click('#none')], mask: ['div'], mask_color: 'black', timeout: 3_000 });
  const [red, , blue] = (await sharp(error.picture).stats()).channels;
  expect(blue?.mean).toBeCloseTo(red?.mean ?? 0, 0);
  expect(red?.mean).toBeLessThan(255 * (1 - (0.9 * 200 * 80) / (800 * 600)));
});

it.concurrent('the message of a script that fails does not repeat a secret', async () => {
  const error = await rig.failure(form, {
    steps: [
      { action: 'type', selector: '#name', secret: 'swordfish' },
      { action: 'evaluate', script: 'throw new Error("no user " + document.querySelector("#name").value)' },
    ],
  });
  expect(error.message).toContain('no user …');
  expect(JSON.stringify([error.message, error.details])).not.toContain('swordfish');
});

it.concurrent('wait_for_function waits on the page’s clock, and fails by its name', async () => {
  await rig.capture(late, { wait_for_function: 'go.disabled === false' });
  const error = await rig.failure(form, { wait_for_function: 'window.never', timeout: 2_000 });
  expect(error).toMatchObject({ code: 'render_timeout', details: { waited_for: 'function' } });
});

it.concurrent('a page in a busy loop fails the step that meets it within the limits', async () => {
  const url = page('/busy', '<button>Hang</button>', 'document.querySelector("button").onclick = () => { for (;;); }');
  const began = performance.now();
  await rig.failure(url, { steps: [click('button'), click('button')], timeout: 1_500 });
  expect(performance.now() - began).toBeLessThan(20_000);
});
