import type { BrowserContext, Page } from 'playwright-core';
import type { CaptureProxy } from '../egress/egress.js';
import type { CdpSession } from './launch/pipe-session.js';
import type { World } from './page/world.js';

/** One capture's page, in a new browser context with its own proxy. */
export interface PageSession {
  readonly context: BrowserContext;
  readonly page: Page;
  /** A session on the page's own target. It also receives the events of the Network domain of the page, its frames and its workers. */
  readonly cdp: CdpSession;
  readonly mainFrameId: string;
  /** The in-page program in the page's documents. */
  readonly world: World;
  /** The name of the event that asks the page's clock to run ahead; null if the page has its own clock. */
  readonly clockEvent: string | null;
  /** ms for which the page's renderer has worked so far, or has waited for a processor; null if that is not known. */
  busyMs(): Promise<number | null>;
  readonly captureProxy: CaptureProxy;
  /** Chromium's full version, as `156.0.8078.79`. */
  readonly chromiumVersion: string;
  /** For large files of the capture. May not exist yet. */
  readonly temporaryDir: string;
  /** Aborted, with a CaptureError `render_crashed` as its reason, when the page or its browser crashes. */
  readonly lost: AbortSignal;
}

/** The cause of a `render_crashed` for which another capture of the same browser may have been the reason. */
export class SharedLoss extends Error {}
