import { EventEmitter, once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { shouldRetry } from '../../src/capture/attempt.js';
import { CaptureError } from '../../src/contract/capture-error.js';
import { captureRequestSchema, toCaptureOptions } from '../../src/contract/capture-request.js';
import { capture, crashedAgain, type RenderDeps } from '../../src/render/capture.js';
import { MemoryBudget } from '../../src/render/memory.js';
import { NoBrowser, type PageSession, SharedLoss } from '../../src/render/page-session.js';
import type { OpenPageSession } from '../../src/render/pool/open-page-session.js';
import { openRig, siteAndRig } from './page/capture-rig.js';
import { colorAt } from './picture/blots.js';

const { site, rig, serve } = await siteAndRig();

/** Captures with the rig's pool, with a look at each page session and a count of what is out. */
async function watchedRig(onStage: (session: PageSession, how: string) => void = () => {}) {
  let out = 0;
  const watched = (how: 'acquire' | 'acquireAlone'): RenderDeps['pool']['acquire'] => {
    return async (options, signal, requester) => {
      const lease = await rig.deps.pool[how](options, signal, requester);
      out += 1;
      onStage(lease.session, how);
      const release = async () => {
        out -= 1;
        await lease.release();
      };
      return { ...lease, release };
    };
  };
  return {
    ...(await openRig({ pool: { acquire: watched('acquire'), acquireAlone: watched('acquireAlone') } })),
    out: () => out,
  };
}

const lose = (session: PageSession, why: Error) => (session as OpenPageSession).lose(why);

describe('a capture', () => {
  it('reports its progress, its times, and its page', async () => {
    rig.progress.length = 0;
    const rendering = await rig.capture(site.url('/article#section'), {
      viewport: { width: 640, height: 480, deviceScaleFactor: 2 },
    });
    expect(rendering).toMatchObject({
      format: 'png',
      width: 1280,
      height: 960,
      egressCountry: null,
      inspection: null,
      blockedRequests: 0,
    });
    expect(rendering.finalUrl).toBe(site.url('/article#section'));
    expect(rendering.diagnostics).toMatchObject({
      algorithm: 'native',
      sections: 1,
      stoppedReason: 'viewport',
      truncated: false,
    });
    expect(Object.keys(rendering.timings).sort()).toEqual([
      'encode',
      'navigate',
      'run',
      'scroll',
      'settle',
      'shoot',
      'stop',
    ]);
    for (const ms of Object.values(rendering.timings)) expect(ms).toBe(Math.round(ms));
    expect(rig.progress.length).toBeGreaterThan(3);
    expect(rig.progress).toEqual([...rig.progress].sort((a, b) => a - b));
  });

  it.each([
    ['below the view', ''],
    ['in a scroller', 'height:300px;overflow:auto'],
  ])('of an element has its lazy images, all the way down: %s', async (_where, style) => {
    const image =
      '<img loading="lazy" src="/image/300x300/ff0000.png?wait=150" style="display:block;width:300px;height:300px">';
    const gap = '<div style="height:4000px">Far above</div>';
    const url = serve(
      `<div style="${style}">${gap}<div id="gallery" style="width:300px">${image}${gap}${image}</div></div>`,
    );
    const { content, height } = await rig.capture(url, { selector: '#gallery' });
    for (const top of [150, height - 150]) expect(await colorAt(content, 150, top), `at ${top}`).toBe('ff0000');
  });

  it('reports the address that a script has set', async () => {
    const url = serve('<h1>Words</h1><script>history.pushState({}, "", "/pushed?to=here")</script>');
    expect((await rig.capture(url)).finalUrl).toBe(site.url('/pushed?to=here'));
  });

  it('counts the connections that the proxy refused', async () => {
    const url = serve('<h1>Words</h1><img src="http://10.1.2.3/a.png"><img src="http://192.168.1.1/b.png">');
    expect((await rig.capture(url)).blockedRequests).toBe(2);
  });

  const moving = (to: string) =>
    serve(`<h1>On the way</h1><script>setTimeout(() => { location = "${to}" }, 600)</script>`);

  it('shows the final page when it navigated while it was being prepared', async () => {
    const { finalUrl, content } = await rig.capture(moving('/boxes'), { delay: 1_000 });
    const { content: there } = await rig.capture(site.url('/boxes'));
    expect(finalUrl).toBe(site.url('/boxes'));
    expect(Buffer.compare(content, there)).toBe(0);
  });

  it('ends in time if its checks were slow before the browser stopped drawing', async () => {
    const url = serve('<canvas></canvas><script>setInterval(() => fetch("/static"), 50)</script>');
    const watched = await watchedRig(({ cdp }) => {
      const send = cdp.send.bind(cdp);
      const hung = new Promise<never>(() => {});
      cdp.send = ((method, params) =>
        method === 'Page.captureScreenshot' ? hung : send(method, params)) as typeof cdp.send;
    });
    const began = Date.now();
    expect(await watched.failure(url, { timeout: 1_000 })).toMatchObject({ code: 'render_timeout' });
    // trials.md, hostile: timeout and 5 s.
    expect(Date.now() - began).toBeLessThan(6_000);
  });

  it('fails if the page moved to a refused page while it waited', async () => {
    expect(await rig.failure(moving('http://10.0.0.1/'), { delay: 1_000 })).toMatchObject({
      code: 'navigation_failed',
      retriable: false,
    });
  });
});

it('the egress country is reported if it was observed, and ends the capture before any request if it is not the region’s', async () => {
  await using elsewhere = await openRig({ countries: { observe: async () => 'DE' }, pool: rig.deps.pool });
  const hits = site.hits.length;
  const error = await elsewhere.failure(site.url('/static'), { region: 'us' });
  expect(error).toMatchObject({
    code: 'egress_mismatch',
    retriable: false,
    details: { expected: 'US', observed: 'DE' },
  });
  expect(site.hits.length).toBe(hits);
  expect((await elsewhere.capture(site.url('/static'), { region: 'de' })).egressCountry).toBe('DE');
  expect(
    (await elsewhere.capture(site.url('/static'), { region: 'us', verify_egress: false })).egressCountry,
  ).toBeNull();
});

describe('the page session', () => {
  it('is released after success and after failure', async () => {
    const { out, ...watched } = await watchedRig();
    await watched.capture(site.url('/static'));
    await watched.failure(site.url('/status/500'));
    await watched.failure(site.url('/static'), { custom_js: 'throw 1' });
    expect(out()).toBe(0);
  });

  it('stays open until its picture has been stored', async () => {
    const watched = await watchedRig();
    const options = toCaptureOptions(captureRequestSchema.parse({ url: site.url('/static') }));
    const stored = new EventEmitter();
    const kept = once(stored, 'stored').then(() => {});
    await capture(watched.deps, { id: 'job', options, onProgress: () => {}, kept }, new AbortController().signal);
    expect(watched.out()).toBe(1);
    stored.emit('stored');
    await vi.waitFor(() => expect(watched.out()).toBe(0));
  });

  it('that is lost with others of its browser is repeated in a dedicated browser, which is stopped afterwards', async () => {
    const sessions: [how: string, session: PageSession][] = [];
    const { out, ...watched } = await watchedRig((session, how) => {
      sessions.push([how, session]);
      if (how === 'acquire') session.page.once('load', () => lose(session, new SharedLoss('the browser ended')));
    });
    expect(await watched.capture(site.url('/article'), { delay: 1_000 })).toMatchObject({ format: 'png', width: 800 });
    expect(sessions.map(([how]) => how)).toEqual(['acquire', 'acquireAlone']);
    const [first, second] = sessions.map(([, { context }]) => context.browser());
    expect(second).not.toBe(first);
    await vi.waitFor(() => expect(second?.isConnected()).toBe(false), 20_000);
    expect(first?.isConnected()).toBe(true);
    expect(out()).toBe(0);
  });

  it('that is lost with others of its browser, and again alone, is not repeated any more', async () => {
    const { out, ...watched } = await watchedRig((session, how) => {
      const reason = how === 'acquire' ? new SharedLoss('the browser ended') : new Error('it ended again');
      session.page.once('load', () => lose(session, reason));
    });
    const error = await watched.failure(site.url('/static'), { delay: 5_000 });
    expect(error).toMatchObject({ code: 'render_crashed', details: { own_browser: true } });
    expect(shouldRetry(error, 30_000)).toBe(false);
    await vi.waitFor(() => expect(out()).toBe(0));
  });

  it('waits for memory, and returns it when its page is closed', async () => {
    const memory = new MemoryBudget(0);
    await using watched = await openRig({ pool: rig.deps.pool, memory });
    const held = await memory.reserve(1, new AbortController().signal);
    const ends = new AbortController();
    const waiting = watched.capture(site.url('/static'), {}, ends.signal);
    ends.abort(new Error('not any more'));
    await expect(waiting).rejects.toThrow('not any more');
    held[Symbol.dispose]();
    await watched.capture(site.url('/static'));
    await watched.failure(site.url('/missing'));
    await watched.capture(site.url('/static'));
  });

  it('that crashes during the capture is render_crashed, and released', async () => {
    const { out, ...watched } = await watchedRig(
      (session) => void session.page.once('load', () => void session.cdp.send('Page.crash').catch(() => {})),
    );
    expect(await watched.failure(site.url('/static'), { delay: 5_000 })).toMatchObject({
      code: 'render_crashed',
      retriable: true,
    });
    expect(out()).toBe(0);
  });

  it('is released at once when the caller aborts the capture, whose reason is thrown', async () => {
    const { out, ...watched } = await watchedRig();
    const caller = new AbortController();
    const reason = new CaptureError({ code: 'render_timeout', message: 'enough' });
    const began = Date.now();
    const capture = watched.capture(site.url('/hang'), { timeout: 60_000 }, caller.signal);
    setTimeout(() => caller.abort(reason), 300);
    await expect(capture).rejects.toBe(reason);
    expect(Date.now() - began).toBeLessThan(10_000);
    expect(out()).toBe(0);
  });
});

describe('explain', () => {
  async function changesOf(body: string) {
    const viewport = { width: 800, height: 600, deviceScaleFactor: 1 };
    const options = toCaptureOptions(captureRequestSchema.parse({ url: serve(body), full_page: true, viewport }));
    const order = { options: { ...options, explain: true }, id: 'job', onProgress: () => {} };
    return (await capture(rig.deps, order, new AbortController().signal)).changed;
  }

  it("reports what was expanded and pinned, and which requests held the page's clock", async () => {
    const changed =
      await changesOf(`<style>body{margin:0}.bar{position:fixed;top:0}.feed{height:600px;overflow-y:auto}</style>
      <nav id="top" class="bar dark">Bar</nav><main class="feed"><div style="height:2000px">Text</div></main>
      <script>addEventListener('load', () => fetch('/image/9x9/ff0000.png?wait=300'))</script>`);
    expect(changed).toMatchObject({
      blocked: [],
      hidden: [],
      expanded: ['main.feed'],
      pinned: [{ element: 'nav#top.bar.dark', role: 'top' }],
      clock: { realTimeBecause: null, heldBy: [{ kind: 'fetch', host: new URL(site.origin).host, count: 1 }] },
    });
    expect(changed?.clock.aheadMs).toBeGreaterThanOrEqual(2_000);
    expect(changed?.clock.heldMs).toBeGreaterThan(100);
  });

  it('limits the names of elements of any length', async () => {
    const many = Array.from(
      { length: 300 },
      (_, nth) => `<b class="${'x'.repeat(500)}" style="position:fixed;top:${nth}px">B</b>`,
    ).join('');
    const form =
      '<form style="position:fixed;top:0"><input name="id"><input name="classList"><input name="matches">Form</form>';
    const names =
      (await changesOf(`${form}${many}<div style="height:2000px"></div>`))?.pinned.map(({ element }) => element) ?? [];
    expect([names.length, names[0]]).toEqual([50, 'form']);
    expect(Math.max(...names.map(({ length }) => length))).toBe(120);
  });
});

describe('resources that cannot be loaded', () => {
  const warningsOf = async (body: string, wish: Record<string, unknown> = {}) => {
    const viewport = { width: 800, height: 600, deviceScaleFactor: 1 };
    const options = toCaptureOptions(
      captureRequestSchema.parse({ url: serve(`<h1>Words</h1>${body}`), viewport, ...wish }),
    );
    return (await capture(rig.deps, { options, id: 'job', onProgress: () => {} }, new AbortController().signal))
      .warnings;
  };

  it('are counted in a warning, by kind, with their hosts', async () => {
    const body = `<img src="/none.png"><img src="/other.png"><img src="/image/9x9/ff0000.png"><link rel="stylesheet" href="/none.css">
      <script src="http://127.0.0.1:1/refused.js"></script><style>@font-face{font-family:F;src:url(/none.woff2)}p{font-family:F}</style><p>Words</p>`;
    const [warning, ...others] = await warningsOf(body);
    expect(others).toMatchObject([{ code: 'font_substituted', message: expect.stringContaining('"F"') }]);
    expect(warning).toMatchObject({
      code: 'resources_failed',
      message: expect.stringMatching(
        /^The page could not load 2 images, 1 style sheet, 1 script, 1 font \(127\.0\.0\.1:\d+, 127\.0\.0\.1:1\)/,
      ),
    });
  });

  it('are none if all has loaded, if the page has canceled them, or if something else failed', async () => {
    const canceled =
      '<img id="i" src="/image/9x9/ff0000.png?wait=900"><script>setTimeout(() => { i.src = "/image/9x9/008000.png" }, 50)</script>';
    expect(
      await warningsOf(`<img src="/image/9x9/ff0000.png">${canceled}<script>fetch("/none.json")</script>`),
    ).toEqual([]);
  });
});

it('a repeated capture that finds a full disk reports that, and not a failed browser start', () => {
  const full = new CaptureError({ code: 'internal_error', status: 503, message: 'The disk is full.' });
  expect(crashedAgain(full)).toBe(full);
  const message = expect.stringContaining('no other one could be started');
  expect(crashedAgain(new NoBrowser(new Error('too late')))).toMatchObject({ code: 'render_crashed', message });
});
