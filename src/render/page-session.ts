import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import type { CaptureProxy } from '../egress/egress.js';
import type { World } from './page/world.js';

/** One capture's page, in a context of its own that nothing has used before, behind a proxy of its own. */
export interface PageSession {
  readonly context: BrowserContext;
  readonly page: Page;
  /** A session on the page's own target. */
  readonly cdp: CDPSession;
  /** Our in-page program in the page's documents. */
  readonly world: World;
  readonly captureProxy: CaptureProxy;
  /** Chromium's full version, as `156.0.8078.79`. */
  readonly chromiumVersion: string;
  /** Aborted, with a CaptureError `render_crashed` as its reason, when the page or its browser dies. */
  readonly lost: AbortSignal;
}
