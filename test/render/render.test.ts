import sharp from 'sharp';
import { describe, expect, it, vi } from 'vitest';
import { shouldRetry } from '../../src/capture/attempt.js';
import { CaptureError } from '../../src/contract/capture-error.js';
import { captureRequestSchema, toCaptureOptions } from '../../src/contract/capture-request.js';
import { MemoryBudget } from '../../src/render/budgets.js';
import { capture, type RenderDeps } from '../../src/render/capture.js';
import { type PageSession, SharedLoss } from '../../src/render/page-session.js';
import type { OpenPageSession } from '../../src/render/pool/open-page-session.js';
import { document, html } from '../fixtures/site/answer.js';
import { openRig, siteAndRig } from './page/capture-rig.js';

const { site, rig } = await siteAndRig();

/** The rig's pool, with a look at each page session and a count of what is out. */
function watchedPool(onStage: (session: PageSession, how: string) => void = () => {}): { pool: RenderDeps['pool']; out: () => number } {
  let out = 0;
  const watched = (how: 'acquire' | 'acquireAlone'): RenderDeps['pool']['acquire'] => {
    return async (options, signal, requester) => {
      const lease = await rig.deps.pool[how](options, signal, requester);
      out += 1;
      onStage(lease.session, how);
      return {
        ...lease,
        async release() {
          out -= 1;
          await lease.release();
        },
      };
    };
  };
  return { out: () => out, pool: { acquire: watched('acquire'), acquireAlone: watched('acquireAlone') } };
}

function lose(session: PageSession, why: Error): void {
  (session as OpenPageSession).lose(why);
}

describe('a capture', () => {
  it('reports its progress, its times, and its page', async () => {
    rig.progress.length = 0;
    const rendering = await rig.capture(site.url('/article#section'), { viewport: { width: 640, height: 480, deviceScaleFactor: 2 } });
    expect(rendering).toMatchObject({ format: 'png', width: 1280, height: 960, egressCountry: null, inspection: null, blockedRequests: 0 });
    expect(rendering.finalUrl).toBe(site.url('/article#section'));
    expect(rendering.diagnostics).toMatchObject({ algorithm: 'native', sections: 1, stoppedReason: 'viewport', truncated: false });
    expect(Object.keys(rendering.timings).sort()).toEqual(['encode', 'navigate', 'run', 'scroll', 'settle', 'shoot', 'stop']);
    for (const ms of Object.values(rendering.timings)) expect(ms).toBe(Math.round(ms));
    expect(rig.progress.length).toBeGreaterThan(3);
    expect(rig.progress).toEqual([...rig.progress].sort((a, b) => a - b));
  });

  it.each([
    ['below the view', ''],
    ['in a scroller', 'height:300px;overflow:auto'],
  ])('of an element has its lazy images, all the way down: %s', async (_where, style) => {
    const image = '<img loading="lazy" src="/image/300x300/ff0000.png?wait=150" style="display:block;width:300px;height:300px">';
    const gap = '<div style="height:4000px">Far above</div>';
    const body = `<div style="${style}">${gap}<div id="gallery" style="width:300px">${image}${gap}${image}</div></div>`;
    site.route('/gallery', (_request, response) => html(response, document('Gallery', body)));
    const { content, height } = await rig.capture(site.url('/gallery'), { selector: '#gallery' });
    for (const top of [150, height - 150]) {
      const pixel = await sharp(content).extract({ left: 150, top, width: 1, height: 1 }).raw().toBuffer();
      expect([...pixel].slice(0, 3), `at ${top}`).toEqual([255, 0, 0]);
    }
  });

  it('reports the address that a script has set', async () => {
    site.route('/push', (_request, response) =>
      html(response, document('Push', '<h1>Words</h1><script>history.pushState({}, "", "/pushed?to=here")</script>')),
    );
    expect((await rig.capture(site.url('/push'))).finalUrl).toBe(site.url('/pushed?to=here'));
  });

  it('counts the connections that the proxy refused', async () => {
    site.route('/reaches-inside', (_request, response) =>
      html(response, document('Page', '<h1>Words</h1><img src="http://10.1.2.3/a.png"><img src="http://192.168.1.1/b.png">')),
    );
    expect((await rig.capture(site.url('/reaches-inside'))).blockedRequests).toBe(2);
  });

  it('shows the final page when it navigated while it was being prepared', async () => {
    site.route('/moves', (_request, response) =>
      html(response, document('Moves', '<h1>On the way</h1><script>setTimeout(() => { location = "/boxes" }, 700)</script>')),
    );
    const { finalUrl, content } = await rig.capture(site.url('/moves'), { delay: 1_000 });
    const { content: there } = await rig.capture(site.url('/boxes'));
    expect(finalUrl).toBe(site.url('/boxes'));
    expect(Buffer.compare(content, there)).toBe(0);
  });

  it('ends in time if its checks were slow before the browser stopped drawing', async () => {
    const page = '<canvas></canvas><script>setInterval(() => fetch("/static"), 50)</script>';
    site.route('/never-drawn', (_request, response) => html(response, document('Never drawn', page)));
    const { pool } = watchedPool(({ cdp }) => {
      const send = cdp.send.bind(cdp);
      const hung = new Promise<never>(() => {});
      cdp.send = ((method, params) => (method === 'Page.captureScreenshot' ? hung : send(method, params))) as typeof cdp.send;
    });
    await using watched = await openRig({ pool });
    const began = Date.now();
    expect(await watched.failure(site.url('/never-drawn'), { timeout: 1_000 })).toMatchObject({ code: 'render_timeout' });
    // trials.md, hostile: timeout and 5 s.
    expect(Date.now() - began).toBeLessThan(6_000);
  });

  it('fails if the page moved to a refused page while it waited', async () => {
    site.route('/moves-badly', (_request, response) =>
      html(response, document('Moves', '<h1>On the way</h1><script>setTimeout(() => { location = "http://10.0.0.1/" }, 600)</script>')),
    );
    expect(await rig.failure(site.url('/moves-badly'), { delay: 1_000 })).toMatchObject({ code: 'navigation_failed', retriable: false });
  });
});

describe('the egress country', () => {
  const german: Partial<RenderDeps> = { countries: { observe: async () => 'DE' } };

  it('ends the capture before any request to the target if it differs from the region’s', async () => {
    await using elsewhere = await openRig({ ...german, pool: rig.deps.pool });
    const hits = site.hits.length;
    const error = await elsewhere.failure(site.url('/static'), { region: 'us' });
    expect(error).toMatchObject({ code: 'egress_mismatch', retriable: false, details: { expected: 'US', observed: 'DE' } });
    expect(site.hits.length).toBe(hits);
  });

  it('is reported if it was observed, and not determined otherwise', async () => {
    await using elsewhere = await openRig({ ...german, pool: rig.deps.pool });
    expect((await elsewhere.capture(site.url('/static'), { region: 'de' })).egressCountry).toBe('DE');
    expect((await elsewhere.capture(site.url('/static'), { region: 'us', verify_egress: false })).egressCountry).toBeNull();
  });
});

describe('the page session', () => {
  it('is released after success and after failure', async () => {
    const { pool, out } = watchedPool();
    await using watched = await openRig({ pool });
    await watched.capture(site.url('/static'));
    await watched.failure(site.url('/status/500'));
    await watched.failure(site.url('/static'), { custom_js: 'throw 1' });
    expect(out()).toBe(0);
  });

  it('stays open until its picture has been stored', async () => {
    const watched = watchedPool();
    const options = toCaptureOptions(captureRequestSchema.parse({ url: site.url('/static') }));
    let tellKept = (): void => {};
    const kept = new Promise<void>((resolve) => {
      tellKept = resolve;
    });
    const order = { id: 'job', options, onProgress: () => {}, kept };
    await capture({ ...rig.deps, pool: watched.pool }, order, new AbortController().signal);
    expect(watched.out()).toBe(1);
    tellKept();
    await vi.waitFor(() => expect(watched.out()).toBe(0));
  });

  it('that is lost with others of its browser is repeated in a dedicated browser, which is stopped afterwards', async () => {
    const sessions: [how: string, session: PageSession][] = [];
    const { pool, out } = watchedPool((session, how) => {
      sessions.push([how, session]);
      if (how === 'acquire') session.page.once('load', () => lose(session, new SharedLoss('the browser ended')));
    });
    await using watched = await openRig({ pool });
    expect(await watched.capture(site.url('/article'), { delay: 1_000 })).toMatchObject({ format: 'png', width: 800 });
    expect(sessions.map(([how]) => how)).toEqual(['acquire', 'acquireAlone']);
    const [first, second] = sessions.map(([, { context }]) => context.browser());
    expect(second).not.toBe(first);
    await vi.waitFor(() => expect(second?.isConnected()).toBe(false), 20_000);
    expect(first?.isConnected()).toBe(true);
    expect(out()).toBe(0);
  });

  it('that is lost with others of its browser, and again alone, is not repeated any more', async () => {
    const { pool, out } = watchedPool((session, how) => {
      const reason = how === 'acquire' ? new SharedLoss('the browser ended') : new Error('it ended again');
      session.page.once('load', () => lose(session, reason));
    });
    await using watched = await openRig({ pool });
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
    const { pool, out } = watchedPool(
      (session) => void session.page.once('load', () => void session.cdp.send('Page.crash').catch(() => {})),
    );
    await using watched = await openRig({ pool });
    expect(await watched.failure(site.url('/static'), { delay: 5_000 })).toMatchObject({ code: 'render_crashed', retriable: true });
    expect(out()).toBe(0);
  });

  it('is released at once when the caller aborts the capture, whose reason is thrown', async () => {
    const { pool, out } = watchedPool();
    await using watched = await openRig({ pool });
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
