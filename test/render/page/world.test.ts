import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DocumentReplaced } from '../../../src/render/page/document-replaced.js';
import { aPageSession, launchChromium, options } from '../picture/a-page-session.js';

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

const EDITS = { css: null, imports: '', hide: [], remove: ['p'] };

it('keeps what the program notes from one call to the next, and begins anew in the next document', async () => {
  await using session = await aPageSession(browser, { html: '<nav style="position:sticky;top:0">Bar</nav>', options: options() });
  await session.cdp.send('Page.enable');
  await session.world.call('pin.place', { first: true, keep: 'page', down: 0 });
  expect(await session.world.call('mechanisms.counts')).toEqual({ sticky: 1 });
  await session.page.reload();
  expect(await session.world.call('mechanisms.counts')).toEqual({});
});

it('is neither seen by the page nor taken for an element of its name', async () => {
  await using session = await aPageSession(browser, {
    html: '<p id="stillframe">Text</p><form name="document"></form>',
    options: options(),
  });
  expect(await session.world.call('text.visibleText', 100)).toBe('Text');
  expect(await session.page.evaluate(() => String(Reflect.get(globalThis, 'stillframe')))).toBe('[object HTMLParagraphElement]');
});

it('runs what is to be called as a document starts, in its frames too, and is called on in the same program', async () => {
  await using session = await aPageSession(browser, { html: '<p>a</p><iframe srcdoc="<p>b</p><i>c</i>"></iframe>', options: options() });
  await session.world.callAtStart('edits.start', [EDITS], { inFrames: true });
  await session.page.reload();
  await expect.poll(() => session.page.frames()[1]?.evaluate(() => document.body.innerText)).toBe('c');
  await session.page.evaluate(() => document.body.append(document.createElement('p')));
  await session.world.call('edits.apply');
  expect(await session.page.locator('p').count()).toBe(0);
});

it('installs the program where it was not as the document started', async () => {
  await using session = await aPageSession(browser, { html: 'Text', options: options() });
  await session.world.callAtStart('edits.start', [EDITS], { inFrames: false });
  // This document was there before.
  expect(await session.world.call('text.visibleText', 100)).toBe('Text');
});

it('throws DocumentReplaced for a document that has gone, and an Error for what the program throws', async () => {
  await using session = await aPageSession(browser, { html: 'Text', options: options() });
  expect(await session.world.call('text.visibleText', 100)).toBe('Text');
  // The world gets no event of it: the domain that sends it is not enabled here.
  await session.page.reload();
  await expect(session.world.call('text.visibleText', 100)).rejects.toBeInstanceOf(DocumentReplaced);
  expect(await session.world.call('text.visibleText', 100)).toBe('Text');
  await expect(session.world.call('documents.untilVisible', ':::')).rejects.toThrow('not a valid selector');
});
