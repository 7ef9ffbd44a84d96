import { expect, it } from 'vitest';
import { DocumentReplaced } from '../../../src/render/page-session.js';
import { aPageSession, browserOfFile, options } from '../picture/a-page-session.js';
import { colorAt } from '../picture/blots.js';

const browser = await browserOfFile();

const DELAY_MS = 100;
const STYLE = `<style>body{margin:0}@keyframes p{50%{opacity:.2}}i{display:block;height:30px;background:#246;animation:p 900ms ${DELAY_MS}ms infinite}</style>`;
const MOTION = { motion: true, beyondView: false };

it('an endless animation is drawn at its start, even if it has just begun and the compositor is a frame ahead', async () => {
  const small = options({ viewport: { width: 320, height: 240, deviceScaleFactor: 1 } });
  await using session = await aPageSession(browser, { html: STYLE, options: small });
  const { page, world } = session;
  const colors = new Set<string>();
  for (let time = 0; time < 10; time++) {
    await page.evaluate(
      async (ms) => {
        document.body.innerHTML = '<i></i>';
        await new Promise(requestAnimationFrame);
        await new Promise((resolve) => setTimeout(resolve, ms));
      },
      DELAY_MS - 5 + time,
    );
    await world.call('freeze.freezePage', MOTION);
    colors.add(await colorAt(await page.screenshot(), 10, 10));
  }
  expect([...colors]).toEqual(['224466']);
});

it('an endless animation is frozen in a shadow tree attached to a plain element after the trees were read', async () => {
  await using session = await aPageSession(browser, { html: '<div id="host"></div>', options: options() });
  const { page, world } = session;
  await world.call('freeze.freezePage', MOTION);
  await page.evaluate((html) => {
    (document.querySelector('#host') as HTMLElement).attachShadow({ mode: 'open' }).innerHTML = html;
  }, `${STYLE}<i></i>`);
  await world.call('freeze.freezePage', MOTION);
  const states = await page.evaluate(() =>
    document
      .querySelector('#host')
      ?.shadowRoot?.getAnimations()
      .map(({ playState }) => playState),
  );
  expect(states).toEqual(['paused']);
});

it('a call throws DocumentReplaced for a document that is gone, and the next one reaches the new document', async () => {
  await using session = await aPageSession(browser, { html: 'Text', options: options() });
  expect(await session.world.call('text.visibleText', 100)).toBe('Text');
  // The world gets no event of it: the domain that sends it is not enabled here.
  await session.page.reload();
  await expect(session.world.call('text.visibleText', 100)).rejects.toBeInstanceOf(DocumentReplaced);
  expect(await session.world.call('text.visibleText', 100)).toBe('Text');
});
