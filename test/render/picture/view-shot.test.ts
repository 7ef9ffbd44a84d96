import { expect, it } from 'vitest';
import { builtFile } from '../../../src/package-files.js';
import { PdfFiles } from '../../../src/pdf/pdf-files.js';
import { Deadlines, monotonicNow } from '../../../src/render/deadlines.js';
import { encodingOf } from '../../../src/render/encode/encode.js';
import { EncodeQueue } from '../../../src/render/memory.js';
import { boundedPage } from '../../../src/render/page-session.js';
import { takeRegion } from '../../../src/render/picture/region-picture.js';
import { arrangeView, takeView } from '../../../src/render/picture/take-picture.js';
import { aPageSession, browserOfFile, options } from './a-page-session.js';
import { difference } from './blots.js';
import { timedPage } from './take.js';

const browser = await browserOfFile();

const PAGE = `<!doctype html><style>
  body { margin: 0; height: 3000px; background: linear-gradient(45deg, red, blue 300px, lime) }
  header { position: fixed; top: 0; width: 100%; height: 90px; background: rgba(255, 255, 0, 0.8) }
  footer { position: fixed; bottom: 0; width: 100%; height: 10vh; background: black }
  main { padding-top: 60vh; width: 150vw; font: 30px serif }
</style><header>Head</header><main>${'Words of a page. '.repeat(300)}</main><footer>Foot</footer><script>scrollTo(40, 333)</script>`;

it.each([
  ['png', 1.5, {}],
  ['webp', 2, {}],
  ['jpeg', 1.25, {}],
  ['png', 2.625, {}],
  ['png', 1, { isMobile: true }],
])('a view captured in strips equals one capture: %s at density %d', async (format, deviceScaleFactor, phone) => {
  const wanted = options({ format, viewport: { width: 640, height: 480, deviceScaleFactor, ...phone } });
  await using session = await aPageSession(browser, { html: PAGE, options: wanted });
  using deadlines = new Deadlines({ timeout: 60_000, delay: 0 }, [session.lost]);
  const deadline = monotonicNow() + 60_000;
  const page = boundedPage(session, deadline);
  const order = {
    ...timedPage(session, deadlines),
    page,
    options: wanted,
    deadline,
    begun: 0,
    encodes: new EncodeQueue(builtFile('picture-thread.js')),
    pdfs: new PdfFiles(builtFile('pdf-thread.js')),
  };
  const encoding = { ...encodingOf(wanted, wanted.format as 'png'), quality: 100 };
  const region = await arrangeView(order, 640 * 110 * deviceScaleFactor ** 2);
  const whole = await takeView(order, encoding);
  // A phone that shows a whole desktop page is captured in one shot.
  expect(region === null).toBe('isMobile' in phone);
  const inStrips = region === null ? whole : await takeRegion(order, region, encoding);
  expect(inStrips).toMatchObject({ width: whole.width, height: whole.height, diagnostics: whole.diagnostics });
  expect((await difference(whole.content, inStrips.content)).mean).toBeLessThanOrEqual(format === 'png' ? 0 : 4);
});
