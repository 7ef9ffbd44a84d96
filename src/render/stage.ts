import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import type { Door } from '../egress/egress.js';

/** One capture's page, in a context of its own that nothing has used before, behind a door of its own. */
export interface Stage {
  readonly context: BrowserContext;
  readonly page: Page;
  /** A session on the page's own target. */
  readonly cdp: CDPSession;
  readonly door: Door;
  /** Chromium's full version, as `156.0.8078.79`. */
  readonly chromiumVersion: string;
  /** Aborted, with a CaptureError `render_crashed` as its reason, when the page or its browser dies. */
  readonly lost: AbortSignal;
}
