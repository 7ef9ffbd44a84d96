import { describe, expect, it } from 'vitest';
import { document, html, wait } from '../../fixtures/site/answer.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();

let pages = 0;

/** Serves a page whose script may write into the element `out`. */
function page(script: string, body = ''): string {
  const path = `/clock/${pages++}`;
  site.route(path, (_request, response) =>
    html(response, document('Clock', `<h1>A page with a clock</h1>${body}<p id="out">start</p><script>${script}</script>`)),
  );
  return site.url(path);
}

/** Captures the page, which must show these words when its picture is taken. */
async function shows(url: string, words: string, wish: Record<string, unknown> = {}) {
  return await rig.capture(url, { fail_if_content_missing: [words], ...wish });
}

describe.concurrent('a page comes to its end before its picture', () => {
  it.each([
    ['a timeout of 1.8 s', `setTimeout(() => { out.textContent = 'all done' }, 1800)`],
    ['an interval', `let n = 0; const t = setInterval(() => { if (++n === 15) { clearInterval(t); out.textContent = 'all done' } }, 120)`],
    [
      'a chain of timers and frames',
      `let n = 0; (function f() { if (++n < 40) setTimeout(() => requestAnimationFrame(f), 20); else out.textContent = 'all done' })()`,
    ],
    ['100 animation frames', `let n = 0; (function f() { if (++n < 100) requestAnimationFrame(f); else out.textContent = 'all done' })()`],
    [
      'frames by their time',
      `let s; (function f(t) { s ??= t; if (!t || t - s < 1500) requestAnimationFrame(f); else out.textContent = 'all done' })()`,
    ],
    [
      'frames by the date',
      `const s = Date.now(); (function f() { if (Date.now() - s < 1500) requestAnimationFrame(f); else out.textContent = 'all done' })()`,
    ],
    [
      'promises between timers',
      `(async () => { for (let i = 0; i < 9; i++) await new Promise((r) => setTimeout(r, 200)); out.textContent = 'all done' })()`,
    ],
    [
      'animations one after the other',
      `(async () => { for (let i = 0; i < 4; i++) await out.animate([{ opacity: 0.5 }, { opacity: 1 }], 300).finished; out.textContent = 'all done' })()`,
    ],
    [
      'the end of a transition',
      `out.style.transition = 'margin 400ms'; setTimeout(() => { out.style.margin = '9px' }, 200); out.ontransitionend = () => setTimeout(() => { out.textContent = 'all done' }, 300)`,
    ],
    ['a task of the scheduler', `scheduler.postTask(() => { out.textContent = 'all done' }, { delay: 900 })`],
    ['code as text', `setTimeout("out.textContent = 'all done'", 900)`],
  ])('%s', async (_name, script) => {
    await shows(page(script), 'all done');
  });

  it('also in frames of its own and of another origin', async () => {
    const inner = page(`setTimeout(() => parent.postMessage('told', '*'), 1500)`);
    for (const sandbox of ['', 'sandbox="allow-scripts"'])
      await shows(page(`onmessage = () => { out.textContent = 'all done' }`, `<iframe ${sandbox} src="${inner}"></iframe>`), 'all done');
  });

  it('after the answers that it waits for, however late', async () => {
    const script = `setTimeout(async () => { await fetch('/image/9x9/ff0000.png?wait=2500'); setTimeout(() => { out.textContent = 'all done' }, 1000) }, 300)`;
    await shows(page(script), 'all done');
  });

  it('and a request is not overtaken by the time limit that the page gives it', async () => {
    const script = `const late = setTimeout(() => { out.textContent = 'offline' }, 1500); fetch('/image/9x9/ff0000.png?wait=600').then(() => { clearTimeout(late); out.textContent = 'all done' })`;
    await shows(page(script), 'all done');
  });

  it('and no further than two seconds ahead', async () => {
    await shows(page(`setTimeout(() => { out.textContent = 'newsletter' }, 3500)`), 'start');
  });
});

describe.concurrent('a page that talks to a server', () => {
  it('goes on at the real pace', async () => {
    site.route('/clock/events', async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let n = 1; n <= 5; n++) {
        await wait(response, 200);
        response.write(`data: ${n}\n\n`);
      }
    });
    const script = `new EventSource('/clock/events').onmessage = ({ data }) => { out.textContent = 'event ' + data }`;
    await shows(page(script), 'event 5');
  });

  it('is polled for as long as its timers last in real time', async () => {
    let first: number | null = null;
    site.route('/clock/job', (_request, response) => {
      first ??= performance.now();
      response.end(performance.now() - first > 1_000 ? 'all done' : 'pending');
    });
    await shows(page(`setInterval(async () => { out.textContent = await (await fetch('/clock/job')).text() }, 300)`), 'all done');
  });
});

it('a page whose server refuses what comes from the future is loaded again in real time, which is told', async () => {
  site.route('/clock/token', (_request, response, url) => {
    const ahead = Number(url.searchParams.get('iat')) - Date.now();
    response.writeHead(ahead > 500 ? 401 : 200).end(ahead > 500 ? 'refused' : 'welcome');
  });
  const script = `setTimeout(async () => { out.textContent = await (await fetch('/clock/token?iat=' + Date.now())).text() }, 1200)`;
  const { warnings } = await shows(page(script), 'welcome');
  expect(warnings).toMatchObject([{ code: 'loaded_in_real_time' }]);
  expect((await shows(page(script), 'welcome', { real_time: true })).warnings).toEqual([]);
});

describe.concurrent('delay', () => {
  it('passes on the page’s clock', async () => {
    const url = page(`setTimeout(() => { out.textContent = 'all done' }, 9000)`);
    const began = performance.now();
    await shows(url, 'all done', { delay: 10_000 });
    expect(performance.now() - began).toBeLessThan(6_000);
  });
});

describe.concurrent('the clock that a page sees', () => {
  it('is one, whichever way it is read', async () => {
    const script = `const seen = () => [Date.now(), performance.now(), new Date().getTime(), new Event('x').timeStamp];
      const before = seen();
      setTimeout(() => {
        const passed = seen().map((now, i) => now - before[i]);
        out.textContent = passed.every((ms) => Math.abs(ms - 1500) < 400) ? 'all agree' : 'passed ' + passed;
      }, 1500)`;
    await shows(page(script), 'all agree');
  });

  it('looks and behaves like the browser’s own', async () => {
    const script = `const faults = [];
      const check = (name, holds) => { if (!holds) faults.push(name) };
      for (const f of [setTimeout, setInterval, clearTimeout, requestAnimationFrame, performance.now, Date, Date.now])
        check('native ' + f.name, /\\[native code\\]/.test(f.toString()) && !/[{].{20}/.test(f.toString()));
      check('names', setTimeout.name === 'setTimeout' && setTimeout.length === 1 && Date.length === 7 && Date.name === 'Date');
      check('constructor', new Date().constructor === Date && new Date() instanceof Date);
      class Day extends Date {}
      check('subclass', new Day() instanceof Day && new Day(5).getTime() === 5);
      check('text', typeof Date() === 'string' && Math.abs(Date.parse(Date()) - Date.now()) < 2000);
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

  it('orders timers by their times', async () => {
    const script = `const seen = []; for (const ms of [300, 100, 200, 100, 0]) setTimeout(() => seen.push(ms), ms);
      setTimeout(() => { out.textContent = 'order ' + seen.join(' ') }, 600)`;
    await shows(page(script), 'order 0 100 100 200 300');
  });
});

describe.concurrent('a hostile page', () => {
  it.each([
    ['a flood of timers', `(function f() { setTimeout(f, 0); setTimeout(f, 0) })()`],
    ['a flood of frames', `for (let i = 0; i < 2000; i++) (function f() { requestAnimationFrame(f) })()`],
    [
      'frames that take long',
      `(function f() { const end = performance.now() + 80; while (performance.now() < end); requestAnimationFrame(f) })()`,
    ],
    ['messages without end', `const c = new MessageChannel(); c.port1.onmessage = () => c.port2.postMessage(0); c.port2.postMessage(0)`],
    [
      'replaced natives',
      `for (const p of [Map, Promise, EventTarget, MessagePort, Event, CustomEvent, Array, Reflect, Object])
      for (const name of Object.getOwnPropertyNames(p.prototype ?? p)) try { (p.prototype ?? p)[name] = () => { throw 1 } } catch {}`,
    ],
    ['a document that it opens anew', `setTimeout(() => { document.open(); document.write('<h1>Written</h1>'); document.close() }, 300)`],
  ])('with %s is pictured in time', async (_name, script) => {
    const began = performance.now();
    await rig.capture(page(script));
    expect(performance.now() - began).toBeLessThan(16_000);
  });
});
