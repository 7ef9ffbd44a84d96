import { describe, expect, it } from 'vitest';
import { colourAt } from '../picture/blots.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig, serve } = await siteAndRig();

/** ms in which the page's clock was run, and the page was looked at. */
function settledMs({ run = 0, settle = 0 }: Record<string, number>): number {
  return run + settle;
}

/** The longest that a request without an answer holds a page, ms. A page that does not wait for it is ready sooner. */
const HOLD_MS = 5_000;

describe.concurrent('wait_until', () => {
  it('names the pending requests, and a state that would not have waited for them', async () => {
    const error = await rig.failure(site.url('/hung-image'), { timeout: 2_000 });
    expect(error).toMatchObject({ code: 'render_timeout', retriable: true });
    expect(error.message).toContain('`wait_until: load` was not reached within `timeout` (2000 ms)');
    expect(error.message).toContain(`1 image from ${new URL(site.origin).host} was still pending`);
    expect(error.message).toContain('`wait_until: domcontentloaded` would not have waited');
    expect(error.details).toEqual({ waited_for: 'load', pending: [{ kind: 'image', host: new URL(site.origin).host, count: 1 }] });
  });

  it('domcontentloaded does not wait for images', async () => {
    expect((await rig.capture(site.url('/hung-image'), { wait_until: 'domcontentloaded', wait_for_idle: false })).width).toBe(800);
  });

  it('networkidle names the last of the requests that keep the network busy', async () => {
    site.route('/tick', (_request, response) => response.end('tick'));
    const url = serve('<h1>Ticking</h1><script>setInterval(() => fetch("/tick"), 50)</script>');
    const error = await rig.failure(url, { wait_until: 'networkidle', timeout: 2_000 });
    const { host } = new URL(site.origin);
    // The end may come while one or more of them are in flight.
    const told = /the last one a request by script from |(\d) requests? by script from .* (?:was|were) still pending/;
    expect(error.message).toMatch(told);
    const count = Number(told.exec(error.message)?.[1] ?? 1);
    expect(error.message).toContain('`wait_until: load` would not have waited');
    expect(error.details).toEqual({ waited_for: 'networkidle', pending: [{ kind: 'fetch', host, count }] });
  });

  it('fails as render_timeout when a target sends nothing', async () => {
    const error = await rig.failure(site.url('/hang'), { timeout: 2_000 });
    expect(error).toMatchObject({ code: 'render_timeout', message: `127.0.0.1:${site.port} did not answer within \`timeout\` (2000 ms).` });
  });

  it('is delayed, but never failed, by a font that never loads', async () => {
    const { timings } = await rig.capture(site.url('/hung-font'));
    expect(timings.navigate).toBeGreaterThan(2_800);
    expect(settledMs(timings)).toBeLessThan(2_900);
  });
});

describe.concurrent('wait_for_selector', () => {
  it('waits until a match is visible, even if it existed but was hidden', async () => {
    const url = serve(
      '<h1>Page</h1><p id="late" style="display:none">Here</p><script>setTimeout(() => { late.style.display = "block"; document.body.style.background = "#00ff00" }, 700)</script>',
    );
    const { content } = await rig.capture(url, { wait_for_selector: '#late', wait_for_idle: false });
    expect(await colourAt(content, 790, 590)).toBe('00ff00');
  });

  it('searches the page that the target leads to', async () => {
    const to = serve('<p class="there">There</p>');
    const url = serve(`<p>On the way</p><script>setTimeout(() => { location = "${to}" }, 300)</script>`);
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
    expect(await stepsOf(serve('<p>Words</p><script>setTimeout(() => {}, 500)</script>'))).toContain('clock');
  });

  it('waits for content that a script fetches after load', async () => {
    const code = 'onload = () => fetch("/image/9x9/ff0000.png?wait=1500").then(() => document.body.append("fetched words"))';
    const url = serve(`<h1>Page</h1><script>${code}</script>`);
    const wish = { fail_if_content_missing: ['fetched words'] };
    expect((await rig.capture(url, wish)).width).toBe(800);
    expect(await rig.failure(url, { ...wish, wait_for_idle: false })).toMatchObject({ code: 'render_incomplete' });
  });

  it('does not wait for streams, and only briefly for hung pixels', async () => {
    expect(settledMs((await rig.capture(site.url('/streams'), { wait_until: 'networkidle' })).timings)).toBeLessThan(HOLD_MS);
    expect(settledMs((await rig.capture(site.url('/hung-pixel'))).timings)).toBeLessThan(HOLD_MS);
  });

  it('does not wait for workers that have loaded, including shared ones', async () => {
    site.route('/worker.js', (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/javascript' }).end('onconnect = () => {}'),
    );
    for (const kind of ['Worker', 'SharedWorker']) {
      const url = serve(`<h1>Page</h1><script>new ${kind}('/worker.js')</script>`);
      expect(settledMs((await rig.capture(url, { wait_until: 'networkidle' })).timings)).toBeLessThan(HOLD_MS);
    }
  });

  it('waits at most 5 s for a request without a response', async () => {
    expect(settledMs((await rig.capture(site.url('/long-poll'), { timeout: 60_000 })).timings)).toBeLessThan(30_000);
  });

  it('does not wait for a hung pixel added after load, nor counts it as incomplete', async () => {
    const code = 'onload = () => { const it = new Image(1, 1); it.src = "/hang?pixel"; document.body.append(it) }';
    const url = serve(`<h1>A page that counts its visitors</h1><script>${code}</script>`);
    expect(settledMs((await rig.capture(url, { fail_if_incomplete: true })).timings)).toBeLessThan(HOLD_MS);
  });

  const background = (place: string, image: string) =>
    `<h1>Page</h1><script>onload = () => document.body.insertAdjacentHTML('beforeend', '<div style="position:absolute;${place};width:800px;height:600px;background:url(${image})"></div>')</script>`;
  const IMAGE = '/image/800x600/ff0000.png?wait=1500';

  it.each([
    ['a lazy image in view', `<img loading="lazy" src="${IMAGE}" width="800" height="600" style="position:absolute;top:0;left:0">`],
    ['a background in view', background('left:0;top:0', IMAGE)],
    [
      'an image whose size is unknown until it loads',
      `<h1>Page</h1><script>onload = () => { const it = new Image(); it.src = "${IMAGE}"; it.style.cssText = "position:absolute;left:0;top:0"; document.body.append(it) }</script>`,
    ],
  ])('waits for %s', async (_what, body) => {
    const { content } = await rig.capture(serve(body));
    expect(await colourAt(content, 400, 300)).toBe('ff0000');
  });

  it('does not wait for a background below the view', async () => {
    const { timings } = await rig.capture(serve(background('left:0;top:2000px', '/hang?background')));
    expect(settledMs(timings)).toBeLessThan(HOLD_MS);
  });

  it('works on a page that has replaced all standard functions', async () => {
    const { timings } = await rig.capture(site.url('/prototypes'), { fail_if_incomplete: true, fail_if_content_missing: ['Enough words'] });
    expect(settledMs(timings)).toBeLessThan(HOLD_MS);
    expect((await rig.capture(site.url('/clobbered'), { fail_if_content_missing: ['ordinary page'] })).width).toBe(800);
  });
});

describe.concurrent('wait_for_content', () => {
  const wish = { wait_for_content: true, timeout: 60_000 };

  it.each([
    ['while the page shows that it is loading', '<main id="it">Loading…</main>'],
    ['of a page without content', '<header>Acme</header><main id="it"></main>'],
  ])('waits for a request %s', async (_what, body) => {
    const code = `fetch('/image/9x9/ff0000.png?wait=6000').then(() => setTimeout(() => { it.textContent = 'The awaited content, all of it' }, 300))`;
    const url = serve(`${body}<script>${code}</script>`);
    const { timings } = await rig.capture(url, { ...wish, fail_if_content_missing: ['the awaited content'] });
    expect(settledMs(timings)).toBeLessThan(40_000);
  });

  it('waits for the end of a text that grows gradually', async () => {
    const code = `let i = 0; const timer = setInterval(() => {
      if (i++ === 0) it.textContent = 'The answer to the question that was asked:';
      else it.append(' one more sentence of it.');
      if (i === 8) { it.append(' That is all.'); clearInterval(timer); }
    }, 500)`;
    const url = serve(`<main id="it" style="margin-top:200px">Loading…</main><script>${code}</script>`);
    const { timings } = await rig.capture(url, { ...wish, fail_if_content_missing: ['that is all.'] });
    expect(settledMs(timings)).toBeLessThan(40_000);
  });

  it.each([
    [
      'text that is written and deleted repeatedly',
      `<h1>A page with a heading</h1><p id="it">w</p><script>const all = "typed words"; let i = 0; setInterval(() => { it.textContent = all.slice(0, Math.max(1, i++ % 20)) }, 100)</script>`,
    ],
    ['a small page', '<b>Hi</b><script>1</script>'],
  ])('does not wait forever for %s', async (_what, body) => {
    const { timings } = await rig.capture(serve(body), wish);
    expect(settledMs(timings)).toBeLessThan(40_000);
  });
});

describe.concurrent('delay', () => {
  it('is added to the timeout, whose rest is left for later steps', async () => {
    const url = serve('<h1>Page</h1><script>onload = () => setTimeout(() => { location = "/slow?ms=900" }, 4600)</script>');
    // Longer than the timeout; when it is over, the page is on its way to another that takes most of a second.
    const { finalUrl } = await rig.capture(url, { delay: 5_000, timeout: 4_000, wait_for_idle: false });
    expect(new URL(finalUrl).pathname).toBe('/slow');
  });
});
