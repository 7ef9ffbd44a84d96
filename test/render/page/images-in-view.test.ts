import { expect, it } from 'vitest';
import { aPageSession, browserOfFile, options } from '../picture/a-page-session.js';

const browser = await browserOfFile();

it('a page with more images in view than are waited for is measured no further', async () => {
  const image =
    '<img style="position:absolute;top:0" src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7">';
  await using session = await aPageSession(browser, { html: image.repeat(2_000), options: options() });
  // Installs the program.
  await session.world.call('content.inspect');
  const measured = `(() => {
    const { getBoundingClientRect } = Element.prototype;
    let boxes = 0;
    Element.prototype.getBoundingClientRect = function () { boxes++; return getBoundingClientRect.call(this); };
    return [stillframe.readiness.imagesInView().length, boxes];
  })()`;
  expect(await session.world.run(measured, 5_000)).toEqual([500, 500]);
});
