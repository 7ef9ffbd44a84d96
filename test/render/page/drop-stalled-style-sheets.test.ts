import sharp from 'sharp';
import { expect, it } from 'vitest';
import { document, html, wait } from '../../fixtures/site/answer.js';
import { siteAndRig } from './capture-rig.js';

const { site, rig } = await siteAndRig();

site.route('/late-sheet', async (_request, response) => {
  await wait(response, 1_500);
  response.writeHead(200, { 'content-type': 'text/css' }).end('body { background: rgb(0,128,0) }');
});

const INK = '<h1 style="background:#000;height:600px;margin:0">Words</h1>';
const EARLY = { wait_until: 'domcontentloaded', wait_for_idle: false };

let served = 0;

async function cornerOf(head: string, body: string, wish: Record<string, unknown>): Promise<string> {
  // Of its own: these tests run at once.
  const path = `/sheets/${++served}`;
  site.route(path, (_request, response) => html(response, document('Sheets', body, head)));
  const { content } = await rig.capture(site.url(path), wish);
  const corner = sharp(content).extract({ left: 790, top: 590, width: 1, height: 1 });
  return (await corner.removeAlpha().raw().toBuffer()).toString('hex');
}

it.concurrent.each([
  ['at the end of its budget', { ...EARLY, timeout: 2_000 }],
  ['once it has hung for long', { ...EARLY, timeout: 20_000 }],
  ['after settling', { wait_until: 'domcontentloaded', timeout: 20_000 }],
  ['and so is the whole of it', { ...EARLY, timeout: 2_000, full_page: true }],
])('a page whose sheet hangs is pictured without it, %s', async (_when, wish) => {
  const began = Date.now();
  expect(await cornerOf('<link rel="stylesheet" href="/hang?sheet">', INK, wish)).toBe('000000');
  expect(Date.now() - began).toBeLessThan(9_000);
});

it.concurrent('a sheet that is only late is waited for', async () => {
  expect(await cornerOf('<link rel="stylesheet" href="/late-sheet">', '<h1>Words</h1>', EARLY)).toBe('008000');
});

it.concurrent('a sheet that holds nothing back is not waited for', async () => {
  const began = Date.now();
  const wish = { ...EARLY, timeout: 20_000 };
  expect(await cornerOf('', `${INK}<link rel="stylesheet" media="print" href="/hang?print">`, wish)).toBe('000000');
  expect(Date.now() - began).toBeLessThan(4_500);
});
