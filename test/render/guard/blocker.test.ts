import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import { Blocker } from '../../../src/render/guard/blocker.js';
import { ofFile } from '../../fixtures/of-file.js';
import { builtForTests } from '../lists/built.js';
import { siteAndRig } from '../page/capture-rig.js';
import { blotOf } from '../picture/blots.js';

const BAR = `<div id="bar" style="position:fixed;left:0;right:0;bottom:0;height:200px;background:#f0f">We use cookies. <button>Accept</button></div>`;
const SHOW = `document.body.insertAdjacentHTML('beforeend', ${JSON.stringify(BAR)})`;
const TEXT = '<p>Flour, water, salt and time make bread that keeps for days.</p>'.repeat(80);

const dataDir = await mkdtemp(join(tmpdir(), 'stillframe-late-'));
afterAll(() => rm(dataDir, { recursive: true, force: true }));
const lines: { job_id?: string; banner?: unknown }[] = [];
const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
const egress = { fetch: async () => Promise.reject(new Error('nothing is fetched here')) };
const blocker = await ofFile(
  Blocker.start({ dataDir, built: await builtForTests(), lists: { enabled: false }, egress, log }),
);
const { serve, rig } = await siteAndRig({ blocker });

/** The number of pixels of the banner that a picture shows. */
async function shownOf(script: string, wish: Record<string, unknown>): Promise<number> {
  const { content } = await rig.capture(serve(`${TEXT}<script>${script}</script>`), wish);
  return (await blotOf(content, [255, 0, 255])).pixels;
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
    expect(await shownOf(script, wish)).toBe(0);
  });

  it('is left when the switch is off', async () => {
    expect(
      await shownOf(`setTimeout(() => { ${SHOW} }, 200)`, { delay: 700, block_cookie_banners: false }),
    ).toBeGreaterThan(10_000);
  });
});

it('the log contains the outcome for a banner, and its job', async () => {
  lines.length = 0;
  await rig.capture(serve(TEXT + BAR.replace('</div>', '<button onclick="bar.remove()">Reject all</button></div>')));
  expect(lines.filter(({ banner }) => banner !== undefined)).toMatchObject([
    { job_id: 'job', banner: { outcome: 'rejected', platform: null } },
  ]);
});
