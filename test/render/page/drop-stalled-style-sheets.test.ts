import { expect, it } from 'vitest';
import type { DocumentState } from '../../../src/render/page/open-page.js';
import { dropStalledStyleSheets } from '../../../src/render/page/page-clock.js';
import { wait } from '../../fixtures/site/answer.js';
import { colourAt } from '../picture/blots.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig, serve } = await siteAndRig();

site.route('/late-sheet', async (_request, response) => {
  await wait(response, 1_500);
  response.writeHead(200, { 'content-type': 'text/css' }).end('body { background: rgb(0,128,0) }');
});

const INK = '<h1 style="background:#000;height:600px;margin:0">Words</h1>';
const EARLY = { wait_until: 'domcontentloaded', wait_for_idle: false };

async function seen(head: string, body: string, wish: Record<string, unknown>): Promise<{ corner: string; settleMs: number }> {
  const { content, timings } = await rig.capture(serve(body, head), { timeout: 60_000, ...wish });
  return { corner: await colourAt(content, 790, 590), settleMs: timings.settle ?? 0 };
}

it.concurrent('the whole of a page whose style sheet hangs for long is captured without it', async () => {
  const wish = { ...EARLY, full_page: true };
  expect(await seen('<link rel="stylesheet" href="/hang?sheet">', INK, wish)).toMatchObject({ corner: '000000' });
});

it.each([
  ['for longer than the budget', { leftMs: 0, ageMs: 100 }],
  ['for long', { leftMs: 10_000, ageMs: 5_000 }],
])('a page stops loading when its style sheet has hung %s', async (_how, { leftMs, ageMs }) => {
  const sent: string[] = [];
  const shown = { loaded: false } as DocumentState;
  const deadlines = { leftMs: () => leftMs, withTimeout: (work: Promise<unknown>) => work };
  const session = { cdp: { send: async (method: string) => void sent.push(method) } };
  const network = { pending: () => [{ kind: 'stylesheet', startedAt: performance.now() - ageMs }] };
  const page = { session, network, deadlines, main: { current: shown }, world: { call: async () => false } };
  await dropStalledStyleSheets(page as unknown as Parameters<typeof dropStalledStyleSheets>[0], shown);
  expect(sent).toEqual(['Page.stopLoading']);
});

it.concurrent('a style sheet that is only late is awaited', async () => {
  expect(await seen('<link rel="stylesheet" href="/late-sheet">', '<h1>Words</h1>', EARLY)).toMatchObject({ corner: '008000' });
});

it.concurrent('a style sheet that delays nothing is not awaited', async () => {
  const { corner, settleMs } = await seen('', `${INK}<link rel="stylesheet" media="print" href="/hang?print">`, EARLY);
  expect(corner).toBe('000000');
  // One that does is waited for this long.
  expect(settleMs).toBeLessThan(5_000);
});
