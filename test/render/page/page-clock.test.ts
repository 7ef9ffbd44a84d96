import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { DebugSink } from '../../../src/render/page-session.js';
import { wait } from '../../fixtures/site/answer.js';
import { servePackages } from '../../fixtures/site/packages.js';
import { colorAt } from '../picture/blots.js';
import { openRig, siteAndRig } from './capture-rig.js';

const { site, rig, serve } = await siteAndRig();

/** Serves a page whose script may write into the element `out`. */
const page = (script: string, body = '') =>
  serve(`<h1>A page with a clock</h1>${body}<p id="out">start</p><script>${script}</script>`);

/** Captures the page, which must show these words when its picture is taken. */
async function shows(url: string, words: string | string[], wish: Record<string, unknown> = {}, debug?: DebugSink) {
  const rendering = await rig.capturedText(url, wish, debug);
  for (const one of [words].flat()) expect(rendering.text).toContain(one);
  return rendering;
}

/** How the clock ran each time that a capture of a page, which must show these words, asked it for so many ms. */
async function runsOf(
  url: string,
  words: string,
  ms: number,
  wish: Record<string, unknown>,
): Promise<Record<string, unknown>[]> {
  const steps: Record<string, unknown>[] = [];
  const debug = { note: (step: Record<string, unknown>) => void steps.push(step), picture: () => {} };
  await shows(url, words, wish, debug);
  return steps.filter(({ step, askedMs }) => step === 'clock' && askedMs === ms);
}

/** Each writes `all done` into `out` in the end. */
const ENDING: Record<string, string> = {
  'a timeout of 1.8 s': `setTimeout(() => { out.textContent = 'all done' }, 1800)`,
  'an interval': `let n = 0; const t = setInterval(() => { if (++n === 15) { clearInterval(t); out.textContent = 'all done' } }, 120)`,
  '50 animation frames': `let n = 0; (function f() { if (++n < 50) requestAnimationFrame(f); else out.textContent = 'all done' })()`,
  'frames by their time': `let s; (function f(t) { s ??= t; if (!t || t - s < 1500) requestAnimationFrame(f); else out.textContent = 'all done' })()`,
  'promises between timers': `(async () => { for (let i = 0; i < 9; i++) await new Promise((r) => setTimeout(r, 200)); out.textContent = 'all done' })()`,
  'animations one after the other': `(async () => { for (let i = 0; i < 4; i++) await out.animate([{ opacity: 0.5 }, { opacity: 1 }], 300).finished; out.textContent = 'all done' })()`,
  'the end of a transition': `out.style.transition = 'margin 400ms'; setTimeout(() => { out.style.margin = '9px' }, 200); out.ontransitionend = () => setTimeout(() => { out.textContent = 'all done' }, 300)`,
  'a task of the scheduler': `scheduler.postTask(() => { out.textContent = 'all done' }, { delay: 900 })`,
  'idle callbacks, one after the other': `let n = 0; requestIdleCallback(function f(deadline) { if (deadline.didTimeout) return; if (deadline.timeRemaining() > 0) n++; if (n < 300) requestIdleCallback(f); else out.textContent = 'all done' })`,
  'code as text': `setTimeout("document.getElementById('code as text').textContent = 'all done'", 900)`,
};

/** Each posts `all done` in the end. */
const WORKERS: Record<string, string> = {
  'timers of a worker': `setTimeout(() => setTimeout(() => postMessage('all done'), 700), 700)`,
  'requests and timers of a worker in turn': `(async () => { for (let i = 0; i < 4; i++) { await fetch('${site.url('/image/9x9/ff0000.png?wait=60')}'); await new Promise((r) => setTimeout(r, 300)) } postMessage('all done') })()`,
  'frames of a worker that draws': `const k = new OffscreenCanvas(9, 9); let n = 0; (function f() { if (++n < 60) requestAnimationFrame(f); else postMessage('all done') })()`,
  'a worker that computes': `setTimeout(() => postMessage('all done'), 300); const t = Date.now(); while (Date.now() - t < 400);`,
};

/** The path of a picture that takes its time. */
const pictureIn = (ms: number) => `/image/9x9/ff0000.png?wait=${ms}`;

/** A scene of WebGL that headless shell, without a GPU, draws for about 100 ms. Shows an `x` for each frame that came 1/60 s after the one before, and a `y` for each later one. */
const SLOW_SCENE = `
  const gl = document.querySelector('canvas').getContext('webgl');
  const program = gl.createProgram();
  const add = (type, source) => {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  };
  add(gl.VERTEX_SHADER, 'attribute vec2 at; void main() { gl_Position = vec4(at, 0, 1); }');
  add(gl.FRAGMENT_SHADER, \`precision highp float; uniform float t; void main() {
    float x = t; for (int i = 0; i < 200; i++) x = sin(x + gl_FragCoord.x); gl_FragColor = vec4(x, 0, 0, 1); }\`);
  gl.linkProgram(program);
  gl.useProgram(program);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 3, -1, -1, 3]), gl.STATIC_DRAW);
  gl.enableVertexAttribArray(0);
  gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
  let last = 0;
  (function draw(t) {
    out.textContent += t - last < 17 ? 'x' : 'y';
    last = t;
    gl.uniform1f(gl.getUniformLocation(program, 't'), t);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    requestAnimationFrame(draw);
  })(0);`;

describe.concurrent('a page is captured in its final state', () => {
  // cannon's demos: 150 ms of their time took 9 s, since 9 frames of 1 s each were asked for at once.
  it('has no more frames of WebGL than are drawn in its time', async () => {
    const { text } = await rig.capturedText(page(SLOW_SCENE, '<canvas width="500" height="400"></canvas>'));
    const count = (mark: string) => text.split(mark).length - 1;
    expect(count('y')).toBeGreaterThan(2 * count('x'));
  });
  it('and is scrolled on if its numbers, which it draws slowly, have changed for long enough', async () => {
    const script = `let n = 0; (function draw() {
      out.textContent = n++;
      for (const since = Date.now(); Date.now() - since < 400; );
      requestAnimationFrame(draw);
    })()`;
    const wish = { full_page: true };
    const runs = await runsOf(page(script, '<div style="height:500px"></div>'), 'A page', 300, wish);
    expect(runs.length).toBeLessThan(12);
  });

  it('by whichever API it reads the time', async () => {
    const parts = Object.entries(ENDING).map(([what, script]) => {
      const told = script.replaceAll('all done', `${what} done`);
      return `<p id="${what}">start</p><script>{ const out = document.getElementById('${what}'); ${told} }</script>`;
    });
    const words = Object.keys(ENDING).map((what) => `${what} done`);
    await shows(page('', parts.join('')), words);
  });

  it('including frames of its own and of another origin', async () => {
    const inner = page(`setTimeout(() => parent.postMessage('told', '*'), 1500)`);
    const frames = ['', 'sandbox="allow-scripts"']
      .map((sandbox) => `<iframe ${sandbox} src="${inner}"></iframe>`)
      .join('');
    await shows(
      page(`let told = 0; onmessage = () => { if (++told === 2) out.textContent = 'all done' }`, frames),
      'all done',
    );
  });

  it('including SVG animations that keep their end, and smooth scrolling', async () => {
    const bar = '<rect width="20" height="40" fill="#0000ff">';
    const freeze = 'dur="900ms" fill="freeze"';
    const moves = {
      width: `<animate attributeName="width" values="20; 60; 80" ${freeze}/>`,
      place: `<animateMotion path="M0,0 L60,0" begin="100ms; other.end" ${freeze}/>`,
      'place by a transform': `<animateTransform attributeName="transform" type="translate" to="60" ${freeze}/>`,
      color: '<set attributeName="fill" to="#00ff00" begin="1s"/>',
      nothing: `<animate attributeName="fill" to="#ff0000" begin="click" ${freeze}/><animate attributeName="fill" to="#ff0000" dur="1s"/>`,
    };
    const rows = Object.values(moves).map(
      (motion, nth) => `<g transform="translate(0 ${nth * 40})">${bar}${motion}</rect></g>`,
    );
    const days = '<div style="height:40px;background:#ff0000"></div>'.repeat(30);
    const list = `<div id="list" style="position:absolute;left:200px;top:0;width:40px;height:40px;overflow:auto">${days}<div style="height:40px;background:#0000ff"></div></div>`;
    const { content } = await rig.capture(
      serve(
        `<style>body { margin: 0 }</style><svg width="90" height="200" style="display:block">${rows.join('')}</svg>${list}
        <p>Words</p><script>onload = () => list.scrollTo({ top: 1200, behavior: 'smooth' })</script>`,
      ),
    );
    const seen = await Promise.all([70, 70, 70, 10, 10].map((left, nth) => colorAt(content, left, nth * 40 + 20)));
    expect(seen).toEqual(['0000ff', '0000ff', '0000ff', '00ff00', '0000ff']);
    expect(await colorAt(content, 220, 20)).toBe('0000ff');
  });

  it('including each of its workers', async () => {
    const parts = Object.entries(WORKERS).map(([what, script]) => {
      const worker = `new Worker(URL.createObjectURL(new Blob([${JSON.stringify(script)}])))`;
      return `<p id="${what}">start</p><script>${worker}.onmessage = ({ data }) => { document.getElementById('${what}').textContent = '${what} ' + data }</script>`;
    });
    const shared = `onconnect = ({ ports: [port] }) => setTimeout(() => port.postMessage('shared done'), 1500)`;
    const start = `const { port } = new SharedWorker(URL.createObjectURL(new Blob([${JSON.stringify(shared)}])));`;
    const words = Object.keys(WORKERS).map((what) => `${what} all done`);
    await shows(page(`${start} port.onmessage = ({ data }) => { out.textContent = data }`, parts.join('')), [
      ...words,
      'shared done',
    ]);
  });

  it.each([
    [
      'after the responses that it waits for, however late',
      `setTimeout(async () => { await fetch('${pictureIn(1_500)}'); setTimeout(() => { out.textContent = 'all done' }, 1000) }, 300)`,
      'all done',
    ],
    [
      'and its own time limit does not overtake a request',
      `const late = setTimeout(() => { out.textContent = 'offline' }, 1500); fetch('${pictureIn(600)}').then(() => { clearTimeout(late); out.textContent = 'all done' })`,
      'all done',
    ],
    [
      'and as many frames as a screen shows, if a script counts them and takes long for each',
      `let n = 0; (function f() { for (const end = performance.now() + 25; performance.now() < end; ); if (++n < 95) requestAnimationFrame(f); else out.textContent = 'all done' })()`,
      'all done',
    ],
    [
      'and its clock runs at most two seconds ahead',
      `setTimeout(() => { out.textContent = 'newsletter' }, 3500)`,
      'start',
    ],
    [
      'and its timers run in the order of their times',
      `const seen = []; for (const ms of [300, 100, 200, 100, 0]) setTimeout(() => seen.push(ms), ms); setTimeout(() => { out.textContent = seen }, 600)`,
      '0,100,100,200,300',
    ],
    [
      'and its clock is the same, whichever API reads it',
      `const seen = () => [Date.now(), performance.now(), new Date().getTime(), new Event('x').timeStamp];
      const before = seen();
      setTimeout(() => {
        const passed = seen().map((now, i) => now - before[i]);
        out.textContent = Math.min(...passed) > 1400 && Math.max(...passed) - Math.min(...passed) < 100 ? 'all agree' : 'passed ' + passed;
      }, 1500)`,
      'all agree',
    ],
  ])('%s', async (_what, script, words) => {
    await shows(page(script), words);
  });
});

describe.concurrent('a scroll', () => {
  it('of a page that fits the view is no scroll, after which it would be waited for again', async () => {
    expect(await runsOf(page('setInterval(() => {}, 50)'), 'start', 300, { full_page: true })).toEqual([]);
  });

  const SECTIONS = `<style>section { height: 400px }</style>${'<section></section>'.repeat(20)}`;
  const shownBy = (root: string) => `
    const seen = (target, then) => new IntersectionObserver(([{ isIntersecting }], own) => {
      if (!isIntersecting) return;
      own.disconnect();
      then();
    }, { threshold: 0.1 }).observe(target);
    let left = 20;
    const show = (parent, depth) => {
      const part = parent.appendChild(document.createElement('div'));
      part.style.height = '390px';
      seen(part, () => (depth > 0 ? show(part, depth - 1) : --left === 0 && (out.textContent = 'all done')));
    };
    for (const section of document.querySelectorAll('section')) seen(section, () => show(${root}, 3));`;

  it.each([
    ['', 'section'],
    [' in shadow trees', `section.attachShadow({ mode: 'open' })`],
  ])('gets time in which what comes into view shows other content in turn%s', async (_where, root) => {
    await shows(page(shownBy(root), SECTIONS), 'all done', { full_page: true });
  });
});

describe.concurrent('a page that communicates with a server', () => {
  it('continues in real time', async () => {
    site.route('/clock/events', async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let n = 1; n <= 5; n++) {
        await wait(response, 200);
        response.write(`data: ${n}\n\n`);
      }
    });
    await shows(
      page(`new EventSource('/clock/events').onmessage = ({ data }) => { out.textContent = 'event ' + data }`),
      'event 5',
    );
  });

  it('polls for as long as its timers last in real time', async () => {
    let first: number | null = null;
    site.route('/clock/job', (_request, response) => {
      first ??= performance.now();
      response.end(performance.now() - first > 1_000 ? 'all done' : 'pending');
    });
    await shows(
      page(`setInterval(async () => { out.textContent = await (await fetch('/clock/job')).text() }, 300)`),
      'all done',
    );
  });

  it('does not hold the clock of the next page', async () => {
    const next = page(`setTimeout(() => { out.textContent = 'all done' }, 9000)`);
    const script = `let n = 0; setInterval(async () => { await fetch('${pictureIn(0)}'); if (++n === 3) location.href = '${next}' }, 250)`;
    const wish = { delay: 10_000, timeout: 60_000 };
    const run = (await runsOf(page(script), 'all done', wish.delay, wish)).at(-1);
    expect(run).toMatchObject({ realTimeBecause: null });
    expect(run?.aheadMs).toBeGreaterThan(1_000);
  });
});

it('a page whose server refuses requests from the future is loaded again in real time, with a warning', async () => {
  site.route('/clock/token', (_request, response, url) => {
    const ahead = Number(url.searchParams.get('iat')) - Date.now();
    response.writeHead(ahead > 500 ? 401 : 200).end(ahead > 500 ? 'refused' : 'welcome');
  });
  const script = `setTimeout(async () => { out.textContent = await (await fetch('/clock/token?iat=' + Date.now())).text() }, 1200)`;
  const { warnings } = await shows(page(script), 'welcome');
  expect(warnings).toMatchObject([{ code: 'loaded_in_real_time' }]);
  expect((await shows(page(script), 'welcome', { real_time: true })).warnings).toEqual([]);
});

describe.concurrent('the clock of a page', () => {
  it('looks and behaves like the browser’s own', async () => {
    const script = `const faults = [];
      const check = (name, holds) => { if (!holds) faults.push(name) };
      const timeStamp = Object.getOwnPropertyDescriptor(Event.prototype, 'timeStamp').get;
      const names = { setTimeout, setInterval, clearTimeout, requestAnimationFrame, requestIdleCallback, Date, Worker, now: Date.now, toString: Function.prototype.toString };
      for (const [name, f] of [...Object.entries(names), ['now', performance.now], ['get timeStamp', timeStamp]]) {
        check('native ' + name, String(f) === 'function ' + name + '() { [native code] }');
        for (const to of [f, Object.create(f)])
          check('circle ' + name, Reflect.setPrototypeOf(f, to) === false && (() => { try { Object.setPrototypeOf(f, to) } catch (error) { return error instanceof TypeError } })());
      }
      check('chrome', typeof chrome.loadTimes().requestTime === 'number' && /native code/.test(chrome.csi));
      // The browser reads the stack of a logged error only for a protocol client that reads the console.
      console.debug(Object.defineProperty(new Error(), 'stack', { get: () => check('console', false) }));
      check('own text', String(() => 'own') === "() => 'own'" && (() => { try { Function.prototype.toString.call({}) } catch (error) { return error instanceof TypeError } })());
      check('names', setTimeout.name === 'setTimeout' && setTimeout.length === 1 && Date.length === 7 && Date.name === 'Date');
      check('constructor', new Date().constructor === Date && new Date() instanceof Date);
      class Day extends Date {}
      check('subclass', new Day() instanceof Day && new Day(5).getTime() === 5);
      check('text', typeof Date() === 'string' && Math.abs(Date.parse(Date()) - Date.now()) < 2000);
      check('worker', Worker.name === 'Worker' && Worker.prototype.constructor === Worker);
      check('parts', new Date(2020, 1, 2).getDate() === 2 && Date.UTC(2020, 0) === 1577836800000);
      check('refusal', (() => { try { setTimeout() } catch (error) { return error instanceof TypeError } })());
      check('descriptor', Object.getOwnPropertyDescriptor(window, 'setTimeout').enumerable === true);
      check('globals', !('stillframe' in window));
      const interval = setInterval(() => check('cleared', false), 10);
      clearTimeout(interval);
      let self, given;
      setTimeout(function (...args) { self = this; given = args }, 20, 1, 2);
      let error;
      addEventListener('error', (event) => { error = event.message });
      setTimeout(() => { throw new Error('uncaught') }, 30);
      const id = requestAnimationFrame(() => check('cancelled', false));
      cancelAnimationFrame(id);
      setTimeout(() => {
        check('this', self === window && given.join() === '1,2');
        check('error', /uncaught/.test(error));
        out.textContent = faults.length === 0 ? 'like native' : 'faults ' + faults;
      }, 500)`;
    await shows(page(script), 'like native');
  });

  it('is not distinguished from the browser’s own by scripts that detect robots', async () => {
    servePackages(site);
    const told: unknown[] = [];
    site.route('/clock/told', async (request, response) => {
      told.push(JSON.parse(await text(request)));
      response.end();
    });
    const url = page(
      '',
      `<script src="/npm/@fingerprintjs/fingerprintjs/dist/fp.umd.min.js"></script><script type="module">
      import { load } from '/npm/@fingerprintjs/botd/dist/botd.esm.js';
      const detector = await load({ monitoring: false });
      const bot = detector.detect();
      const { visitorId, components } = await (await FingerprintJS.load({ monitoring: false })).get();
      const values = Object.entries(components).map(([name, { value, error }]) => [name, value ?? String(error)]);
      const body = JSON.stringify({ bot, sources: detector.getComponents(), visitorId, values });
      await fetch('/clock/told', { method: 'POST', body });
      document.querySelector('#out').className = 'told'</script>`,
    );
    const wish = { wait_for_selector: '.told', timeout: 60_000 };
    await rig.capture(url, wish);
    await using unclocked = await openRig({ clock: false });
    await unclocked.capture(url, wish);
    expect(told[0]).toMatchObject({
      visitorId: expect.stringMatching(/^[0-9a-f]{32}$/),
      sources: { userAgent: { state: 0 } },
    });
    expect(told[0]).toEqual(told[1]);
  });
});

describe.concurrent('a hostile page', () => {
  it.each([
    ['a flood of timers', `(function f() { setTimeout(f, 0); setTimeout(f, 0) })()`],
    [
      'frames that take long',
      `(function f() { const end = performance.now() + 80; while (performance.now() < end); requestAnimationFrame(f) })()`,
    ],
    [
      'replaced natives',
      `for (const p of [Map, Promise, EventTarget, MessagePort, Event, CustomEvent, Array, Reflect, Object])
      for (const name of Object.getOwnPropertyNames(p.prototype ?? p)) try { (p.prototype ?? p)[name] = () => { throw 1 } } catch {}`,
    ],
    [
      'a document that it opens anew',
      `setTimeout(() => { document.open(); document.write('<h1>Written</h1>'); document.close() }, 300)`,
    ],
  ])('with %s is captured in time', async (_name, script) => {
    const began = performance.now();
    await rig.capture(page(script));
    expect(performance.now() - began).toBeLessThan(60_000);
  });
});
