import { expect, it } from 'vitest';
import { DocumentReplaced } from '../../../src/render/page/world.js';
import { aPageSession, browserOfFile, options } from '../picture/a-page-session.js';

const browser = await browserOfFile();

const EDITS = { css: null, imports: '', hide: [], remove: ['p'] };

it('the program keeps its state between calls, and starts anew in the next document', async () => {
  await using session = await aPageSession(browser, { html: '<nav style="position:sticky;top:0">Bar</nav>', options: options() });
  await session.cdp.send('Page.enable');
  await session.world.call('pin.place', { first: true, keep: 'page', down: 0 });
  expect(await session.world.call('pin.roles')).toMatchObject([{ element: 'nav', role: 'in-flow' }]);
  await session.page.reload();
  expect(await session.world.call('pin.roles')).toEqual([]);
});

it('the program is invisible to the page, and not confused with an element of its name', async () => {
  await using session = await aPageSession(browser, {
    html: '<p id="stillframe">Text</p><form name="document"></form>',
    options: options(),
  });
  expect(await session.world.call('text.visibleText', 100)).toBe('Text');
  expect(await session.page.evaluate(() => String(Reflect.get(globalThis, 'stillframe')))).toBe('[object HTMLParagraphElement]');
});

it('calls at document start run in frames too, and later calls reach the same program', async () => {
  await using session = await aPageSession(browser, { html: '<p>a</p><iframe srcdoc="<p>b</p><i>c</i>"></iframe>', options: options() });
  await session.world.callAtStart('edits.start', [EDITS], { inFrames: true });
  await session.page.reload();
  await expect.poll(() => session.page.frames()[1]?.evaluate(() => document.body.innerText)).toBe('c');
  await session.page.evaluate(() => document.body.append(document.createElement('p')));
  await session.world.call('edits.apply');
  expect(await session.page.locator('p').count()).toBe(0);
});

it('the program is installed where it was missing at document start', async () => {
  await using session = await aPageSession(browser, { html: 'Text', options: options() });
  await session.world.callAtStart('edits.start', [EDITS], { inFrames: false });
  // This document was there before.
  expect(await session.world.call('text.visibleText', 100)).toBe('Text');
});

it('a call throws DocumentReplaced for a document that is gone, and an Error if the function throws', async () => {
  await using session = await aPageSession(browser, { html: 'Text', options: options() });
  expect(await session.world.call('text.visibleText', 100)).toBe('Text');
  // The world gets no event of it: the domain that sends it is not enabled here.
  await session.page.reload();
  await expect(session.world.call('text.visibleText', 100)).rejects.toBeInstanceOf(DocumentReplaced);
  expect(await session.world.call('text.visibleText', 100)).toBe('Text');
  await expect(session.world.call('element.untilVisible', ':::')).rejects.toThrow('not a valid selector');
});
