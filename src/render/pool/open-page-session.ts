import { randomUUID } from 'node:crypto';
import type { BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import type { CaptureProxy } from '../../egress/egress.js';
import { succeedsWithin, unlessAborted } from '../deadlines.js';
import type { ChromiumProcess } from '../launch/chromium-process.js';
import { addChromeObject, type Emulation, emulateUserAgentInPage, identityOf } from '../launch/emulation.js';
import { HOST } from '../launch/executable.js';
import { FrameSource, WANT_FRAMES } from '../launch/frame-source.js';
import { busyMs, drawsWindows } from '../launch/process-table.js';
import { clockScripts } from '../page/page-clock.js';
import { type PageSession, pageCrashed, SharedLoss, World } from '../page-session.js';

/** A page session that can be closed, and marked as lost when its browser crashes. */
export interface OpenPageSession extends PageSession {
  pageOptions: Emulation['pageOptions'];
  /** The pid of the page's renderer; null if unknown. */
  readonly rendererPid: number | null;
  /** When its use began, in ms; null before. */
  leasedAt: number | null;
  /** Gives the page its frames; null if the browser draws by itself. */
  readonly frames: FrameSource | null;
  /** Aborts `lost` with this cause. */
  lose(reason: Error): void;
  /** Whether the renderer answers within `ms`. One that has died does not, even before the browser reports its crash. */
  answers(ms: number): Promise<boolean>;
  /** Closes page, context and proxy. Has no time limit: the browser may not respond. */
  close(): Promise<void>;
}

/** Everything that the pages of one browser have in common. */
export interface PageHost {
  chromium: ChromiumProcess;
  renderers: Renderers;
  /** Whether pages get a clock that can run ahead. */
  clock: boolean;
  /** Whether the browser draws only on demand. */
  drawsOnDemand: boolean;
  /** The directory for large files (see PageSession). */
  temporaryDir: string;
}

/**
 * Opens a new context with one page behind the proxy. May stay pending forever if the browser crashes meanwhile.
 * @param captureProxy belongs to the page session from now on, unless this throws
 * @throws Playwright's Error, or CaptureError `render_crashed` if the page crashes, after closing everything but the proxy
 */
export async function openPageSession(
  host: PageHost,
  emulation: Emulation,
  captureProxy: CaptureProxy,
): Promise<OpenPageSession> {
  const { chromium, renderers, temporaryDir, drawsOnDemand } = host;
  const chromiumVersion = chromium.browser.version();
  const context = await chromium.browser.newContext(contextOptions(emulation, captureProxy.port));
  try {
    const identity = identityOf(emulation.contextOptions.userAgent, chromiumVersion, HOST);
    if (identity.metadata === null) await context.addInitScript(emulateUserAgentInPage, identity.vendor);
    const lost = new AbortController();
    const lose = (cause: Error) => {
      if (!lost.signal.aborted) lost.abort(pageCrashed(cause));
    };
    const { page, pid } = await renderers.openPage(() => context.newPage());
    const onClose = () => lose(new Error('the page was closed'));
    page.once('close', onClose);
    const { cdp: taken, installClocks, ...targets } = await chromium.takeOver(await context.newCDPSession(page));
    const frames = drawsOnDemand
      ? new FrameSource(taken, () => lose(new SharedLoss('a frame of the page did not end')))
      : null;
    const cdp = frames?.session ?? taken;
    // Playwright 1.65 does not report a crash that precedes the end of `newPage`.
    cdp.on('Inspector.targetCrashed', () => lose(new Error('the renderer crashed')));
    const world = new World(cdp, frames === null ? null : WANT_FRAMES);
    const clockEvent = host.clock ? randomUUID() : null;
    const clocks = clockEvent === null ? null : clockScripts(clockEvent);
    if (clocks !== null) installClocks(clocks);
    const preparing = Promise.all([
      cdp.send('Page.getFrameTree'),
      cdp.send('Inspector.enable'),
      identity.metadata === null
        ? null
        : cdp.send('Page.addScriptToEvaluateOnNewDocument', { source: `(${addChromeObject})()` }),
      clocks === null ? null : cdp.send('Page.addScriptToEvaluateOnNewDocument', { source: clocks.frame }),
      world.install(),
    ]);
    // A crashed renderer does not answer these commands.
    const [{ frameTree }] = await unlessAborted(preparing, lost.signal);
    return {
      ...targets,
      context,
      page,
      cdp,
      world,
      clockEvent,
      captureProxy,
      chromiumVersion,
      temporaryDir,
      lose,
      frames,
      mainFrameId: frameTree.frame.id,
      rendererPid: pid,
      busyMs: () => renderers.busyMs(pid),
      pageOptions: emulation.pageOptions,
      leasedAt: null,
      lost: lost.signal,
      answers: (ms) => succeedsWithin(cdp.send('Page.getFrameTree'), { ms, signal: lost.signal }),
      async close() {
        page.off('close', onClose);
        await context.close().finally(() => captureProxy[Symbol.asyncDispose]());
      },
    };
  } catch (error) {
    context.close().catch(() => {});
    throw error;
  }
}

function contextOptions({ contextOptions, pageOptions }: Emulation, proxyPort: number): BrowserContextOptions {
  const { locale, timezone, ...device } = contextOptions;
  const { width, height, ...media } = pageOptions;
  return {
    proxy: { server: `http://127.0.0.1:${proxyPort}`, bypass: '<-loopback>' },
    viewport: { width, height },
    ...media,
    ...device,
    locale: locale ?? undefined,
    timezoneId: timezone ?? undefined,
    acceptDownloads: false,
    // Grants no permissions, so all are denied (decisions.md, Capture semantics).
    permissions: [],
    // Service workers are allowed, since pages may wait for theirs. They use the context's proxy, and end with it.
    serviceWorkers: 'allow',
  };
}

/** Applies the page options of an emulation to an open page. */
export async function applyPageEmulation(
  session: OpenPageSession,
  pageOptions: Emulation['pageOptions'],
): Promise<void> {
  if (JSON.stringify(pageOptions) === JSON.stringify(session.pageOptions)) return;
  const { width, height, ...media } = pageOptions;
  await Promise.all([session.page.setViewportSize({ width, height }), session.page.emulateMedia(media)]);
  session.pageOptions = pageOptions;
}

/** The renderer processes of one browser. Each page has its own, since each has its own context. */
export class Renderers {
  #last: Promise<unknown> = Promise.resolve();

  /** @param browserSession a session with the browser itself */
  constructor(private readonly browserSession: Pick<CDPSession, 'send'>) {}

  /**
   * Opens a page.
   * @returns the pid of the renderer that was started for it; null if another one was started meanwhile
   */
  openPage(open: () => Promise<Page>) {
    const opened = this.#last.then(async () => {
      const before = await this.#read();
      const page = await open();
      const [pid, other] = [...(await this.#read()).keys()].filter((one) => !before.has(one) && !drawsWindows(one));
      return { page, pid: pid === undefined || other !== undefined ? null : pid };
    });
    this.#last = opened.catch(() => undefined);
    return opened;
  }

  /** The time, in ms, that a renderer has worked or waited for a processor; null if it has ended, or is unknown. */
  async busyMs(pid: number | null): Promise<number | null> {
    return pid === null ? null : (busyMs(pid) ?? (await this.#read()).get(pid) ?? null);
  }

  /** CPU time in ms by pid. */
  async #read(): Promise<Map<number, number>> {
    const { processInfo } = await this.browserSession.send('SystemInfo.getProcessInfo');
    return new Map(
      processInfo.filter(({ type }) => type === 'renderer').map(({ id, cpuTime }) => [id, cpuTime * 1_000]),
    );
  }
}
