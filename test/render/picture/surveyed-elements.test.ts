import { expect, it } from 'vitest';
import { aPageSession, browserOfFile, options } from './a-page-session.js';

const browser = await browserOfFile();

it('the elements of several pictures are those that were found at first, as long as they are visible', async () => {
  const cards = ['hidden', '', '', ''].map((state) => `<div class="card" style="height:50px" ${state}></div>`).join('');
  const html = `<!doctype html><body style="margin:0">${cards}`;
  await using session = await aPageSession(browser, { html, options: options() });
  const topOf = async (index: number) => {
    const sighting = await session.world.call('element.mark', '.card', index);
    return 'box' in sighting ? sighting.box.top : sighting.problem;
  };
  expect(await session.world.call('element.survey', '.card', 2)).toEqual([true, true]);
  const [first, second] = ['.card:nth-of-type(1)', '.card:nth-of-type(2)'];
  await session.page.evaluate((one) => document.querySelector(one)?.removeAttribute('hidden'), first);
  expect([await topOf(0), await topOf(1)]).toEqual([50, 100]);
  await session.page.evaluate((one) => document.querySelector(one)?.remove(), second);
  expect(await topOf(0)).toBe(0);
});
