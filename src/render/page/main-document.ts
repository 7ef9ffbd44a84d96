import { lowerCaseNames } from '../../contract/field-rules.js';
import type { PageSession } from '../page-session.js';

/** A document of the main frame. */
export interface DocumentState {
  /** Counts documents from 1. Same-document navigations keep the number. */
  readonly number: number;
  readonly frameId: string;
  /** The committed URL; `chrome-error:` for the browser's own error pages. */
  readonly url: string;
  /** The type determined by Chromium. */
  readonly mimeType: string;
  /** For the browser's error page, the URL that could not be shown; else null. */
  readonly unreachableUrl: string | null;
  readonly response: MainResponse | null;
  /** Chromium's `net::ERR_…` of an interrupted body, or of the failure that this error page reports. */
  failure: string | null;
  /** Whether DOMContentLoaded has fired. */
  parsed: boolean;
  /** Whether load has fired. */
  loaded: boolean;
}

interface MainResponse {
  status: number;
  /** Headers by lower-case name. */
  headers: Record<string, string>;
}

/** Tracks which document the main frame shows. Runs nothing in the page, so that a hostile one cannot interfere. */
export class MainDocument {
  current: DocumentState | null = null;
  /** Whether a navigation of the main frame is pending. */
  navigating = false;
  /** Whether the page has asked for a navigation of the main frame whose request has not been seen yet. */
  requested = false;
  lastResponse: MainResponse | null = null;
  /** The failure of the last request, as Chromium's `net::ERR_…`, if no document was shown for it. */
  lastFailure: { url: string; error: string } | null = null;
  readonly #waiting = new Set<() => void>();
  /** The URLs of the main frame's requests for documents that have not ended, by id. A redirect keeps the id. */
  readonly #requests = new Map<string, string>();
  #latestId = '';
  #shownId = '';

  /** Starts listening on the page session's CDP session, whose domains are enabled. */
  constructor(
    { cdp, mainFrameId }: Pick<PageSession, 'cdp' | 'mainFrameId'>,
    private readonly onCommit: (url: string) => void,
  ) {
    cdp.on('Page.frameNavigated', ({ frame }) => {
      if (frame.parentId === undefined) this.#commit(frame);
    });
    cdp.on('Page.domContentEventFired', () => this.#mark({ parsed: true }));
    cdp.on('Page.loadEventFired', () => this.#mark({ parsed: true, loaded: true }));
    cdp.on('Page.frameStoppedLoading', ({ frameId }) => {
      // Fired after load, or without it if loading was stopped by `window.stop()` or a link to another program.
      if (this.current?.frameId === frameId && !this.navigating) this.#mark({ parsed: true, loaded: true });
    });
    cdp.on('Page.frameRequestedNavigation', ({ frameId, url, disposition }) => {
      if (frameId === mainFrameId && disposition === 'currentTab' && /^https?:/.test(url)) this.requested = true;
    });
    cdp.on('Network.requestWillBeSent', ({ requestId, loaderId, frameId, type, request, redirectResponse }) => {
      if (redirectResponse !== undefined) this.#onResponse(requestId, redirectResponse);
      if (frameId === mainFrameId && requestId === loaderId && type === 'Document') this.#onRequest(requestId, withFragment(request));
    });
    cdp.on('Network.responseReceived', ({ requestId, response }) => this.#onResponse(requestId, response));
    cdp.on('Network.loadingFinished', ({ requestId }) => this.#requests.delete(requestId));
    cdp.on('Network.loadingFailed', ({ requestId, errorText }) => this.#onFailed(requestId, errorText || 'net::ERR_FAILED'));
  }

  /** Resolves once the test, called at each event, returns true. */
  until(test: () => boolean): Promise<void> {
    if (test()) return Promise.resolve();
    return new Promise((resolve) => {
      const check = () => {
        if (!test()) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
    });
  }

  #commit(frame: { id: string; url: string; urlFragment?: string; mimeType: string; unreachableUrl?: string }): void {
    const unreachableUrl = frame.unreachableUrl ?? null;
    this.current = {
      number: (this.current?.number ?? 0) + 1,
      frameId: frame.id,
      url: withFragment(frame),
      mimeType: frame.mimeType,
      unreachableUrl,
      response: unreachableUrl === null && /^https?:/.test(frame.url) ? this.lastResponse : null,
      failure: unreachableUrl === null ? null : (this.lastFailure?.error ?? 'net::ERR_FAILED'),
      parsed: false,
      loaded: false,
    };
    this.navigating = false;
    this.requested = false;
    this.#shownId = this.#latestId;
    this.onCommit(frame.url);
    this.#notify();
  }

  #mark(change: Partial<Pick<DocumentState, 'parsed' | 'loaded'>>): void {
    if (this.current !== null) Object.assign(this.current, change);
    this.#notify();
  }

  #onRequest(id: string, url: string): void {
    // Links to other programs (mailto:) are requests too, and never end.
    if (!/^https?:/.test(url)) return;
    this.#requests.set(id, url);
    this.#latestId = id;
    this.navigating = true;
    this.requested = false;
    this.#notify();
  }

  #onResponse(requestId: string, { status, headers }: MainResponse): void {
    if (!this.#requests.has(requestId)) return;
    this.lastResponse = { status, headers: lowerCaseNames(headers) };
  }

  #onFailed(id: string, error: string): void {
    const url = this.#requests.get(id);
    if (url === undefined) return;
    this.#requests.delete(id);
    const aborted = error === 'net::ERR_ABORTED';
    // The previous document is reported as aborted after the navigation that it started has failed.
    if (!aborted || id !== this.#shownId) this.lastFailure = { url, error };
    if (id === this.#shownId) {
      // After an interruption of the body, neither DOMContentLoaded nor load fires. An abort is caused by the page itself.
      if (this.current !== null && !aborted) this.current.failure ??= error;
    } else if (id === this.#latestId && aborted) {
      // A download or a 204 keeps the old document. After any other failure, the browser's error page follows.
      this.navigating = false;
    }
    this.#notify();
  }

  #notify(): void {
    for (const check of [...this.#waiting]) check();
  }
}

/** The protocol reports the fragment of a URL separately. */
export function withFragment({ url, urlFragment = '' }: { url: string; urlFragment?: string }): string {
  return url + urlFragment;
}
