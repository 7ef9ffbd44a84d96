import { randomUUID } from 'node:crypto';
import type { BrowserContext, BrowserContextOptions } from 'playwright-core';
import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureProxy } from '../../egress/egress.js';
import { emulateUserAgentInPage } from '../emulate/emulate-user-agent.js';
import type { Emulation, PageEmulation } from '../emulate/emulation-of.js';
import { identityOf } from '../emulate/user-agent.js';
import type { ClockScripts } from '../launch/child-clocks.js';
import type { ChromiumProcess } from '../launch/chromium-process.js';
import type { CdpSession } from '../launch/pipe-session.js';
import { INSTALL_CLOCKS } from '../launch/target-policy.js';
import { clockScripts } from '../page/page-clock.js';
import { World } from '../page/world.js';
import type { PageSession } from '../page-session.js';
import type { Renderers } from './renderers.js';

const HOST = { platform: process.platform, arch: process.arch };

/** A page session that can be closed, and marked as lost when its browser crashes. */
export interface OpenPageSession extends PageSession {
  pageOptions: PageEmulation;
  /** The pid of the page's renderer; null if unknown. */
  rendererPid: number | null;
  /** Aborts `lost` with this cause. */
  lose(why: Error): void;
  /** Closes page, context and proxy. Has no time limit: the browser may not respond. */
  close(): Promise<void>;
}

export interface PageSessionOptions {
  chromium: Pick<ChromiumProcess, 'browser' | 'takeOver'>;
  renderers: Pick<Renderers, 'openPage' | 'busyMs'>;
  /** A proxy that the page session owns, and closes. */
  captureProxy: CaptureProxy;
  emulation: Emulation;
  /** Whether the page gets a clock that can run ahead. */
  clock: boolean;
  chromiumVersion: string;
  /** The directory for large files (see PageSession). */
  temporaryDir: string;
}

/**
 * Opens a new context with one page behind the proxy. May stay pending forever if the browser crashes meanwhile.
 * @throws Playwright's Error, after closing everything but the proxy
 */
export async function openPageSession({
  chromium,
  renderers,
  captureProxy,
  emulation,
  clock,
  chromiumVersion,
  temporaryDir,
}: PageSessionOptions): Promise<OpenPageSession> {
  const context = await chromium.browser.newContext(contextOptions(emulation, captureProxy.port));
  try {
    const identity = identityOf(emulation.contextOptions.userAgent, chromiumVersion, HOST);
    if (identity.metadata === null) await context.addInitScript(emulateUserAgentInPage, identity.vendor);
    const { result: page, pid } = await renderers.openPage(() => context.newPage());
    const cdp = await chromium.takeOver(await context.newCDPSession(page));
    const world = new World(cdp);
    const clockEvent = clock ? randomUUID() : null;
    const [{ frameTree }] = await Promise.all([
      cdp.send('Page.getFrameTree'),
      clockEvent === null ? null : installClocks(cdp, clockScripts(clockEvent)),
      world.install(),
    ]);
    const mainFrameId = frameTree.frame.id;
    const busyMs = () => renderers.busyMs(pid);
    return watchLoss(
      { rendererPid: pid, context, page, cdp, mainFrameId, world, clockEvent, busyMs, captureProxy, chromiumVersion, temporaryDir },
      emulation.pageOptions,
    );
  } catch (error) {
    context.close().catch(() => {});
    throw error;
  }
}

/** Installs clocks in every frame and dedicated worker of the page. */
async function installClocks(cdp: CdpSession, scripts: ClockScripts): Promise<void> {
  await Promise.all([
    cdp.send('Page.addScriptToEvaluateOnNewDocument', { source: scripts.frame }),
    cdp.send(INSTALL_CLOCKS as 'Page.enable', scripts as never),
  ]);
}

/** Applies the page options of an emulation to an open page. Takes one or two round trips, or none if they are already set. */
export async function applyPageEmulation(session: OpenPageSession, pageOptions: PageEmulation): Promise<void> {
  const { width, height, colorScheme, reducedMotion } = pageOptions;
  const same = session.pageOptions;
  await Promise.all([
    width === same.width && height === same.height ? null : session.page.setViewportSize({ width, height }),
    colorScheme === same.colorScheme && reducedMotion === same.reducedMotion
      ? null
      : session.page.emulateMedia({ colorScheme, reducedMotion }),
  ]);
  session.pageOptions = pageOptions;
}

function contextOptions({ contextOptions, pageOptions }: Emulation, proxyPort: number): BrowserContextOptions {
  return {
    proxy: { server: `http://127.0.0.1:${proxyPort}`, bypass: '<-loopback>' },
    viewport: { width: pageOptions.width, height: pageOptions.height },
    colorScheme: pageOptions.colorScheme,
    reducedMotion: pageOptions.reducedMotion,
    deviceScaleFactor: contextOptions.deviceScaleFactor,
    isMobile: contextOptions.isMobile,
    hasTouch: contextOptions.hasTouch,
    userAgent: contextOptions.userAgent,
    ...(contextOptions.locale === null ? {} : { locale: contextOptions.locale }),
    ...(contextOptions.timezone === null ? {} : { timezoneId: contextOptions.timezone }),
    acceptDownloads: false,
    // Grants no permissions, so all are denied (decisions.md, Capture semantics).
    permissions: [],
    // Service workers are allowed, since pages may wait for theirs. They use the context's proxy, and end with it.
    serviceWorkers: 'allow',
  };
}

function watchLoss(
  parts: Pick<
    OpenPageSession,
    | 'rendererPid'
    | 'context'
    | 'page'
    | 'cdp'
    | 'mainFrameId'
    | 'world'
    | 'clockEvent'
    | 'busyMs'
    | 'captureProxy'
    | 'chromiumVersion'
    | 'temporaryDir'
  >,
  pageOptions: PageEmulation,
): OpenPageSession {
  const lost = new AbortController();
  const lose = (why: Error): void => {
    if (!lost.signal.aborted) lost.abort(new CaptureError({ code: 'render_crashed', message: CRASHED, cause: why }));
  };
  const onCrash = (): void => lose(new Error('the renderer crashed'));
  const onClose = (): void => lose(new Error('the page was closed'));
  parts.page.once('crash', onCrash);
  parts.page.once('close', onClose);
  // The target policy closes popups; this closes any others.
  parts.context.on('page', (extra) => {
    if (extra !== parts.page) extra.close().catch(() => {});
  });
  return {
    ...parts,
    pageOptions,
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
