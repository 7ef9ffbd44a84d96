import { expect, it } from 'vitest';
import { captureRequestSchema, toCaptureOptions } from '../../src/contract/capture-request.js';
import { capture } from '../../src/render/capture.js';
import { document, html, wait } from '../fixtures/site/answer.js';
import { siteAndRig } from './page/capture-rig.js';

const { site, rig } = await siteAndRig();

async function changesOf(url: string, wish: Record<string, unknown>) {
  const wire = captureRequestSchema.parse({ url, format: 'png', viewport: { width: 800, height: 600, deviceScaleFactor: 1 }, ...wish });
  const options = { ...toCaptureOptions(wire), explain: true };
  const { changed } = await capture(rig.deps, { options, id: 'job', onProgress: () => undefined }, new AbortController().signal);
  return changed;
}

it("explain reports what was expanded and pinned, and which requests held the page's clock", async () => {
  site.route('/held', async (_request, response) => {
    await wait(response, 300);
    response.end('{}');
  });
  const shell = `<style>body{margin:0}.bar{position:fixed;top:0}.feed{height:600px;overflow-y:auto}</style>
    <nav id="top" class="bar dark">Bar</nav><main class="feed"><div style="height:2000px">Text</div></main>
    <script>addEventListener('load', () => fetch('/held'))</script>`;
  site.route('/shell', (_request, response) => html(response, document('Shell', shell)));
  const changed = await changesOf(site.url('/shell'), { full_page: true });
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

it('explain limits the names of elements, whatever a page calls them', async () => {
  const many = Array.from({ length: 300 }, (_, nth) => `<b class="${'x'.repeat(500)}" style="position:fixed;top:${nth}px">B</b>`).join('');
  const form = '<form style="position:fixed;top:0"><input name="id"><input name="classList"><input name="matches">Form</form>';
  site.route('/many', (_request, response) => html(response, document('Many', `${form}${many}<div style="height:2000px"></div>`)));
  const changed = await changesOf(site.url('/many'), { full_page: true });
  expect(changed?.pinned.length).toBe(50);
  expect(changed?.pinned[0]?.element).toBe('form');
  expect(Math.max(...(changed?.pinned ?? []).map(({ element }) => element.length))).toBe(120);
});
