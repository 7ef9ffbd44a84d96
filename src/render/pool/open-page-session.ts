import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';
import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureProxy } from '../../egress/egress.js';
import { emulateUserAgentInPage } from '../emulate/emulate-user-agent.js';
import type { Emulation, PageEmulation } from '../emulate/emulation-of.js';
import { identityOf } from '../emulate/user-agent.js';
import { World } from '../page/world.js';
import type { PageSession } from '../page-session.js';

const HOST = { platform: process.platform, arch: process.arch };

/** A page session that can be taken down, and told from outside that its browser died. */
export interface OpenPageSession extends PageSession {
  soft: PageEmulation;
  /** Aborts `lost`. */
  lose(why: string): void;
  /** Closes page, context and proxy. Unbounded: the browser may not answer. */
  close(): Promise<void>;
}

export interface PageSessionOptions {
  browser: Browser;
  /** Belongs to the page session from here on, and is closed with it. */
  captureProxy: CaptureProxy;
  shape: Emulation;
  chromiumVersion: string;
}

/**
 * Opens a context that nothing has used before, with one page, behind the proxy. A browser that dies meanwhile may leave this waiting for ever.
 * @throws Error of Playwright's; nothing stays open then but the proxy
 */
export async function openPageSession({ browser, captureProxy, shape, chromiumVersion }: PageSessionOptions): Promise<OpenPageSession> {
  const context = await browser.newContext(contextOptions(shape, captureProxy.port));
  try {
    const identity = identityOf(shape.rigid.userAgent, chromiumVersion, HOST);
    if (identity.metadata === null) await context.addInitScript(emulateUserAgentInPage, identity.vendor);
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    return staged({ context, page, cdp, world: new World(cdp), captureProxy, chromiumVersion }, shape.soft);
  } catch (error) {
    context.close().catch(() => {});
    throw error;
  }
}

/** Brings an open page into the soft part of a shape: a round trip or two, and none when it has it already. */
export async function applyPageEmulation(session: OpenPageSession, soft: PageEmulation): Promise<void> {
  const { width, height, colorScheme, reducedMotion } = soft;
  const same = session.soft;
  await Promise.all([
    width === same.width && height === same.height ? null : session.page.setViewportSize({ width, height }),
    colorScheme === same.colorScheme && reducedMotion === same.reducedMotion
      ? null
      : session.page.emulateMedia({ colorScheme, reducedMotion }),
  ]);
  session.soft = soft;
}

function contextOptions({ rigid, soft }: Emulation, proxyPort: number): BrowserContextOptions {
  return {
    proxy: { server: `http://127.0.0.1:${proxyPort}`, bypass: '<-loopback>' },
    viewport: { width: soft.width, height: soft.height },
    colorScheme: soft.colorScheme,
    reducedMotion: soft.reducedMotion,
    deviceScaleFactor: rigid.deviceScaleFactor,
    isMobile: rigid.isMobile,
    hasTouch: rigid.hasTouch,
    userAgent: rigid.userAgent,
    ...(rigid.locale === null ? {} : { locale: rigid.locale }),
    ...(rigid.timezone === null ? {} : { timezoneId: rigid.timezone }),
    acceptDownloads: false,
    // None are granted, so all are denied (decisions.md, Capture semantics).
    permissions: [],
    // Pages that wait for their worker must get it; it dies with the context, and its traffic passes the gate like all else.
    serviceWorkers: 'allow',
  };
}

function staged(
  parts: Pick<PageSession, 'context' | 'page' | 'cdp' | 'world' | 'captureProxy' | 'chromiumVersion'>,
  soft: PageEmulation,
): OpenPageSession {
  const lost = new AbortController();
  const lose = (why: string): void => {
    if (!lost.signal.aborted) lost.abort(new CaptureError({ code: 'render_crashed', message: CRASHED, cause: new Error(why) }));
  };
  const onCrash = (): void => lose('the renderer crashed');
  const onClose = (): void => lose('the page was closed');
  parts.page.once('crash', onCrash);
  parts.page.once('close', onClose);
  // The target policy refuses popups; this is for what it may not know.
  parts.context.on('page', (extra) => {
    if (extra !== parts.page) extra.close().catch(() => {});
  });
  return {
    ...parts,
    soft,
    lost: lost.signal,
    lose,
    async close() {
      parts.page.off('close', onClose);
      await closeAll(parts.context, parts.captureProxy);
    },
  };
}

const CRASHED = 'The browser page crashed during the capture.';

async function closeAll(context: BrowserContext, captureProxy: CaptureProxy): Promise<void> {
  try {
    await context.close();
  } finally {
    await captureProxy[Symbol.asyncDispose]();
  }
}
