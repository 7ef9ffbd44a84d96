import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../src/log.js';
import { Blocker } from '../../src/render/filter/blocker.js';
import { ofFile } from '../fixtures/of-file.js';
import { document, html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { builtForTests } from './filter/built.js';
import { openRig } from './page/capture-rig.js';

const BAR = `<div id="bar" style="position:fixed;left:0;right:0;bottom:0;height:200px;background:#f0f">We use cookies. <button>Accept</button></div>`;
const SHOW = `document.body.insertAdjacentHTML('beforeend', ${JSON.stringify(BAR)})`;
const TEXT = '<p>Flour, water, salt and time make bread that keeps for days.</p>'.repeat(80);

const dataDir = await mkdtemp(join(tmpdir(), 'stillframe-late-'));
afterAll(() => rm(dataDir, { recursive: true, force: true }));
const egress = { fetch: async () => Promise.reject(new Error('nothing is fetched here')) };
const options = { dataDir, built: await builtForTests(), lists: { enabled: false }, egress, log: silentLog() };
const blocker = await ofFile(Blocker.start(options));
const rig = await ofFile(openRig({ blocker }));
const site = await ofFile(startSite());

async function magentaIn(script: string, wish: Record<string, unknown>): Promise<number> {
  const path = `/late-${Math.random()}`;
  site.route(path, (_request, response) => html(response, document('Late', `${TEXT}<script>${script}</script>`)));
  const { content } = await rig.capture(site.url(path), wish);
  const { data } = await sharp(content).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  let found = 0;
  for (let at = 0; at < data.length; at += 3) if (data[at] === 255 && data[at + 1] === 0 && data[at + 2] === 255) found++;
  return found;
}

describe('a banner that appears late', () => {
  it.each([
    ['during `delay`', `setTimeout(() => { ${SHOW} }, 1_000)`, { delay: 1_500 }],
    [
      'with the content that was waited for',
      `document.body.innerHTML = 'Loading…'; setTimeout(() => { ${SHOW} }, 800); setTimeout(() => document.body.insertAdjacentHTML('beforeend', ${JSON.stringify(TEXT)}), 1_200)`,
      { wait_for_content: true },
    ],
    ['when the page is scrolled', `addEventListener('scroll', () => { ${SHOW} }, { once: true })`, { full_page: true }],
  ])('%s is not in the picture', async (_, script, wish) => {
    expect(await magentaIn(script, wish)).toBe(0);
  });

  it('is left when the switch is off', async () => {
    expect(await magentaIn(`setTimeout(() => { ${SHOW} }, 200)`, { delay: 700, block_cookie_banners: false })).toBeGreaterThan(10_000);
  });
});
