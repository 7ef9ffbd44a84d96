import sharp from 'sharp';
import { expect, it } from 'vitest';
import { ofFile } from '../../fixtures/of-file.js';
import { document, html, wait } from '../../fixtures/site/answer.js';
import { startSite } from '../../fixtures/site/site.js';
import { siteAndRig } from '../page/capture-rig.js';
import { colorAt } from '../picture/blots.js';

const { site, rig } = await siteAndRig();
const other = await ofFile(startSite({ host: '127.0.0.2' }));

let pages = 0;

/** Serves a page whose body and script are given. */
function page(body: string, script = '', path = `/steps/${++pages}`): string {
  site.route(path, (_request, response) => html(response, document('Steps', `${body}<script>${script}</script>`)));
  return site.url(path);
}

/** Carries out the steps, and fails unless the page shows these words afterwards. */
async function shows(url: string, steps: object[], words: string[], more: object = {}) {
  const rendering = await rig.capturedText(url, { steps, ...more });
  for (const word of words) expect(rendering.text).toContain(word);
  return rendering;
}

const click = (selector: string) => ({ action: 'click', selector });
const type = (selector: string, text: string) => ({ action: 'type', selector, text });
const press = (key: string, selector?: string) => ({ action: 'press', selector, key });
const evaluate = (script: string) => ({ action: 'evaluate', script });
const goTo = (url: string) => ({ action: 'go_to', url });
const waitFor = (what: object) => ({ action: 'wait_for', ...what });

const form = page(
  `<style>#menu { display: none } nav:hover #menu { display: block } #log { white-space: pre }</style>
  <label>Name <input id="name" value="old"></label><label>Word <input type="password" id="word"></label>
  <label><input type="checkbox" id="agree"> I agree</label>
  <select id="country"><option value="us">United States</option><option value="de">Germany</option></select>
  <button id="say">Say</button> <nav>Products<div id="menu">All products</div></nav><p id="log"></p><p id="key"></p>`,
  `const by = (id) => document.getElementById(id);
  by('say').onclick = () => { by('log').textContent = [by('name').value, by('word').value.length, by('agree').checked, by('country').value].join(' '); };
  by('name').onkeydown = (event) => { if (event.key === 'Enter') by('key').textContent = 'entered ' + by('name').value; };`,
);

it.concurrent('types, presses, checks, selects, clicks and hovers in order, by every kind of selector', async () => {
  const steps = [
    type('#name', 'Ada'),
    press('Enter', '#name'),
    { action: 'type', selector: 'input[type=password]', secret: 'hunter22' },
    { action: 'check', selector: 'text=I agree' },
    { action: 'select', selector: '#country', value: 'Germany' },
    click('role=button[name="Say"]'),
    { action: 'hover', selector: 'nav' },
  ];
  await shows(form, steps, ['entered Ada', 'Ada 8 true de', 'All products']);
  await shows(form, [click('#name'), press('Enter')], ['entered old']);
});

it.concurrent('scrolls to an element, and leaves it there for a picture of the view', async () => {
  const url = page(
    '<div style="height:3000px"></div><div id="low" style="height:600px;background:rgb(0,128,0)"></div>',
  );
  const { content } = await rig.capture(url, { steps: [{ action: 'scroll_to', selector: '#low' }] });
  expect(await colorAt(content, 400, 300)).toBe('008000');
});

const late = page(
  '<button id="go" disabled>Go</button><p id="state">waiting</p>',
  `setTimeout(() => { go.disabled = false }, 6000);
  go.onclick = () => { state.textContent = 'working'; setTimeout(() => { state.textContent = 'finished'; state.id = 'done' }, 8000) };`,
);

it.concurrent('waits on the page’s clock: a button that is enabled after 6 s, and a text 8 s later, take less', async () => {
  const began = performance.now();
  const steps = [
    click('#go'),
    ...[{ text: 'finished' }, { selector: '#done' }, { hidden: '#state' }, { ms: 9_000 }].map(waitFor),
    waitFor({ expression: 'document.querySelector("#done") !== null' }),
  ];
  await shows(late, steps, ['finished']);
  expect(performance.now() - began).toBeLessThan(14_000);
});

it.concurrent('keeps promises on the page’s clock, and waits for one that is never kept no longer than for other things', async () => {
  const began = performance.now();
  const kept = 'new Promise((resolve) => setTimeout(resolve, 9_000, true))';
  const never = waitFor({ expression: 'new Promise(() => {})', optional: true });
  const steps = [waitFor({ expression: kept }), never, evaluate(`await ${kept}; document.body.append("ran at last")`)];
  await shows(form, steps, ['ran at last'], { wait_for_function: kept });
  // The three promises alone take 27 s of the page's time.
  expect(performance.now() - began).toBeLessThan(20_000);
});

it.concurrent('waits for the requests of a step before the next one', async () => {
  site.route('/list.json', async (_request, response) => {
    await wait(response, 400);
    response.end('["new item"]');
  });
  const url = page(
    '<button>Load</button><ul><li>old item</li></ul><p></p>',
    `const [button, item, p] = ['button', 'li', 'p'].map((one) => document.querySelector(one));
    button.onclick = async () => { item.textContent = (await (await fetch('/list.json')).json())[0] };
    item.onclick = () => { p.textContent = 'clicked ' + item.textContent };`,
  );
  await shows(url, [click('button'), click('li')], ['clicked new item']);
});

it.concurrent('waits for the page that a form leads to, and that a script leads to after its request', async () => {
  const inAWhile = (answer: () => void) => void setTimeout(answer, 400);
  site.route('/checked', (_request, response) =>
    inAWhile(() => response.writeHead(303, { location: '/inside' }).end()),
  );
  site.route('/session', (_request, response) => inAWhile(() => response.end()));
  page('<h1>Inside</h1>', '', '/inside');
  const login = page(
    '<form method="post" action="/checked"><input name="user"><button>Send</button></form><a href="#">Script</a>',
    `document.querySelector('a').onclick = async () => { await fetch('/session'); location.href = '/checked' }`,
  );
  const tell = evaluate('document.body.append("evaluated at " + location.pathname)');
  for (const selector of ['button', 'a'])
    await shows(login, [type('input', 'Ada'), click(selector), tell], ['evaluated at /inside']);
});

it.concurrent('types with keys, after it has cleared the field, and puts in what has no keys', async () => {
  const url = page(
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
  const fields = {
    '#long': '😀'.repeat(500),
    '#rich': 'new é',
    'text=Day': '2026-01-02',
    '#joined': 'one\ntwo',
    '#search': 'Main',
  };
  const steps = Object.entries(fields).map(([selector, text]) => type(selector, text));
  await shows(url, [...steps, click('li')], ['Main Street|1000|false|new é|2026-01-02|one two']);
});

it.concurrent('follows links, forms and go_to to the page that they lead to, even if a page asks whether to leave it', async () => {
  page('<h1>Second page</h1><form action="/third"><input name="q"></form>', '', '/second');
  page('<h1>Third page</h1>', 'document.querySelector("h1").textContent += location.search', '/third');
  const first = page(
    '<a href="/second">Next</a>',
    'onbeforeunload = (event) => { event.preventDefault(); return "no" }',
  );
  const steps = [click('text=Next'), type('input', 'x'), press('Enter', 'input'), waitFor({ url: '/third*' })];
  expect((await shows(first, steps, ['Third page?q=x'])).finalUrl).toBe(site.url('/third?q=x'));
  for (const url of [other.url('/static'), `${first}#part`])
    expect((await shows(first, [goTo(url)], [])).finalUrl).toBe(url);
});

it.concurrent.each([
  ['an alert and a confirmation', 'alert(1); p.textContent = confirm("sure?") ? "yes" : "no"', 'no'],
  ['a new window', 'const w = open("/second"); p.textContent = "opened"', 'opened'],
  [
    'a link to a new window',
    'const a = make("a", { href: "/second", target: "_blank" }); a.click(); p.textContent = "asked"',
    'asked',
  ],
  ['a download', 'location.href = "/download"; p.textContent = "downloads"', 'downloads'],
  ['a page without content', 'location.href = "/no-content"; p.textContent = "nothing new"', 'nothing new'],
  ['a file chooser', 'make("input", { type: "file" }).click(); p.textContent = "chooses"', 'chooses'],
  ['the print dialog', 'print(); p.textContent = "prints"', 'prints'],
])('%s does not hold a step', async (_what, script, word) => {
  const url = page(
    '<button>Do</button><p>nothing</p>',
    `const p = document.querySelector('p'), make = (name, fields) => Object.assign(document.createElement(name), fields);
    document.querySelector('button').onclick = () => { ${script} }`,
  );
  const began = performance.now();
  await shows(url, [click('button'), { action: 'hover', selector: 'p' }], [word], { timeout: 20_000 });
  expect(performance.now() - began).toBeLessThan(8_000);
});

it.concurrent('clicks in a frame of another site, and in a shadow tree', async () => {
  const script = 'b.onclick = () => parent.postMessage("told", "*")';
  other.route('/inner', (_request, response) =>
    html(response, document('Inner', `<button id="b">Inner</button><script>${script}</script>`)),
  );
  const url = page(
    `<div id="host"></div><iframe src="${other.url('/inner')}" width="300" height="200"></iframe><p></p>`,
    `const say = (word) => { document.querySelector('p').textContent += word };
    onmessage = () => say('frame ');
    host.attachShadow({ mode: 'open' }).innerHTML = '<button id="deep">Deep</button>';
    host.shadowRoot.querySelector('button').onclick = () => say('shadow ');`,
  );
  await shows(url, [click('iframe >> internal:control=enter-frame >> #b'), click('#deep')], ['frame shadow']);
});

const bad = page(
  `<h1>Title</h1><button id="off" disabled>Off</button><select><option>one</option></select>
  <button id="under">Under</button><div style="position:fixed;inset:0"></div>`,
);
const NONE = '`steps.0` (click "#none") failed: nothing visible matches the selector.';

it.concurrent.each<[step: object, code: string, details: object, message?: string]>([
  [click('#none'), 'render_timeout', { reason: 'not_found', action: 'click' }, NONE],
  [click('#off'), 'render_timeout', { reason: 'disabled' }],
  [click('#under'), 'render_timeout', { reason: 'covered' }],
  [type('h1', 'x'), 'invalid_request', { reason: 'wrong_element' }],
  [{ action: 'check', selector: 'h1' }, 'invalid_request', { reason: 'wrong_element' }],
  [{ action: 'select', selector: 'select', value: 'none' }, 'render_timeout', { reason: 'no_option' }],
  [click('a[['), 'invalid_request', { reason: 'invalid_selector' }],
  [click('nonsense=x'), 'invalid_request', { reason: 'invalid_selector' }],
  [press('Nokey'), 'invalid_request', { reason: 'unknown_key' }],
  [waitFor({ url: '*/nowhere' }), 'render_timeout', { reason: 'not_yet' }],
  [waitFor({ expression: 'window.none.such' }), 'invalid_request', { issues: [{ path: 'steps.0.expression' }] }],
  [waitFor({ expression: 'if (' }), 'invalid_request', { issues: [{ path: 'steps.0.expression' }] }],
  [evaluate('throw new Error("broken")'), 'invalid_request', { issues: [{ path: 'steps.0.script' }] }],
  [goTo('http://127.0.0.3:8080/'), 'navigation_failed', { action: 'go_to' }],
  [goTo(site.url('/status/404')), 'target_error', { status: 404 }],
])('%o fails as %s: %o', async (step, code, details, message = expect.stringContaining('`steps.0')) => {
  const error = await rig.failure(bad, { steps: [step], timeout: code === 'render_timeout' ? 3_000 : 30_000 });
  expect(error).toMatchObject({ code, details: { step: 0, ...details }, message });
});

it.concurrent('an error page that go_to leads to does not fail the step if it is tolerated', async () => {
  await rig.capture(form, { steps: [goTo(site.url('/status/404'))], tolerate: ['target_error'] });
});

it.concurrent('the picture of a failure does not show a secret, wherever the page has put it', async () => {
  const url = page(
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
  /** The darkest value of a strip of the picture, 60 px high. */
  const darkest = async (top: number) => {
    const strip = await sharp(error.picture).extract({ left: 0, top, width: 800, height: 60 }).png().toBuffer();
    return (await sharp(strip).stats()).channels[0]?.min;
  };
  const hidden = [0, 80, 160, 240, 320, 400, 480];
  expect(await Promise.all(hidden.map(darkest))).toEqual(hidden.map(() => expect.closeTo(255, -1)));
  expect(await darkest(540)).toBeLessThan(100);
  expect(JSON.stringify([error.message, error.details])).not.toContain('mmmm');
});

it.concurrent('the picture of a failure shows nothing that the request masks, even if it moves', async () => {
  const url = page(
    `<style>body { margin: 0; background: #fff } div { position: absolute; top: 40px; width: 200px; height: 80px; background: #00f; animation: move 2s infinite alternate linear }
    @keyframes move { from { left: 0 } to { left: 500px } }</style><div></div>`,
  );
  const error = await rig.failure(url, { steps: [click('#none')], mask: ['div'], mask_color: 'black', timeout: 3_000 });
  const [red, , blue] = (await sharp(error.picture).stats()).channels;
  expect(blue?.mean).toBeCloseTo(red?.mean ?? 0, 0);
  expect(red?.mean).toBeLessThan(255 * (1 - (0.9 * 200 * 80) / (800 * 600)));
});

it.concurrent('the message of a script that fails does not repeat a secret', async () => {
  const secret = { action: 'type', selector: '#name', secret: 'swordfish' };
  const script = 'throw new Error("no user " + document.querySelector("#name").value)';
  const { message, details } = await rig.failure(form, { steps: [secret, evaluate(script)] });
  expect(message).toContain('no user …');
  expect(JSON.stringify([message, details])).not.toContain('swordfish');
});

it.concurrent('wait_for_function waits on the page’s clock, and fails by its name', async () => {
  await rig.capture(late, { wait_for_function: 'go.disabled === false' });
  const error = await rig.failure(form, { wait_for_function: 'window.never', timeout: 2_000 });
  expect(error).toMatchObject({ code: 'render_timeout', details: { waited_for: 'function' } });
});

it.concurrent('wait_for_function that throws fails at once with the exception, even if its promise does', async () => {
  const began = performance.now();
  for (const expression of ['window.none.such', '(async () => window.none.such)()']) {
    const error = await rig.failure(form, { wait_for_function: expression, timeout: 60_000 });
    expect(error).toMatchObject({ code: 'invalid_request', details: { issues: [{ path: 'wait_for_function' }] } });
    expect(error.message).toMatch(/^`wait_for_function` threw TypeError: Cannot read properties of undefined.+`\?\.`/);
  }
  expect(performance.now() - began).toBeLessThan(30_000);
});

it.concurrent('a wait_for step that fails reports where the page is, without the secrets of a form', async () => {
  const login = page('<form><input id="name" name="name"><button>Go</button></form>');
  const secret = { action: 'type', selector: '#name', secret: "sword fish'é" };
  const steps = [secret, click('button'), waitFor({ url: '*/nowhere' })];
  const { message, details } = await rig.failure(login, { steps, timeout: 4_000 });
  const at = `${login}?name=…`;
  expect(message).toBe(`\`steps.2\` (wait_for) failed: the page is at another address. The page is at ${at}.`);
  expect(details).toMatchObject({ reason: 'not_yet', page_url: at });
});

it.concurrent('a page in a busy loop fails the step that meets it within the limits', async () => {
  const url = page('<button>Hang</button>', 'document.querySelector("button").onclick = () => { for (;;); }');
  const began = performance.now();
  await rig.failure(url, { steps: [click('button'), click('button')], timeout: 1_500 });
  expect(performance.now() - began).toBeLessThan(20_000);
});
