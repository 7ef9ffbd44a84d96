import type { PageSession } from '../page-session.js';
import { withFragment } from './main-document.js';

/** Kinds that are ignored: streams stay open as long as the page, and media loads as it plays. */
const STREAMS = new Set(['eventsource', 'websocket', 'media', 'signedexchange']);
/** Kinds whose late responses change nothing visible. They are not waited for once they hang. */
const PIXELS = new Set(['image', 'ping', 'beacon', 'cspviolationreport', 'prefetch', 'manifest', 'texttrack', 'other']);
/** Kinds that delay a page's load event. */
const LOAD_BLOCKERS = new Set(['document', 'stylesheet', 'script', 'image', 'font']);
/** Kinds that only send data to a server. */
const REPORTS = new Set(['ping', 'beacon', 'cspviolationreport']);
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

/** The used parts of Network.requestWillBeSent. */
interface RequestSent {
  requestId: string;
  frameId?: string;
  type?: string;
  request: { url: string; urlFragment?: string; method: string };
}

interface Flight {
  kind: string;
  url: string;
  startedAt: number;
  answered: boolean;
  frame: boolean;
}

export interface PendingRequest {
  /** The protocol's resource type in lower case; `frame` for a frame's document. */
  kind: string;
  url: string;
  ageMs: number;
  /** Whether its response headers have arrived. */
  answered: boolean;
}

/** Tracks a page's requests in flight by events. Must be created before the navigation starts. */
export class NetworkTracker {
  /** Requests in flight by request id, which a redirect keeps. */
  readonly #flights = new Map<string, Flight>();
  readonly #mainFrameId: string;
  readonly #waiting = new Set<() => void>();
  #lastActivityAt = performance.now();
  #newest: Flight | null = null;
  /** Open sockets and streams, by request id. */
  readonly #talks = new Set<string>();
  /** How far the page's clock had run ahead when scripts first requested each path. */
  readonly #asked = new Map<string, number>();
  #polls = false;
  #imageAt = Number.NEGATIVE_INFINITY;
  /** How far the page's clock has run ahead, in ms. */
  clockMs = 0;
  /** Whether a script's request was refused after the clock ran ahead, possibly because its time is in the future. */
  refusedAhead = false;

  constructor({ cdp, mainFrameId }: Pick<PageSession, 'cdp' | 'mainFrameId'>) {
    this.#mainFrameId = mainFrameId;
    cdp.on('Network.requestWillBeSent', (event) => this.#start(event));
    cdp.on('Network.responseReceived', ({ requestId, response }) => this.#onResponse(requestId, response));
    cdp.on('Network.loadingFinished', ({ requestId }) => this.#end(requestId));
    cdp.on('Network.loadingFailed', ({ requestId }) => this.#end(requestId));
    cdp.on('Network.webSocketCreated', ({ requestId }) => this.#talks.add(requestId));
    cdp.on('Network.webSocketClosed', ({ requestId }) => this.#talks.delete(requestId));
  }

  /** The reason why the page's clock must keep to real time, because the page communicates with a server; else null. */
  realTimeReason(): 'socket' | 'stream' | 'polling' | null {
    if (this.#talks.size > 0) return 'socket';
    const isStream = ({ kind, answered, startedAt }: Flight) =>
      SCRIPTED.has(kind) && answered && performance.now() - startedAt > STREAM_AFTER_MS;
    if ([...this.#flights.values()].some(isStream)) return 'stream';
    return this.#polls ? 'polling' : null;
  }

  /** Resolves when no request in flight holds the page's clock, or when `signal` aborts. */
  answered(signal: AbortSignal): Promise<void> {
    return this.#wake(signal, (now) => this.#holdsMs(now));
  }

  /** Whether a request in flight holds the page's clock. */
  isHolding(): boolean {
    return this.#holdsMs(performance.now()) > 0;
  }

  #holdsMs(now: number): number {
    return this.#longest((flight) => holdsUntil(flight) - now);
  }

  /** Requests in flight, oldest first, without streams and hung requests. */
  pending(): PendingRequest[] {
    return [...this.#flights.values()].map(asPending);
  }

  /** The latest request, ended or not. */
  newest(): PendingRequest | null {
    return this.#newest === null ? null : asPending(this.#newest);
  }

  /** The number of requests for content in flight that began at `since` or later, in ms by `performance.now`. */
  loading(since: number): number {
    return [...this.#flights.values()].filter(({ kind, startedAt }) => startedAt >= since && !REPORTS.has(kind)).length;
  }

  /** Resolves when there are no such requests, or when `signal` aborts. */
  loaded(since: number, signal: AbortSignal): Promise<void> {
    return this.#wake(signal, () => (this.loading(since) > 0 ? Number.POSITIVE_INFINITY : 0));
  }

  /**
   * Whether no request that counts is in flight.
   * @param pollsAfterMs a fetch without a response for this long does not count
   */
  isIdle(pollsAfterMs = Number.POSITIVE_INFINITY): boolean {
    return this.#countsUntil(performance.now(), pollsAfterMs) === 0;
  }

  /** Resolves once none of these URLs is in flight, or when `signal` aborts. */
  urlsEnded(urls: readonly string[], signal: AbortSignal): Promise<void> {
    return this.#wake(signal, () => ([...this.#flights.values()].some(({ url }) => urls.includes(url)) ? Number.POSITIVE_INFINITY : 0));
  }

  /** Drops the state of an earlier document, since Chromium does not report the end of all requests that it cancels. */
  forgetBefore(url: string): void {
    this.#talks.clear();
    this.#asked.clear();
    this.#polls = false;
    const flights = [...this.#flights.values()];
    const own = flights.findLast(({ kind, frame, url: asked }) => kind === 'document' && !frame && withoutFragment(asked) === url);
    if (own === undefined) return;
    for (const [id, { startedAt }] of this.#flights) if (startedAt < own.startedAt) this.#flights.delete(id);
    this.#notify();
  }

  /**
   * Resolves when nothing that counts has been in flight for `ms` since the last activity, which may be long past, or when
   * `signal` aborts.
   * @param pollsAfterMs the same as for `isIdle`
   */
  quiet(ms: number, signal: AbortSignal, pollsAfterMs = Number.POSITIVE_INFINITY): Promise<void> {
    return this.#wake(signal, (now) => Math.max(this.#lastActivityAt + ms - now, this.#countsUntil(now, pollsAfterMs)));
  }

  /** Resolves once only fonts that have exceeded their budget delay the page's load event. Never resolves if nothing delays it. */
  onlyFontsHoldLoad(signal: AbortSignal): Promise<void> {
    return this.#wake(signal, (now) => {
      const holding = [...this.#flights.values()].filter(({ kind }) => LOAD_BLOCKERS.has(kind));
      if (holding.length === 0 || holding.some(({ kind }) => kind !== 'font')) return Number.POSITIVE_INFINITY;
      return Math.max(...holding.map(({ startedAt }) => startedAt + FONTS_BUDGET_MS - now));
    });
  }

  #start({ requestId, frameId, type = 'Other', request }: RequestSent): void {
    const kind = type.toLowerCase();
    if (kind === 'eventsource') this.#talks.add(requestId);
    if (SCRIPTED.has(kind)) this.#count(`${request.method} ${request.url.split(/[?#]/, 1)[0]}`);
    if (STREAMS.has(kind) || /^(data|blob|about):/.test(request.url)) return;
    const url = withFragment(request);
    this.#newest = { kind, url, startedAt: performance.now(), answered: false, frame: frameId !== this.#mainFrameId };
    // A redirect continues as a new request, after the others.
    this.#flights.delete(requestId);
    this.#flights.set(requestId, this.#newest);
    this.#touch();
  }

  #onResponse(requestId: string, { mimeType, status }: { mimeType: string; status: number }): void {
    const flight = this.#flights.get(requestId);
    if (flight === undefined) return;
    if (this.clockMs > 0 && SCRIPTED.has(flight.kind) && REFUSALS.has(status)) this.refusedAhead = true;
    flight.answered = true;
    if (!/^text\/event-stream/i.test(mimeType)) return;
    this.#end(requestId);
    this.#talks.add(requestId);
  }

  #count(path: string): void {
    const before = this.#asked.get(path);
    if (before !== undefined && this.clockMs - before >= POLLS_AFTER_MS) this.#polls = true;
    if (before === undefined && this.#asked.size < PATHS_MAX) this.#asked.set(path, this.clockMs);
  }

  /** Whether an image has been loaded within the last `ms`. */
  hasLoadedImages(ms: number): boolean {
    return performance.now() - this.#imageAt < ms;
  }

  #end(requestId: string): void {
    this.#talks.delete(requestId);
    if (this.#flights.get(requestId)?.kind === 'image') this.#imageAt = performance.now();
    if (this.#flights.delete(requestId)) this.#touch();
  }

  /**
   * Resolves when `waitMs` returns 0 or less, or when the signal aborts. It is called at each event, and when the returned
   * time has passed.
   */
  #wake(signal: AbortSignal, waitMs: (now: number) => number): Promise<void> {
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const finish = () => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        signal.removeEventListener('abort', finish);
        resolve();
      };
      const check = () => {
        clearTimeout(timer);
        const wait = waitMs(performance.now());
        if (wait <= 0) finish();
        else if (wait !== Number.POSITIVE_INFINITY) timer = setTimeout(check, Math.ceil(wait));
      };
      this.#waiting.add(check);
      signal.addEventListener('abort', finish, { once: true });
      if (signal.aborted) finish();
      else check();
    });
  }

  #touch(): void {
    this.#lastActivityAt = performance.now();
    this.#notify();
  }

  #notify(): void {
    for (const check of [...this.#waiting]) check();
  }

  /** ms until no request in flight counts, by their age: 0 if none counts, Infinity if one must end first. */
  #countsUntil(now: number, pollsAfterMs: number): number {
    return this.#longest((flight) => flight.startedAt + countsForMs(flight, pollsAfterMs) - now);
  }

  /** The longest of these times over all requests in flight, of which there may be very many; at least 0. */
  #longest(msOf: (flight: Flight) => number): number {
    let longest = 0;
    for (const flight of this.#flights.values()) longest = Math.max(longest, msOf(flight));
    return longest;
  }
}

function asPending({ kind, url, frame, startedAt, answered }: Flight): PendingRequest {
  return { kind: kind === 'document' && frame ? 'frame' : kind, url, answered, ageMs: performance.now() - startedAt };
}

function countsForMs(flight: Flight, pollsAfterMs: number): number {
  if (PIXELS.has(flight.kind)) return PIXEL_HANGS_AFTER_MS;
  if (flight.kind === 'font') return FONTS_BUDGET_MS;
  if (!SCRIPTED.has(flight.kind)) return Number.POSITIVE_INFINITY;
  return flight.answered ? STREAM_AFTER_MS : pollsAfterMs;
}

/** Until when a request in flight holds the page's clock, in ms by `performance.now`. */
function holdsUntil({ kind, startedAt, answered }: Flight): number {
  if (REPORTS.has(kind)) return 0;
  if (PIXELS.has(kind)) return startedAt + PIXEL_HANGS_AFTER_MS;
  return startedAt + (SCRIPTED.has(kind) && answered ? STREAM_AFTER_MS : HOLDS_CLOCK_MS);
}

function withoutFragment(url: string): string {
  return url.split('#', 1)[0] ?? '';
}
