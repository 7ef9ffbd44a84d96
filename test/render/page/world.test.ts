import { expect, it } from 'vitest';
import { DocumentReplaced } from '../../../src/render/page-session.js';
import { aPageSession, browserOfFile, options } from '../picture/a-page-session.js';

const browser = await browserOfFile();

it('a call throws DocumentReplaced for a document that is gone, and the next one reaches the new document', async () => {
  await using session = await aPageSession(browser, { html: 'Text', options: options() });
  expect(await session.world.call('text.visibleText', 100)).toBe('Text');
  // The world gets no event of it: the domain that sends it is not enabled here.
  await session.page.reload();
  await expect(session.world.call('text.visibleText', 100)).rejects.toBeInstanceOf(DocumentReplaced);
  expect(await session.world.call('text.visibleText', 100)).toBe('Text');
});
