import type { Page, Request, Response } from 'playwright-core';
import type { PageSession } from '../page-session.js';

/** A document of the main frame. */
export interface DocumentState {
  /** Counts documents from 1; same-document navigations keep it. */
  readonly number: number;
  readonly frameId: string;
  /** The committed URL; `chrome-error:` for the browser's own error pages. */
  readonly url: string;
  /** The type that Chromium has determined. */
  readonly mimeType: string;
  /** The URL that could not be shown, if this is the browser's error page. */
  readonly unreachableUrl: string | null;
  readonly response: MainResponse | null;
  /** Chromium's `net::ERR_…` of an interrupted body, or of the failure that this error page stands for. */
  failure: string | null;
  /** DOMContentLoaded has fired. */
  parsed: boolean;
  /** load has fired. */
  loaded: boolean;
}

export interface MainResponse {
  url: string;
  status: number;
  /** Lower-case names. */
  headers: Record<string, string>;
}

/** The failure of the main frame's last request, if no document was shown for it. */
export interface MainFailure {
  url: string;
  /** Chromium's name, such as `net::ERR_CONNECTION_REFUSED`. */
  error: string;
}

/** Tracks which document the main frame shows. Runs nothing in the page, so that a hostile one cannot interfere. */
export class MainDocument {
  current: DocumentState | null = null;
  /** Whether a navigation of the main frame is pending. */
  navigating = false;
  lastResponse: MainResponse | null = null;
  lastFailure: MainFailure | null = null;
  readonly #page: Page;
  readonly #waiting = new Set<() => void>();
  #request: Request | null = null;
  #shownRequest: Request | null = null;

  readonly #onCommit: (url: string) => void;

  private constructor(page: Page, onCommit: (url: string) => void) {
    this.#page = page;
    this.#onCommit = onCommit;
  }

  /** Starts listening on the page session's CDP session. */
  static async watch(session: Pick<PageSession, 'page' | 'cdp'>, onCommit: (url: string) => void): Promise<MainDocument> {
    const main = new MainDocument(session.page, onCommit);
    session.cdp.on('Page.frameNavigated', ({ frame }) => {
      if (frame.parentId === undefined) main.#commit(frame);
    });
    session.cdp.on('Page.domContentEventFired', () => main.#mark({ parsed: true }));
    session.cdp.on('Page.loadEventFired', () => main.#mark({ parsed: true, loaded: true }));
    session.cdp.on('Page.frameStoppedLoading', ({ frameId }) => main.#stop(frameId));
    session.page.on('request', (request) => main.#onRequest(request));
    session.page.on('response', (response) => main.#onResponse(response));
    session.page.on('requestfailed', (request) => main.#onFailed(request));
    await session.cdp.send('Page.enable');
    return main;
  }

  /** Resolves once the test returns true; it is called at each event. */
  until(test: () => boolean): Promise<void> {
    if (test()) return Promise.resolve();
    return new Promise((resolve) => {
      const ask = () => {
        if (!test()) return;
        this.#waiting.delete(ask);
        resolve();
      };
      this.#waiting.add(ask);
    });
  }

  #commit(frame: { id: string; url: string; urlFragment?: string; mimeType: string; unreachableUrl?: string }): void {
    const unreachableUrl = frame.unreachableUrl ?? null;
    this.current = {
      number: (this.current?.number ?? 0) + 1,
      frameId: frame.id,
      url: frame.url + (frame.urlFragment ?? ''),
      mimeType: frame.mimeType,
      unreachableUrl,
      response: unreachableUrl === null && /^https?:/.test(frame.url) ? this.lastResponse : null,
      failure: unreachableUrl === null ? null : (this.lastFailure?.error ?? 'net::ERR_FAILED'),
      parsed: false,
      loaded: false,
    };
    this.navigating = false;
    this.#shownRequest = this.#request;
    this.#onCommit(frame.url);
    this.#tell();
  }

  #mark(change: Partial<Pick<DocumentState, 'parsed' | 'loaded'>>): void {
    if (this.current !== null) Object.assign(this.current, change);
    this.#tell();
  }

  /** Fired after load, or without it if loading was stopped by `window.stop()` or a link to another program. */
  #stop(frameId: string): void {
    if (this.current?.frameId === frameId && !this.navigating) this.#mark({ parsed: true, loaded: true });
  }

  #onRequest(request: Request): void {
    // Links to other programs (mailto:) are requests too, and never end.
    if (!this.#isMain(request) || !/^https?:/.test(request.url())) return;
    this.#request = request;
    this.navigating = true;
    this.#tell();
  }

  #onResponse(response: Response): void {
    if (!this.#isMain(response.request())) return;
    this.lastResponse = { url: response.url(), status: response.status(), headers: response.headers() };
  }

  #onFailed(request: Request): void {
    if (!this.#isMain(request)) return;
    const error = request.failure()?.errorText ?? 'net::ERR_FAILED';
    const aborted = error === 'net::ERR_ABORTED';
    // The previous document is reported as aborted after the navigation that it started has failed.
    if (!aborted || request !== this.#shownRequest) this.lastFailure = { url: request.url(), error };
    if (request === this.#shownRequest) {
      // A body that is interrupted after the commit fires neither DOMContentLoaded nor load. An abort is caused by the page itself.
      if (this.current !== null && !aborted) this.current.failure ??= error;
    } else if (request === this.#request && aborted) {
      // A download or a 204 keeps the old document. After any other failure the browser's error page follows.
      this.navigating = false;
    }
    this.#tell();
  }

  #isMain(request: Request): boolean {
    if (!request.isNavigationRequest()) return false;
    try {
      return request.frame() === this.#page.mainFrame();
    } catch {
      // Playwright throws for the frame of a page that is not ready yet, such as a popup.
      return false;
    }
  }

  #tell(): void {
    for (const ask of [...this.#waiting]) ask();
  }
}
