import { describe, expect, it } from 'vitest';
import type { DocumentState } from '../../../src/render/page/open-page.js';
import { dropStalledStyleSheets } from '../../../src/render/page/page-clock.js';
import { wait } from '../../fixtures/site/answer.js';
import { colorAt } from '../picture/blots.js';
import { siteAndRig, type Wish } from './capture-rig.js';

const { site, rig, serve } = await siteAndRig();
const { host } = new URL(site.origin);

/** The longest that a request without an answer holds a page, ms. A page that does not wait for it is ready sooner. */
const HOLD_MS = 5_000;
const EARLY = { wait_until: 'domcontentloaded', wait_for_idle: false };

/** ms in which the page's clock was run, and the page was looked at. */
async function settledMs(url: string, wish: Wish = {}): Promise<number> {
  const { run = 0, settle = 0 } = (await rig.capture(url, wish)).timings;
  return run + settle;
}

/** A page with a script, which may write into `it`. */
const scripted = (script: string, body = '<h1>Page</h1><p id="it"></p>') => serve(`${body}<script>${script}</script>`);

describe.concurrent('wait_until', () => {
  it('names the pending requests, and a state that would not have waited for them', async () => {
    const error = await rig.failure(site.url('/hung-image'), { timeout: 2_000 });
    const details = { waited_for: 'load', pending: [{ kind: 'image', host, count: 1 }] };
    expect(error).toMatchObject({ code: 'render_timeout', retriable: true, details });
    expect(error.message).toMatch(
      /`wait_until: load` was not reached within `timeout` \(2000 ms\).*1 image from 127.* was still pending.*`wait_until: domcontentloaded` would not have waited/,
    );
  });

  it('domcontentloaded does not wait for images', async () => {
    await rig.capture(site.url('/hung-image'), EARLY);
  });

  it('networkidle names the last of the requests that keep the network busy', async () => {
    site.route('/tick', (_request, response) => response.end('tick'));
    const error = await rig.failure(scripted('setInterval(() => fetch("/tick"), 50)'), {
      wait_until: 'networkidle',
      timeout: 2_000,
    });
    // The end may come while one or more of them are in flight.
    const told = /the last one a request by script from |(\d) requests? by script from .* (?:was|were) still pending/;
    expect(error.message).toMatch(told);
    const count = Number(told.exec(error.message)?.[1] ?? 1);
    expect(error.message).toContain('`wait_until: load` would not have waited');
    expect(error.details).toEqual({ waited_for: 'networkidle', pending: [{ kind: 'fetch', host, count }] });
  });

  it('fails as render_timeout when a target sends nothing', async () => {
    const error = await rig.failure(site.url('/hang'), { timeout: 2_000 });
    expect(error).toMatchObject({
      code: 'render_timeout',
      message: `${host} did not answer within \`timeout\` (2000 ms).`,
    });
  });

  it('is delayed, but never failed, by a font that never loads', async () => {
    const { timings } = await rig.capture(site.url('/hung-font'));
    expect(timings.navigate).toBeGreaterThan(2_800);
    expect((timings.run ?? 0) + (timings.settle ?? 0)).toBeLessThan(2_900);
  });

  it('is not failed by images that set a broken file again whenever it fails, as in posts of hexo-theme-stellar', async () => {
    site.route('/missing.png', (_request, response) => response.writeHead(404).end());
    site.route('/not-an-image.png', (_request, response) => response.end('<p>Page</p>'));
    const broken = (src: string) => `<img alt="" src="${src}" onerror="this.src = '${src}'">`;
    for (const state of ['load', 'networkidle'])
      for (const src of ['/missing.png', '/not-an-image.png'])
        await rig.capture(serve(`<h1>Page</h1>${broken(src)}`), { wait_until: state, wait_for_idle: false });
    const error = await rig.failure(serve(`${broken('/missing.png')}<img alt="" src="/hang?image">`), {
      timeout: 2_000,
    });
    expect(error).toMatchObject({ code: 'render_timeout' });
  });
});

describe.concurrent('wait_for_selector', () => {
  it('waits until a match is visible, even if it existed but was hidden', async () => {
    const code = 'setTimeout(() => { late.style.display = "block"; document.body.style.background = "#00ff00" }, 700)';
    const url = scripted(code, '<h1>Page</h1><p id="late" style="display:none">Here</p>');
    const { content } = await rig.capture(url, { wait_for_selector: '#late', wait_for_idle: false });
    expect(await colorAt(content, 790, 590)).toBe('00ff00');
  });

  it('searches the page that the target leads to', async () => {
    const to = serve('<p class="there">There</p>');
    const url = scripted(`setTimeout(() => { location = "${to}" }, 300)`);
    expect((await rig.capture(url, { wait_for_selector: '.there', wait_for_idle: false })).finalUrl).toBe(to);
  });

  it('fails as render_timeout that names it', async () => {
    const error = await rig.failure(site.url('/static'), { wait_for_selector: '#never', timeout: 2_000 });
    expect(error).toMatchObject({ code: 'render_timeout', details: { waited_for: 'selector', selector: '#never' } });
    expect(error.message).toContain('`wait_for_selector`: no visible element matched "#never"');
  });
});

describe.concurrent('wait_for_idle', () => {
  it('does not run the clock of a page without scripts', async () => {
    const stepsOf = async (url: string) => {
      const steps: unknown[] = [];
      const debug = { note: ({ step }: Record<string, unknown>) => steps.push(step), picture: () => {} };
      await rig.capture(url, {}, undefined, debug);
      return steps;
    };
    expect(await stepsOf(site.url('/article'))).not.toContain('clock');
    expect(await stepsOf(scripted('setTimeout(() => {}, 500)'))).toContain('clock');
  });

  it('waits for content that a script fetches after load', async () => {
    const url = scripted(
      'onload = () => fetch("/image/9x9/ff0000.png?wait=1500").then(() => it.append("fetched words"))',
    );
    const wish = { fail_if_content_missing: ['fetched words'] };
    await rig.capture(url, wish);
    expect(await rig.failure(url, { ...wish, wait_for_idle: false })).toMatchObject({ code: 'render_incomplete' });
  });

  const added = (style: string) =>
    `onload = () => document.body.insertAdjacentHTML('beforeend', '<div style="position:absolute;left:0;width:800px;height:600px;${style}"></div>')`;
  const IMAGE = '/image/800x600/ff0000.png?wait=1500';
  site.route('/worker.js', (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/javascript' }).end('onconnect = () => {}'),
  );
  const PIXEL = 'onload = () => { const it = new Image(1, 1); it.src = "/hang?pixel"; document.body.append(it) }';

  it.each([
    ['streams', site.url('/streams'), { wait_until: 'networkidle' }],
    ['a hung pixel', site.url('/hung-pixel'), {}],
    [
      'a hung pixel added after load, nor counts it as incomplete',
      scripted(PIXEL, '<h1>A page that counts its visitors</h1>'),
      { fail_if_incomplete: true },
    ],
    ['a worker that has loaded', scripted("new Worker('/worker.js')"), { wait_until: 'networkidle' }],
    ['a shared worker that has loaded', scripted("new SharedWorker('/worker.js')"), { wait_until: 'networkidle' }],
    ['a background below the view', scripted(added('top:2000px;background:url(/hang?background)')), {}],
    ['functions that the page has replaced', site.url('/prototypes'), { fail_if_content_missing: ['Enough words'] }],
    [
      'a timer of a short page that shows its content',
      scripted(`setTimeout(() => { it.textContent = 'Our newsletter' }, 3500)`, '<p id="it">Hello</p>'),
      { fail_if_content_missing: ['Hello'] },
    ],
    ['names that the page has replaced', site.url('/clobbered'), { fail_if_content_missing: ['ordinary page'] }],
  ])('does not wait for %s', async (_what, url, wish) => {
    expect(await settledMs(url, wish)).toBeLessThan(HOLD_MS);
  });

  const there = serve('<h1>There at last</h1>');
  site.route('/claiming.js', (_request, response) => {
    response.setHeader('content-type', 'text/javascript');
    response.end(`oninstall = (event) => event.waitUntil(fetch('/image/9x9/ff0000.png?wait=400').then(() => skipWaiting()));
      onactivate = (event) => event.waitUntil(clients.claim())`);
  });

  it.each([
    [
      'that sets a timer for its redirect',
      scripted(`setTimeout(() => { location = '${there}' }, 3000)`, '<h1>Please wait…</h1>'),
    ],
    [
      'with a timed refresh',
      serve('<p>You are being redirected.</p>', `<meta http-equiv="refresh" content="2; url=${there}">`),
    ],
    [
      'while it installs a service worker',
      scripted(
        `if (navigator.serviceWorker.controller) it.textContent = 'There at last';
        else { navigator.serviceWorker.oncontrollerchange = () => location.reload(); navigator.serviceWorker.register('/claiming.js') }`,
        '<p id="it">Installing</p>',
      ),
    ],
  ])('waits for a page that visibly waits, %s', async (_how, url) => {
    const { text, warnings } = await rig.capturedText(url);
    expect(text).toContain('There at last');
    expect(warnings).toEqual([]);
  });

  it('warns that the page was still waiting', async () => {
    const { warnings } = await rig.capture(scripted(`fetch('/hang?late')`, '<p>Connecting…</p>'));
    expect(warnings).toMatchObject([{ code: 'still_waiting', message: expect.stringContaining('"Connecting…"') }]);
    const quiet = '<h1>News</h1><p>What happened today</p><a href="/more">Read more…</a>';
    expect((await rig.capture(scripted('setInterval(() => {}, 50)', quiet))).warnings).toEqual([]);
  });

  it('waits at most 5 s for a request without a response', async () => {
    expect(await settledMs(site.url('/long-poll'), { timeout: 60_000 })).toBeLessThan(30_000);
  });

  it.each([
    [
      'a lazy image in view',
      `<img loading="lazy" src="${IMAGE}" width="800" height="600" style="position:absolute;top:0;left:0">`,
    ],
    ['a background in view', `<h1>Page</h1><script>${added(`top:0;background:url(${IMAGE})`)}</script>`],
    [
      'an image whose size is unknown until it loads',
      `<h1>Page</h1><script>onload = () => { const it = new Image(); it.src = "${IMAGE}"; it.style.cssText = "position:absolute;left:0;top:0"; document.body.append(it) }</script>`,
    ],
  ])('waits for %s', async (_what, body) => {
    expect(await colorAt((await rig.capture(serve(body))).content, 400, 300)).toBe('ff0000');
  });
});

describe.concurrent('wait_for_content', () => {
  const FETCHED = `fetch('/image/9x9/ff0000.png?wait=6000').then(() => setTimeout(() => { it.textContent = 'The awaited content, all of it' }, 300))`;
  const GROWING = `let i = 0; const timer = setInterval(() => {
    if (i++ === 0) it.textContent = 'The answer to the question that was asked:';
    else it.append(' one more sentence of it.');
    if (i === 8) { it.append(' That is all.'); clearInterval(timer); }
  }, 500)`;
  const REWRITTEN = `const all = "typed words"; let i = 0; setInterval(() => { it.textContent = all.slice(0, Math.max(1, i++ % 20)) }, 100)`;

  it.each([
    [
      'waits for a request while the page shows that it is loading',
      '<main id="it">Loading…</main>',
      FETCHED,
      ['the awaited content'],
    ],
    [
      'waits for a request of a page without content',
      '<header>Acme</header><main id="it"></main>',
      FETCHED,
      ['the awaited content'],
    ],
    [
      'waits for the end of a text that grows gradually',
      '<main id="it" style="margin-top:200px">Loading…</main>',
      GROWING,
      ['that is all.'],
    ],
    [
      'does not wait forever for text that is written and deleted repeatedly',
      '<h1>A page</h1><p id="it">w</p>',
      REWRITTEN,
      [],
    ],
    ['does not wait forever for a small page', '<b>Hi</b>', '1', []],
  ])('%s', async (_what, body, script, words) => {
    const wish = { wait_for_content: true, timeout: 60_000, fail_if_content_missing: words };
    expect(await settledMs(scripted(script, body), wish)).toBeLessThan(40_000);
  });
});

describe.concurrent('delay', () => {
  it('is added to the timeout, whose rest is left for later steps', async () => {
    const url = scripted('onload = () => setTimeout(() => { location = "/slow?ms=900" }, 4600)');
    // Longer than the timeout; when it is over, the page is on its way to another that takes most of a second.
    const { finalUrl } = await rig.capture(url, { delay: 5_000, timeout: 4_000, wait_for_idle: false });
    expect(new URL(finalUrl).pathname).toBe('/slow');
  });
});

describe.concurrent('a style sheet', () => {
  const INK = '<h1 style="background:#000;height:600px;margin:0">Words</h1>';

  site.route('/late-sheet', async (_request, response) => {
    await wait(response, 1_500);
    response.writeHead(200, { 'content-type': 'text/css' }).end('body { background: rgb(0,128,0) }');
  });

  it.each([
    ['that hangs for long is not in the picture of the whole page', INK, '/hang?sheet', { full_page: true }, '000000'],
    ['that is only late is awaited', '<h1>Words</h1>', '/late-sheet', {}, '008000'],
  ])('%s', async (_what, body, href, wish, corner) => {
    const url = serve(body, `<link rel="stylesheet" href="${href}">`);
    const { content } = await rig.capture(url, { ...EARLY, ...wish, timeout: 60_000 });
    expect(await colorAt(content, 790, 590)).toBe(corner);
  });

  it('that delays nothing is not awaited', async () => {
    const url = serve(`${INK}<link rel="stylesheet" media="print" href="/hang?print">`);
    expect(await settledMs(url, { ...EARLY, timeout: 60_000 })).toBeLessThan(HOLD_MS);
  });

  it.each([
    ['for longer than the budget', { leftMs: 0, ageMs: 100 }],
    ['for long', { leftMs: 10_000, ageMs: 5_000 }],
  ])('that has hung %s ends the loading', async (_how, { leftMs, ageMs }) => {
    const sent: string[] = [];
    const shown = { loaded: false } as DocumentState;
    const deadlines = { leftMs: () => leftMs, within: (work: Promise<unknown>) => work };
    const session = { cdp: { send: async (method: string) => void sent.push(method) } };
    const network = { pending: () => [{ kind: 'stylesheet', startedAt: performance.now() - ageMs }] };
    const page = { session, network, deadlines, main: { current: shown }, world: { call: async () => false } };
    await dropStalledStyleSheets(page as unknown as Parameters<typeof dropStalledStyleSheets>[0], shown);
    expect(sent).toEqual(['Page.stopLoading']);
  });
});
