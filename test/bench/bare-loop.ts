import { type Browser, chromium } from 'playwright-core';
import { findChromium } from '../../src/render/browser/find-chromium.js';

const ARGS = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
  '--hide-scrollbars',
];

/** What a careful script would do with the same browser: one process, a context per capture, CDP's own screenshot. */
export interface BareLoop extends AsyncDisposable {
  /** The browser's path. */
  executable: string;
  capture(url: string): Promise<void>;
}

export async function startBareLoop(dataDir: string): Promise<BareLoop> {
  const executable = await findChromium({ chromium: null, dataDir });
  if (executable === null) throw new Error('No Chromium was found. Install one with: stillframe browser install');
  const browser = await chromium.launch({ executablePath: executable.path, args: ARGS, chromiumSandbox: false });
  return {
    executable: executable.path,
    capture: (url) => capture(browser, url),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

async function capture(browser: Browser, url: string): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, deviceScaleFactor: 2 });
  try {
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    await page.goto(url, { waitUntil: 'load' });
    const shoot = () => cdp.send('Page.captureScreenshot', { format: 'webp', quality: 90 });
    // Chromium now and then has no surface for one of several pages at that moment; a careful script asks again.
    await shoot().catch(shoot);
  } finally {
    await context.close();
  }
}
