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
  /** The same target past Playwright, where the pool can give it: for what comes by the hundred a page. */
  readonly target?: TargetSession;
  readonly captureProxy: CaptureProxy;
  /** Chromium's full version, as `156.0.8078.79`. */
  readonly chromiumVersion: string;
  /** Aborted, with a CaptureError `render_crashed` as its reason, when the page or its browser dies. */
  readonly lost: AbortSignal;
}

/** Speaks to one target straight over the browser's pipe; a message through Playwright's sessions costs several times as much. */
export interface TargetSession {
  /** Rejects when the browser refuses it, or the target is gone. */
  call(method: string, params?: object): Promise<Record<string, unknown>>;
  /** As call(), for those who have no use for the answer. */
  post(method: string, params?: object): void;
  /** All events of the target. @returns what ends the listening */
  listen(listener: (method: string, params: unknown) => void): () => void;
}
