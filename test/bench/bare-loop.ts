import { setTimeout as sleep } from 'node:timers/promises';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { findChromium } from '../../src/render/install/find-chromium.js';

const ARGS = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
  '--hide-scrollbars',
  // Pages of the benchmarks are on loopback: no name is looked up elsewhere.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.*',
];

/** The work of a careful script with the same browser: one process, a context per capture, CDP's own screenshot. */
export async function startBareLoop(dataDir: string) {
  const executable = await findChromium({ chromium: null, dataDir, sandbox: true });
  if (executable === null) throw new Error('No Chromium was found. Install one with: stillframe browser install');
  const browser = await chromium.launch({ executablePath: executable.path, args: ARGS, chromiumSandbox: false });
  return {
    /** The browser's path. */
    executable: executable.path,
    /** @returns the default picture of the service: the view, webp, twice as dense as CSS px */
    capture: (url: string) =>
      onPage(browser, DENSITY, async (page, cdp) => {
        await page.goto(url, { waitUntil: 'load' });
        return await shoot(cdp, { format: 'webp', quality: 90 });
      }),
    /** @returns a png of the view at density 1 */
    captureHtml: (html: string) =>
      onPage(browser, 1, async (page, cdp) => {
        await page.setContent(html, { waitUntil: 'load' });
        return await shoot(cdp, { format: 'png' });
      }),
    /** @returns a png of the full page at density 1, as `page.screenshot` makes it */
    captureFullPage: (url: string) =>
      onPage(browser, 1, async (page) => {
        await page.goto(url, { waitUntil: 'load' });
        return await page.screenshot({ fullPage: true, type: 'png' });
      }),
    /** @returns a PDF on A4, as `page.pdf` makes it */
    print: (url: string) =>
      onPage(browser, 1, async (page) => {
        await page.goto(url, { waitUntil: 'load' });
        return await page.pdf({ format: 'A4', printBackground: true });
      }),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

const VIEW = { width: 1280, height: 720 };
/** The service's own default. */
const DENSITY = 2;
const SHOTS_MAX = 8;
/** Doubled each time. */
const SHOT_AGAIN_MS = 20;

async function onPage<Result>(
  browser: Browser,
  density: number,
  work: (page: Page, cdp: CDPSession) => Promise<Result>,
): Promise<Result> {
  const context = await browser.newContext({ viewport: VIEW, deviceScaleFactor: density });
  try {
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    // A session's capture has the density of that session's own emulation: without this it would have a quarter of the pixels.
    await cdp.send('Emulation.setDeviceMetricsOverride', { ...VIEW, deviceScaleFactor: density, mobile: false });
    return await work(page, cdp);
  } finally {
    await context.close();
  }
}

/** Chromium now and then has no surface for one of several pages at that moment; a careful script asks again. */
async function shoot(cdp: CDPSession, how: { format: 'webp' | 'png'; quality?: number }): Promise<Buffer> {
  for (let again = 0; ; again++) {
    const asked = cdp.send('Page.captureScreenshot', how);
    const shot = await asked.catch((error: unknown) => (again < SHOTS_MAX - 1 ? null : Promise.reject(error)));
    if (shot !== null) return Buffer.from(shot.data, 'base64');
    await sleep(SHOT_AGAIN_MS * 2 ** again);
  }
}
