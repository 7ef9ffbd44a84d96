import { tmpdir } from 'node:os';
import type { Browser, Page } from 'playwright-core';
import { afterAll } from 'vitest';
import { type CaptureOptions, captureRequestSchema, toCaptureOptions } from '../../../src/contract/capture-request.js';
import type { CaptureProxy } from '../../../src/egress/egress.js';
import { chromiumFlags } from '../../../src/render/launch/chromium-flags.js';
import { clockScripts } from '../../../src/render/page/page-clock.js';
import { type PageSession, World } from '../../../src/render/page-session.js';
import { launchAnyBrowser } from '../install/any-browser.js';

/** Starts Chromium like the service, except for its profile, which Playwright does not accept as a flag. */
export function launchChromium(): Promise<Browser> {
  const flags = chromiumFlags({ profile: '', sandbox: false, userAgent: null, roomyShm: true, drawsOnDemand: false });
  return launchAnyBrowser({
    ignoreDefaultArgs: true,
    args: flags.filter((flag) => !flag.startsWith('--user-data-dir')),
  });
}

/** A browser for all tests of a file, closed after the last. */
export async function browserOfFile(): Promise<Browser> {
  const browser = await launchChromium();
  afterAll(() => browser.close());
  return browser;
}

const CLOCK = 'clock-of-tests';

type Wire = Record<string, unknown>;

export function options(wire: Wire = {}): CaptureOptions {
  return toCaptureOptions(captureRequestSchema.parse({ url: 'https://example.com/', ...wire }));
}

/** A page session that shows the given HTML, as a capture with these options would. */
export async function aPageSession(
  browser: Browser,
  { html, options: wanted }: { html: string; options: CaptureOptions },
): Promise<PageSession & AsyncDisposable> {
  const { view } = wanted;
  const context = await browser.newContext({
    viewport: { width: view.width, height: view.height },
    deviceScaleFactor: view.deviceScaleFactor,
    isMobile: view.isMobile,
    hasTouch: view.hasTouch,
    reducedMotion: wanted.reduceMotion ? 'reduce' : 'no-preference',
  });
  const page = await context.newPage();
  await page.addInitScript(clockScripts(CLOCK).frame);
  await page.route('https://fixture.test/**', (route) => route.fulfill({ contentType: 'text/html', body: html }));
  await page.goto('https://fixture.test/');
  return await sessionOfPage(page, { clockEvent: CLOCK, captureProxy: closedProxy() });
}

/** The session of a page that was opened without the pool; its end closes the page's context. */
export async function sessionOfPage(
  page: Page,
  own: Pick<PageSession, 'clockEvent' | 'captureProxy'>,
): Promise<PageSession & AsyncDisposable> {
  const context = page.context();
  const cdp = await context.newCDPSession(page);
  const [{ frameTree }] = await Promise.all([cdp.send('Page.getFrameTree'), cdp.send('Network.enable')]);
  return {
    context,
    page,
    cdp,
    mainFrameId: frameTree.frame.id,
    world: new World(cdp),
    ...own,
    allowEvaluation() {},
    holdServiceWorkers() {},
    runClocks: async () => Number.POSITIVE_INFINITY,
    runInFrames: async () => undefined,
    busyMs: async () => null,
    chromiumVersion: context.browser()?.version() ?? '',
    temporaryDir: tmpdir(),
    lost: new AbortController().signal,
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** A proxy of a capture that lets nothing through and refuses nothing. */
export function closedProxy(): CaptureProxy {
  return {
    port: 0,
    begin() {},
    refuses: () => false,
    refusals: [],
    refusedCount: 0,
    bytes: 0,
    proxyFailure: null,
    failures: [],
    async [Symbol.asyncDispose]() {},
  };
}
