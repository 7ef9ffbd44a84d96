/** Pages of a browser that draws only when it is told to. Without such a browser on this machine, there is nothing to test. */

import type { BrowserContext, Page } from 'playwright-core';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { ofFile } from '../../fixtures/of-file.js';
import { ANY_BROWSER } from '../install/any-browser.js';
import { openRig, type Wish } from '../page/capture-rig.js';
import { aPool, aSite, browserPids, NEVER, someOptions, until, visit } from './fixture.js';

/** A canvas that a worker fills in 30 frames, before it does something else. */
function drawnByWorker(then: string): string {
  const worker = `onmessage = ({ data }) => {
    const drawing = data.getContext('2d');
    let drawn = 0;
    (function draw() { drawing.fillRect(0, 0, drawn += 10, 90); if (drawn < 300) requestAnimationFrame(draw); else { ${then} } })();
  }`;
  return `<canvas id=far width=300 height=90></canvas><script>
    const handed = far.transferControlToOffscreen();
    new Worker(URL.createObjectURL(new Blob([${JSON.stringify(worker)}]))).postMessage(handed, [handed]);
  </script>`;
}

/** The contexts of the same browser that have a page, without its own. */
function othersOf(page: Page): BrowserContext[] {
  const all = page.context().browser()?.contexts() ?? [];
  return all.filter((one) => one !== page.context() && one.pages().length > 0);
}

const MOVING = `<!doctype html><style>
  @keyframes grow { from { width: 0 } to { width: 500px } }
  .grown { height: 90px; background: red; animation: grow 1.5s both }
  .late { height: 400px; margin: 30px; background: blue; opacity: 0; transition: opacity .5s } .late.in { opacity: 1 }
  header { position: sticky; top: 0; height: 40px; background: lime }
</style><header>head</header><div class=grown></div><canvas id=chart width=300 height=90></canvas>
${'<div class=late></div>'.repeat(6)}
<script>
  const drawing = chart.getContext('2d');
  let drawn = 0;
  (function draw() { drawn += 5; drawing.fillRect(0, 0, drawn, 90); if (drawn < 300) requestAnimationFrame(draw); })();
  const seen = new IntersectionObserver((all) => all.forEach((one) => one.isIntersecting && one.target.classList.add('in')));
  document.querySelectorAll('.late').forEach((late) => seen.observe(late));
</script>`;

const site = await ofFile(
  aSite({
    '/moving': MOVING,
    '/worker': `<!doctype html>${drawnByWorker('')}`,
    '/busy': '<!doctype html><title>busy</title><script>setTimeout(() => { for (;;); }, 100)</script>',
    '/stuck': `<!doctype html><title>stuck</title>${drawnByWorker('for (;;);')}`,
  }),
);

describe.runIf(ANY_BROWSER.drawsOnDemand)('a browser that draws on demand', () => {
  it('makes the same pictures as one that draws by itself', async () => {
    await using onDemand = await openRig({ framesOnDemand: true });
    await using byItself = await openRig({ framesOnDemand: false });
    const view = { viewport: { width: 600, height: 400, deviceScaleFactor: 1 } };
    const wishes: Wish[] = [
      view,
      { ...view, full_page: true },
      { ...view, selector: '.grown' },
      { ...view, clip: { x: 0, y: 700, width: 600, height: 900 } },
      {
        ...view,
        steps: [
          { action: 'hover', selector: 'header' },
          { action: 'scroll_to', selector: '.late:last-of-type' },
        ],
      },
      { ...view, animate: { duration: 1_000, fps: 5 }, format: 'webp' },
    ];
    for (const [path, wish] of [['/worker', view] as const, ...wishes.map((wish) => ['/moving', wish] as const)]) {
      const [one, other] = await Promise.all([onDemand, byItself].map((rig) => rig.capture(site.url + path, wish)));
      expect(one?.content.equals(other?.content ?? Buffer.alloc(0)), path + JSON.stringify(wish)).toBe(true);
    }
  });

  it('gives a page the frames that its own scripts wait for', async () => {
    await using test = await aPool({ framesOnDemand: true });
    await using used = await visit(test, site.url);
    const frames = await used.page.evaluate(async () => {
      let frames = 0;
      while (frames < 5) await new Promise(requestAnimationFrame).then(() => frames++);
      return frames;
    });
    expect(frames).toBe(5);
  });

  it('lets a capture wait for a browser of its own', async () => {
    await using test = await aPool({ framesOnDemand: true });
    const first = await visit(test, null);
    const waiting = test.pool.acquire(someOptions(), NEVER);
    const isWaiting = Promise.race([waiting.then(() => false), new Promise((resolve) => setImmediate(resolve, true))]);
    expect(await isWaiting).toBe(true);
    await first.release();
    const second = await waiting;
    expect(second.session.page).not.toBe(first.page);
    await second.release();
  });

  it('has the page of the next capture open before this one ends', async () => {
    await using test = await aPool({ framesOnDemand: true });
    const first = await visit(test, site.url);
    await until(() => othersOf(first.page).length === 1);
    const opened = othersOf(first.page);
    await first.release();
    await using next = await visit(test, site.url);
    expect(opened).toEqual([next.session.context]);
    expect((await next.session.cdp.send('Page.captureScreenshot', { format: 'png' })).data).not.toBe('');
  });

  it('closes a page that does not end its frame, and draws the next one in the same process', async () => {
    await using test = await aPool({ framesOnDemand: true });
    const [browser] = browserPids(test.runDir);
    const lease = await visit(test, null);
    await lease.page.goto(`${site.url}/busy`, { waitUntil: 'commit' });
    // The loop has begun once the page no longer answers.
    await until(
      async () =>
        (await Promise.race([lease.page.title(), new Promise((resolve) => setTimeout(resolve, 500, null))])) === null,
    );
    await lease.release();
    await using next = await visit(test, site.url);
    expect((await next.session.cdp.send('Page.captureScreenshot', { format: 'png' })).data).not.toBe('');
    expect(browserPids(test.runDir)).toEqual([browser]);
  });

  it('repeats a capture whose frame never ends, in a browser that draws by itself', async () => {
    await using rig = await openRig({ framesOnDemand: true });
    const { content, warnings } = await rig.capture(`${site.url}/stuck`, {
      viewport: { width: 400, height: 300, deviceScaleFactor: 1 },
    });
    const { data } = await sharp(content).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    expect([...data.subarray(3 * (400 * 50 + 100)).subarray(0, 3)]).toEqual([0, 0, 0]);
    expect(warnings).toEqual([]);
    await rig.capture(`${site.url}/`);
  });
});
