import type { BrowserContext, Page } from 'playwright-core';
import { CaptureError } from '../contract/capture-error.js';
import type { CaptureProxy } from '../egress/egress.js';
import type { CdpSession } from './launch/pipe-session.js';
import type { World } from './page/world.js';

/** One capture's page, in a new browser context with its own proxy. */
export interface PageSession {
  readonly context: BrowserContext;
  readonly page: Page;
  /** A session on the page's target, which also receives the Network events of its frames and workers. */
  readonly cdp: CdpSession;
  readonly mainFrameId: string;
  /** Runs the in-page program in the page's documents. */
  readonly world: World;
  /** The name of the event that makes the page's clock run ahead; null if the page keeps its own clock. */
  readonly clockEvent: string | null;
  /** The time, in ms, that the page's renderer has worked or waited for a processor; null if unknown. */
  busyMs(): Promise<number | null>;
  readonly captureProxy: CaptureProxy;
  /** Chromium's full version, for instance `156.0.8078.79`. */
  readonly chromiumVersion: string;
  /** A directory for the capture's large files, which may not exist yet. */
  readonly temporaryDir: string;
  /** Aborted when the page or its browser crashes, with a CaptureError `render_crashed` as its reason. */
  readonly lost: AbortSignal;
}

/** The used parts of `Page.getFrameTree`. */
export interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

/** Receives the steps and pictures of one capture, for `stillframe capture --debug`. */
export interface DebugSink {
  /** Records one step of the timeline, as plain data. */
  note(entry: Record<string, unknown>): void;
  /** Records one band of a picture, or one view at its own scroll position, as a PNG. */
  picture(png: Uint8Array): void;
}

/** The cause of a `render_crashed` that another capture in the same browser may have caused. */
export class SharedLoss extends Error {}

/** The error for a capture that did not get a browser. */
export class NoBrowser extends CaptureError {
  /** @param cause why the wait ended */
  constructor(cause: unknown) {
    super({ code: 'internal_error', status: 503, message: 'No browser was free in time. The capture can be tried again.', cause });
  }
}
