import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { aPageSession, browserOfFile, options } from '../picture/a-page-session.js';
import { colourAt } from '../picture/blots.js';

const browser = await browserOfFile();

const TRIES = 10;
const DELAY_MS = 100;
const STYLE = `<style>body{margin:0}@keyframes p{50%{opacity:.2}}i{display:block;height:30px;background:#246;animation:p 900ms ${DELAY_MS}ms infinite}</style>`;

/** Starts the animation anew. */
function begin(page: Page, sinceMs: number): Promise<void> {
  return page.evaluate(async (ms) => {
    document.body.innerHTML = '<i></i>';
    await new Promise(requestAnimationFrame);
    await new Promise((resolve) => setTimeout(resolve, ms));
  }, sinceMs);
}

it('an endless animation is drawn at its start, even if it has just begun and the compositor is a frame ahead', async () => {
  await using session = await aPageSession(browser, {
    html: STYLE,
    options: options({ viewport: { width: 320, height: 240, deviceScaleFactor: 1 } }),
  });
  const { page, world } = session;
  const colours = new Set<string>();
  for (let time = 0; time < TRIES; time++) {
    await begin(page, DELAY_MS - 5 + time);
    await world.call('freeze.freezePage', { motion: true, beyondView: false });
    colours.add(await colourAt(await page.screenshot(), 10, 10));
  }
  expect([...colours]).toEqual(['224466']);
});

it('an endless animation is frozen in a shadow tree attached to a plain element after the trees were read', async () => {
  await using session = await aPageSession(browser, { html: '<div id="host"></div>', options: options() });
  const { page, world } = session;
  await world.call('freeze.freezePage', { motion: true, beyondView: false });
  await page.evaluate((style) => {
    const host = document.querySelector('#host') as HTMLElement;
    host.attachShadow({ mode: 'open' }).innerHTML = `${style}<i></i>`;
  }, STYLE);
  await world.call('freeze.freezePage', { motion: true, beyondView: false });
  const states = await page.evaluate(() =>
    document
      .querySelector('#host')
      ?.shadowRoot?.getAnimations()
      .map(({ playState }) => playState),
  );
  expect(states).toEqual(['paused']);
});
