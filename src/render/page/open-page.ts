/** A capture's page, and the state that we derive from browser events: its document, its requests and its clock. */

import type { CaptureChanges, CaptureWarning } from '../../contract/capture-data.js';
import { CaptureError } from '../../contract/capture-error.js';
import { type CaptureOptions, HTML_DOCUMENT_URL } from '../../contract/capture-request.js';
import { lowerCaseNames } from '../../contract/field-rules.js';
import { FACT_NAME_MAX_CHARS } from '../../contract/limits.js';
import { readUrl } from '../../contract/read-url.js';
import { TOLERATED_CODES } from '../../contract/request-fields.js';
import type { Deadlines } from '../deadlines.js';
import type { DebugSink, PageSession, World } from '../page-session.js';
import { RequestLog, type Sent } from './request-log.js';

/** More dialogs than any ordinary page opens. */
const DISMISSED_AT_ONCE = 50;
const THEN_AFTER_MS = 100;
const HOLDERS_MAX = 20;

/** A page session with its trackers. */
export interface OpenPage {
  readonly session: PageSession;
  readonly deadlines: Deadlines;
  readonly main: MainDocument;
  readonly network: NetworkTracker;
  readonly world: World;
  readonly tolerance: Tolerance;
  /** Whether the page's clock keeps to real time. */
  realTime: boolean;
  /** Whether the page receives `resize` when it is expanded, which makes some pages load anew. */
  reportsSize: boolean;
  /** Whether the last wait for an idle page ended with its time. */
  isOutOfTime: boolean;
  /** The document that was found to do nothing although it visibly waits, and the sign of it. */
  idle: { document: DocumentState | null; sign: string } | null;
  /** Whether the page's time passes only when its clock is run. */
  readonly held: boolean;
  readonly debug?: DebugSink | undefined;
  /** The totals of its clock. */
  readonly clock: ClockTotal;
}

/** Starts tracking a page session and dismissing its dialogs. Must be called before the navigation. */
export function openPage(
  session: PageSession,
  deadlines: Deadlines,
  { options, debug }: { options: CaptureOptions; debug?: DebugSink | undefined },
): OpenPage {
  dismissDialogs(session, { leaves: options.steps.length > 0 });
  const network = new NetworkTracker(
    session,
    options.inspectPage ? new RequestLog() : null,
    options.failIfResourcesFail !== false,
  );
  const main = new MainDocument(session, (url) => network.forgetBefore(url));
  return {
    session,
    deadlines,
    main,
    network,
    world: session.world,
    tolerance: new Tolerance(options),
    realTime: options.realTime,
    reportsSize: true,
    isOutOfTime: false,
    idle: null,
    held: options.animate !== null,
    debug,
    clock: new ClockTotal(),
  };
}

/**
 * Dismisses dialogs (decisions.md, Capture semantics). The context blocks popups, downloads, permissions and the like.
 * Dialogs beyond the first are delayed, since dismissing endless ones took two fifths of the server's thread.
 * @param options.leaves whether the question if the page may be left is answered with yes, as steps need it
 */
export function dismissDialogs(session: Pick<PageSession, 'page'>, { leaves = false } = {}): void {
  let opened = 0;
  session.page.on('dialog', (dialog) => {
    // If the page closes meanwhile, there is nothing left to dismiss.
    const answer = () => (leaves && dialog.type() === 'beforeunload' ? dialog.accept() : dialog.dismiss());
    const dismiss = () => void answer().catch(() => undefined);
    opened += 1;
    if (opened <= DISMISSED_AT_ONCE) dismiss();
    else setTimeout(dismiss, THEN_AFTER_MS).unref();
  });
}

/** Implements `tolerate` for one capture: which failures become warnings, and those tolerated so far. */
class Tolerance {
  readonly warnings: CaptureWarning[] = [];

  constructor(private readonly options: Pick<CaptureOptions, 'tolerate' | 'document'>) {}

  /**
   * Records a tolerated failure, once.
   * @throws the error if it is not tolerated
   */
  orThrow(error: unknown): void {
    if (!(error instanceof CaptureError)) throw error;
    const code = this.options.tolerate.find((one) => one === error.code);
    if (code === undefined) throw this.#withAdvice(error);
    const { message } = error;
    if (!this.warnings.some((warning) => warning.message === message)) this.warnings.push({ code, message });
  }

  /** Only some failures can be tolerated. A check that the request asked for needs no advice; a compatible API has no field `tolerate`. */
  #withAdvice(error: CaptureError): CaptureError {
    const isTolerable = TOLERATED_CODES.some((one) => one === error.code);
    const isAskedFor = error.code === 'render_incomplete' && error.details?.check !== 'blank';
    if (!isTolerable || isAskedFor || (this.options.document ?? null) !== null) return error;
    error.message += ` To capture it all the same, add ${error.code} to \`tolerate\`; STILLFRAME_TOLERATE is the default of a server.`;
    return error;
  }
}

/** The totals of a page's clock. The names are keys of the debug files. */
export type ClockRun = Omit<CaptureChanges['clock'], 'heldBy'>;

/** The sum of a page's runs, and the requests that held its clock. */
export class ClockTotal implements ClockRun {
  /** ms of the page's time that passed ahead of real time. */
  aheadMs = 0;
  realTimeMs = 0;
  /** Real ms for which requests held the clock. */
  heldMs = 0;
  /** The reason why the clock kept to real time; null if it did not. */
  realTimeBecause: string | null = null;
  readonly heldBy: PendingGroup[] = [];

  add(run: ClockRun): void {
    this.aheadMs += run.aheadMs;
    this.realTimeMs += run.realTimeMs;
    this.heldMs += run.heldMs;
    this.realTimeBecause ??= run.realTimeBecause;
  }

  addHolders(holding: readonly PendingGroup[]): void {
    for (const one of holding) {
      const known = this.heldBy.find(({ kind, host }) => kind === one.kind && host === one.host);
      if (known !== undefined) known.count = Math.max(known.count, one.count);
      else if (this.heldBy.length < HOLDERS_MAX) this.heldBy.push(one);
    }
  }
}

const NEVER = Number.POSITIVE_INFINITY;

/** The waits for a tracker's next event. */
class Waiters {
  readonly #checks = new Set<() => void>();

  notify(): void {
    for (const check of [...this.#checks]) check();
  }

  /**
   * Resolves when `waitMs` returns 0 or less, or when the signal aborts. It is called at each event, and when the returned
   * time has passed.
   */
  until(waitMs: () => number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const finish = () => {
        clearTimeout(timer);
        this.#checks.delete(check);
        signal?.removeEventListener('abort', finish);
        resolve();
      };
      const check = () => {
        clearTimeout(timer);
        const wait = waitMs();
        if (wait <= 0) finish();
        else if (wait !== NEVER) timer = setTimeout(check, Math.ceil(wait));
      };
      this.#checks.add(check);
      signal?.addEventListener('abort', finish, { once: true });
      if (signal?.aborted) finish();
      else check();
    });
  }
}

/** A document of the main frame. */
export interface DocumentState {
  /** Counts documents from 1. Same-document navigations keep the number. */
  readonly number: number;
  readonly frameId: string;
  /** The committed URL; `chrome-error:` for the browser's own error pages. */
  readonly url: string;
  /** The URL, or for a `blob:` or `data:` document, which only this page can open, that of the document that led to it. */
  readonly address: string;
  /** The type determined by Chromium. */
  readonly mimeType: string;
  /** For the browser's error page, the URL that could not be shown; else null. */
  readonly unreachableUrl: string | null;
  /** The cause of the navigation to that URL, as of a DocumentRequest. */
  readonly lead: string | null;
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

/** A request of the main frame for a document. */
interface DocumentRequest {
  url: string;
  /** The redirect or the page that led to it, as the beginning of a sentence; null if the capture itself asked for it. */
  lead: string | null;
}

/** Tracks which document the main frame shows. Runs nothing in the page, so that a hostile one cannot interfere. */
class MainDocument {
  current: DocumentState | null = null;
  /** Whether a navigation of the main frame is pending. */
  navigating = false;
  /** Whether the page has asked for a navigation of the main frame whose request has not been seen yet. */
  requested = false;
  lastResponse: MainResponse | null = null;
  /** The failure of the last request, as Chromium's `net::ERR_…`, if no document was shown for it. */
  lastFailure: (DocumentRequest & { error: string }) | null = null;
  /** The URL that the capture itself has asked for. */
  requestedUrl = '';
  readonly #waiting = new Waiters();
  /** The main frame's requests for documents that have not ended, by id. A redirect keeps the id. */
  readonly #requests = new Map<string, DocumentRequest>();
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
    cdp.on('Page.domContentEventFired', () => this.#markParsed());
    cdp.on('Page.loadEventFired', () => this.#markLoaded());
    cdp.on('Page.frameStoppedLoading', ({ frameId }) => {
      // Fired after load, or without it if loading was stopped by `window.stop()` or a link to another program.
      if (this.current?.frameId === frameId && !this.navigating) this.#markLoaded();
    });
    cdp.on('Page.frameRequestedNavigation', ({ frameId, url, disposition }) => {
      if (frameId === mainFrameId && disposition === 'currentTab' && /^https?:/.test(url)) this.requested = true;
    });
    cdp.on('Network.requestWillBeSent', ({ requestId, loaderId, frameId, type, request, redirectResponse }) => {
      if (redirectResponse !== undefined) this.#onResponse(requestId, redirectResponse);
      if (frameId === mainFrameId && requestId === loaderId && type === 'Document')
        this.#onRequest(requestId, { url: withFragment(request), redirectedBy: redirectResponse?.url });
    });
    cdp.on('Network.responseReceived', ({ requestId, response }) => this.#onResponse(requestId, response));
    cdp.on('Network.loadingFinished', ({ requestId }) => this.#requests.delete(requestId));
    cdp.on('Network.loadingFailed', ({ requestId, errorText }) =>
      this.#onFailed(requestId, errorText || 'net::ERR_FAILED'),
    );
  }

  /** Resolves once the test, called at each event, returns true. */
  until(test: () => boolean): Promise<void> {
    return this.#waiting.until(() => (test() ? 0 : NEVER));
  }

  #commit(frame: { id: string; url: string; urlFragment?: string; mimeType: string; unreachableUrl?: string }): void {
    const unreachableUrl = frame.unreachableUrl ?? null;
    const url = withFragment(frame);
    this.current = {
      number: (this.current?.number ?? 0) + 1,
      frameId: frame.id,
      url,
      address: /^(blob|data):/.test(url) ? (this.current?.address ?? url) : url,
      mimeType: frame.mimeType,
      unreachableUrl,
      lead: unreachableUrl === null ? null : (this.lastFailure?.lead ?? null),
      response: unreachableUrl === null && /^https?:/.test(frame.url) ? this.lastResponse : null,
      failure: unreachableUrl === null ? null : (this.lastFailure?.error ?? 'net::ERR_FAILED'),
      parsed: false,
      loaded: false,
    };
    this.navigating = false;
    this.requested = false;
    this.#shownId = this.#latestId;
    this.onCommit(frame.url);
    this.#waiting.notify();
  }

  #markParsed(): void {
    if (this.current !== null) this.current.parsed = true;
    this.#waiting.notify();
  }

  #markLoaded(): void {
    if (this.current !== null) this.current.loaded = true;
    this.#markParsed();
  }

  #onRequest(id: string, { url, redirectedBy }: { url: string; redirectedBy: string | undefined }): void {
    // Links to other programs (mailto:) are requests too, and never end.
    if (!/^https?:/.test(url)) return;
    const shown = this.current?.url;
    const lead =
      redirectedBy !== undefined
        ? `${placeOf(redirectedBy)} redirects`
        : shown !== undefined && url !== this.requestedUrl
          ? `The page at ${placeOf(shown)} leads`
          : null;
    this.#requests.set(id, { url, lead });
    this.#latestId = id;
    this.navigating = true;
    this.requested = false;
    this.#waiting.notify();
  }

  #onResponse(requestId: string, { status, headers }: MainResponse): void {
    if (!this.#requests.has(requestId)) return;
    this.lastResponse = { status, headers: lowerCaseNames(headers) };
  }

  #onFailed(id: string, error: string): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    this.#requests.delete(id);
    const aborted = error === 'net::ERR_ABORTED';
    // The previous document is reported as aborted after the navigation that it started has failed.
    if (!aborted || id !== this.#shownId) this.lastFailure = { ...request, error };
    if (id === this.#shownId) {
      // After an interruption of the body, neither DOMContentLoaded nor load fires. An abort is caused by the page itself.
      if (this.current !== null && !aborted) this.current.failure ??= error;
    } else if (id === this.#latestId && aborted) {
      // A download or a 204 keeps the old document. After any other failure, the browser's error page follows.
      this.navigating = false;
    }
    this.#waiting.notify();
  }
}

const PLACE_MAX_CHARS = 200;

/** A URL for messages: without its query and fragment, which may hold secrets. */
export function placeOf(url: string): string {
  const [place = '', ...rest] = url.slice(0, PLACE_MAX_CHARS).split(/[?#]/, 2);
  return rest.length > 0 || url.length > PLACE_MAX_CHARS ? `${place}…` : place;
}

/** The protocol reports the fragment of a URL separately. */
function withFragment({ url, urlFragment = '' }: { url: string; urlFragment?: string }): string {
  return url + urlFragment;
}

/** Kinds that are ignored: streams stay open as long as the page, media loads as it plays, and reports only send data. */
const IGNORED = new Set([
  'eventsource',
  'websocket',
  'media',
  'signedexchange',
  'ping',
  'beacon',
  'cspviolationreport',
]);
/** Kinds whose late responses change nothing visible. They are not waited for once they hang. */
const PIXELS = new Set(['image', 'prefetch', 'manifest', 'texttrack', 'other']);
/** Kinds that delay a page's load event. */
const LOAD_BLOCKERS = new Set(['document', 'frame', 'stylesheet', 'script', 'image', 'font']);
/** Kinds without which a page looks different. */
const RESOURCES = new Set(['image', 'stylesheet', 'script', 'font']);
/** Failures by a rule: ours, the caller's, or the page's own policy. */
const NO_FAILURES = new Set(['inspector', 'csp', 'net::ERR_BLOCKED_BY_CLIENT', 'net::ERR_ABORTED']);
const FAILED_MAX = 1_000;
/** An image that is requested more often, as by an `onerror` that sets the address that has failed, is not waited for. */
const REPEATS_MAX = 30;
/** Kinds requested by the page's scripts. */
const SCRIPTED = new Set(['fetch', 'xhr']);
const REFUSALS = new Set([401, 403]);
const PIXEL_HANGS_AFTER_MS = 1_500;
/** A fetch that still runs this long after its response headers is a stream. */
const STREAM_AFTER_MS = 2_000;
/** A fetch without a response for this long is a long poll, or too slow to wait for on a page that shows its content. */
export const LONG_POLL_AFTER_MS = 1_000;
/** The longest wait for fonts alone. A font that never loads delays a capture, but never fails it (decisions.md). */
export const FONTS_BUDGET_MS = 3_000;
/** The network is idle after this long without activity. */
export const QUIET_MS = 250;
/** The longest time for which a request without a response holds the page's clock. */
const HOLDS_CLOCK_MS = 5_000;
/** If a path is requested again after the clock has run this far ahead, in ms, the script counts as polling. */
const POLLS_AFTER_MS = 100;
const PATHS_MAX = 500;
/** The greatest number of requests in flight of Puppeteer's `networkidle2`. */
const CROWD_MIN = 2;

/** The used parts of Network.requestWillBeSent. */
interface RequestSent extends Sent {
  frameId?: string;
  type?: string;
  request: { url: string; urlFragment?: string; method: string };
}

/** A request in flight. */
export interface PendingRequest {
  /** The protocol's resource type in lower case; `frame` for a frame's document. */
  kind: string;
  url: string;
  /** By `performance.now`. */
  startedAt: number;
  /** Whether its response headers have arrived. */
  answered: boolean;
}

export interface FailedRequest extends PendingRequest {
  /** A status, or the browser's error. */
  reason: number | string;
}

export interface PendingGroup {
  kind: string;
  host: string;
  count: number;
}

/** Tracks a page's requests in flight by events. Must be created before the navigation starts. */
export class NetworkTracker {
  /** Requests in flight by request id, which a redirect keeps. */
  readonly #inFlight = new Map<string, PendingRequest>();
  readonly #waiting = new Waiters();
  #lastActivityAt = performance.now();
  /** When more requests than `networkidle2` allows were last in flight. */
  #crowdedAt = performance.now();
  /** The latest request, ended or not. */
  newest: PendingRequest | null = null;
  /** Open sockets and streams, by request id. */
  readonly #openStreams = new Set<string>();
  /** The time by which the page's clock had run ahead when scripts first requested each path. */
  readonly #asked = new Map<string, number>();
  #polls = false;
  readonly #failed = new Map<string, FailedRequest>();
  /** How often images have been requested, by URL. */
  readonly #images = new Map<string, number>();
  /** Whether the page requests an image again and again. */
  #isRepeating = false;
  /** Requests of ignored kinds, while their failures are noted. */
  readonly #aside = new Map<string, PendingRequest>();
  /** The time by which the page's clock has run ahead, in ms. */
  clockMs = 0;
  /** Whether a script's request has ended since this was last set to false. */
  hasAnswered = false;
  /** Whether a script's request was refused after the clock ran ahead, possibly because its time is in the future. */
  refusedAhead = false;

  /**
   * @param log receives what the requests come to; null if nothing asks for it
   * @param strict whether failures of all kinds are noted, not only of those without which a page looks different
   */
  constructor(
    { cdp, mainFrameId }: Pick<PageSession, 'cdp' | 'mainFrameId'>,
    readonly log: RequestLog | null = null,
    private readonly strict = false,
  ) {
    cdp.on('Network.requestWillBeSent', (event) => this.#start(event, event.frameId === mainFrameId));
    cdp.on('Network.responseReceived', ({ requestId, response }) => this.#onResponse(requestId, response));
    cdp.on('Network.loadingFinished', (event) => {
      log?.finished(event);
      this.#end(event.requestId);
    });
    cdp.on('Network.loadingFailed', (event) => {
      log?.failed(event);
      const { requestId, errorText, canceled, blockedReason = '' } = event;
      if (canceled !== true && !NO_FAILURES.has(blockedReason) && !NO_FAILURES.has(errorText))
        this.#noteFailure(requestId, (errorText || blockedReason || 'net::ERR_FAILED').slice(0, FACT_NAME_MAX_CHARS));
      this.#end(event.requestId);
    });
    cdp.on('Network.webSocketCreated', ({ requestId }) => this.#openStreams.add(requestId));
    cdp.on('Network.webSocketClosed', ({ requestId }) => this.#openStreams.delete(requestId));
  }

  /** The reason why the page's clock must keep to real time, because the page communicates with a server; else null. */
  realTimeReason(): 'socket' | 'stream' | 'polling' | null {
    if (this.#openStreams.size > 0) return 'socket';
    const streamsSince = performance.now() - STREAM_AFTER_MS;
    const isStream = ({ kind, answered, startedAt }: PendingRequest) =>
      SCRIPTED.has(kind) && answered && startedAt < streamsSince;
    if (this.pending().some(isStream)) return 'stream';
    return this.#polls ? 'polling' : null;
  }

  /** Requests in flight, oldest first. */
  pending(): PendingRequest[] {
    return [...this.#inFlight.values()];
  }

  /** Whether a request in flight holds the page's clock. */
  isHolding(): boolean {
    return this.#countsMs(HOLDS_CLOCK_MS, HOLDS_CLOCK_MS) > 0;
  }

  /** Resolves when no request in flight holds the page's clock, or when `signal` aborts. */
  answered(signal: AbortSignal): Promise<void> {
    return this.#waiting.until(() => this.#countsMs(HOLDS_CLOCK_MS, HOLDS_CLOCK_MS), signal);
  }

  /** The number of requests in flight that began at `since` or later, in ms by `performance.now`. */
  loading(since: number): number {
    return this.pending().filter(({ startedAt }) => startedAt >= since).length;
  }

  /** Resolves when there are no such requests, or when `signal` aborts. */
  loaded(since: number, signal: AbortSignal): Promise<void> {
    return this.#waiting.until(() => (this.loading(since) > 0 ? NEVER : 0), signal);
  }

  /** Resolves once none of these URLs is in flight, or when `signal` aborts. */
  urlsEnded(urls: readonly string[], signal: AbortSignal): Promise<void> {
    return this.#waiting.until(() => (this.pending().some(({ url }) => urls.includes(url)) ? NEVER : 0), signal);
  }

  /**
   * Whether no request that counts is in flight.
   * @param pollsAfterMs a fetch without a response for this long does not count
   */
  isIdle(pollsAfterMs = NEVER): boolean {
    return this.#countsMs(pollsAfterMs, NEVER) === 0;
  }

  /**
   * Resolves when nothing that counts, but for `inFlightMax` requests, has been in flight for `ms` since the last activity, which
   * may be long past, or when `signal` aborts.
   */
  quiet(ms: number, signal: AbortSignal, inFlightMax = 0): Promise<void> {
    const since = () => (inFlightMax === 0 ? this.#lastActivityAt : this.#crowdedAt);
    return this.#waiting.until(
      () => Math.max(since() + ms - performance.now(), this.#countsMs(NEVER, NEVER, inFlightMax)),
      signal,
    );
  }

  /**
   * Resolves once nothing delays the page's load event but fonts that have exceeded their budget, and images that are requested again
   * and again. Never resolves if nothing delays it.
   */
  onlyFutileHoldLoad(signal: AbortSignal): Promise<void> {
    return this.#waiting.until(() => {
      const holding = this.pending().filter(({ kind }) => LOAD_BLOCKERS.has(kind));
      if (holding.length === 0) return this.#isRepeating ? 0 : NEVER;
      if (holding.some(({ kind }) => kind !== 'font')) return NEVER;
      return Math.max(...holding.map(({ startedAt }) => startedAt + FONTS_BUDGET_MS - performance.now()));
    }, signal);
  }

  /** The document's images, styles, scripts and fonts that could not be loaded, except those that a rule blocks. */
  failedResources(): PendingGroup[] {
    // Files that a document of the request lacks have a warning of their own.
    const isResource = ({ kind, url }: FailedRequest) => RESOURCES.has(kind) && !url.startsWith(HTML_DOCUMENT_URL);
    return groupPending(this.failures().filter(isResource));
  }

  /** Failed requests of the document, except its own and those that a rule blocks. */
  failures(): FailedRequest[] {
    return [...this.#failed.values()];
  }

  #noteFailure(requestId: string, reason: number | string): void {
    const flight = this.#inFlight.get(requestId) ?? this.#aside.get(requestId);
    if (flight === undefined || flight.kind === 'document' || (!this.strict && !RESOURCES.has(flight.kind))) return;
    if (this.#failed.size < FAILED_MAX) this.#failed.set(requestId, { ...flight, reason });
  }

  /** Drops the state of an earlier document, since Chromium 156 does not report the end of all requests that it cancels. */
  forgetBefore(documentUrl: string): void {
    this.#openStreams.clear();
    this.#asked.clear();
    this.#polls = false;
    this.#failed.clear();
    this.#images.clear();
    this.#isRepeating = false;
    this.log?.documentCommitted();
    const own = this.pending().findLast(({ kind, url }) => kind === 'document' && url.split('#', 1)[0] === documentUrl);
    if (own === undefined) return;
    for (const [id, { startedAt }] of this.#inFlight) if (startedAt < own.startedAt) this.#inFlight.delete(id);
    this.#waiting.notify();
  }

  #start(event: RequestSent, inMainFrame: boolean): void {
    const { requestId, type = 'Other', request } = event;
    const kind = type === 'Document' && !inMainFrame ? 'frame' : type.toLowerCase();
    this.log?.sent(event, kind);
    if (kind === 'eventsource') this.#openStreams.add(requestId);
    if (SCRIPTED.has(kind)) this.#count(`${request.method} ${request.url.split(/[?#]/, 1)[0]}`);
    if (/^(data|blob|about):/.test(request.url)) return;
    const sent = { kind, url: withFragment(request), startedAt: performance.now(), answered: false };
    if (IGNORED.has(kind)) {
      if (this.strict && this.#aside.size < FAILED_MAX) this.#aside.set(requestId, sent);
      return;
    }
    if (kind === 'image' && this.#isRepeated(sent.url)) {
      this.#isRepeating = true;
      this.#waiting.notify();
      return;
    }
    this.newest = sent;
    // A redirect continues as a new request, after the others.
    this.#inFlight.delete(requestId);
    this.#inFlight.set(requestId, this.newest);
    if (this.#inFlight.size > CROWD_MIN) this.#crowdedAt = performance.now();
    this.#touch();
  }

  #isRepeated(url: string): boolean {
    const times = (this.#images.get(url) ?? 0) + 1;
    if (times > 1 || this.#images.size < PATHS_MAX) this.#images.set(url, times);
    return times > REPEATS_MAX;
  }

  #onResponse(requestId: string, { mimeType, status }: { mimeType: string; status: number }): void {
    this.log?.responded(requestId, { status });
    if (status >= 400) this.#noteFailure(requestId, status);
    const flight = this.#inFlight.get(requestId);
    if (flight === undefined) return;
    if (this.clockMs > 0 && SCRIPTED.has(flight.kind) && REFUSALS.has(status)) this.refusedAhead = true;
    flight.answered = true;
    if (!/^text\/event-stream/i.test(mimeType)) return;
    this.#end(requestId);
    this.#openStreams.add(requestId);
  }

  #count(path: string): void {
    const before = this.#asked.get(path);
    if (before !== undefined && this.clockMs - before >= POLLS_AFTER_MS) this.#polls = true;
    if (before === undefined && this.#asked.size < PATHS_MAX) this.#asked.set(path, this.clockMs);
  }

  #end(requestId: string): void {
    this.#openStreams.delete(requestId);
    this.#aside.delete(requestId);
    if (SCRIPTED.has(this.#inFlight.get(requestId)?.kind ?? '')) this.hasAnswered = true;
    const isCrowded = this.#inFlight.size > CROWD_MIN;
    if (!this.#inFlight.delete(requestId)) return;
    if (isCrowded) this.#crowdedAt = performance.now();
    this.#touch();
  }

  #touch(): void {
    this.#lastActivityAt = performance.now();
    this.#waiting.notify();
  }

  /** ms until at most `inFlightMax` requests in flight count, by their age; 0 if no more count. There may be very many of them. */
  #countsMs(unansweredFetchMs: number, othersMs: number, inFlightMax = 0): number {
    const limitMs = ({ kind, answered }: PendingRequest): number => {
      if (PIXELS.has(kind)) return PIXEL_HANGS_AFTER_MS;
      if (kind === 'font') return FONTS_BUDGET_MS;
      if (SCRIPTED.has(kind)) return answered ? STREAM_AFTER_MS : unansweredFetchMs;
      return othersMs;
    };
    const longest = new Array<number>(inFlightMax + 1).fill(0);
    const now = performance.now();
    for (const flight of this.#inFlight.values()) {
      const leftMs = flight.startedAt + limitMs(flight) - now;
      if (leftMs <= (longest[inFlightMax] ?? 0)) continue;
      longest[inFlightMax] = leftMs;
      longest.sort((one, other) => other - one);
    }
    return longest[inFlightMax] ?? 0;
  }
}

/** Requests in flight by type and host, most frequent first. Only hosts are reported, since paths may contain secrets. */
export function groupPending(pending: readonly PendingRequest[]): PendingGroup[] {
  const groups = new Map<string, PendingGroup>();
  for (const { kind, url } of pending) {
    const host = readUrl(url)?.host ?? '';
    const group = groups.get(`${kind} ${host}`) ?? { kind, host, count: 0 };
    group.count += 1;
    groups.set(`${kind} ${host}`, group);
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}
