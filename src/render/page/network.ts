import type { PageSession } from '../page-session.js';
import { withFragment } from './main-document.js';

/** Kinds that never count: streams stay open as long as the page, and media loads as it plays. */
const STREAMS = new Set(['eventsource', 'websocket', 'media', 'signedexchange']);
/** Kinds whose late responses change nothing visible: not waited for once they hang. */
const PIXELS = new Set(['image', 'ping', 'beacon', 'cspviolationreport', 'prefetch', 'manifest', 'texttrack', 'other']);
/** Kinds that hold back a page's load event. */
const LOAD_BLOCKERS = new Set(['document', 'stylesheet', 'script', 'image', 'font']);
/** Kinds that only send data to a server. */
const REPORTS = new Set(['ping', 'beacon', 'cspviolationreport']);
/** Kinds that the page's scripts ask for. */
const SCRIPTED = new Set(['fetch', 'xhr']);
const REFUSALS = new Set([401, 403]);
const PIXEL_HANGS_AFTER_MS = 1_500;
/** A fetch that still runs this long after its response headers is a stream. */
const STREAM_AFTER_MS = 2_000;
/** A fetch without a response for this long is a long poll, or too slow to wait for on a page that shows its content. */
export const LONG_POLL_AFTER_MS = 1_000;
/** A font that never loads delays a capture, but never fails it (decisions.md): the longest wait for fonts alone. */
export const FONTS_BUDGET_MS = 3_000;
/** The network is idle after this long without activity. */
export const QUIET_MS = 250;
/** A request without an answer holds the page's clock for this long at most. */
const HOLDS_CLOCK_MS = 5_000;
/** A script that asks for the same path again after its clock has run this far ahead is taken to ask again and again, ms. */
const POLLS_AFTER_MS = 100;
const PATHS_MAX = 500;

/** The parts of Network.requestWillBeSent that are used. */
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

/** Which requests of a page are in flight. Event-driven; must listen before the navigation starts. */
export class NetworkTracker {
  /** By request id, which a redirect keeps. */
  readonly #flights = new Map<string, Flight>();
  readonly #mainFrameId: string;
  readonly #waiting = new Set<() => void>();
  #lastActivityAt = performance.now();
  #newest: Flight | null = null;
  /** Open sockets and streams. */
  readonly #talks = new Set<string>();
  /** How far the page's clock had run ahead when scripts first asked for each path. */
  readonly #asked = new Map<string, number>();
  #polls = false;
  #imageAt = Number.NEGATIVE_INFINITY;
  /** How far the page's clock has run ahead, ms. */
  clockMs = 0;
  /** Whether a script was refused what it asked for after that: its server may take it to come from the future. */
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

  /** Why the page's clock must keep to the real time: the page talks to a server; null if it does not. */
  talk(): 'socket' | 'stream' | 'polling' | null {
    if (this.#talks.size > 0) return 'socket';
    const isStream = ({ kind, answered, startedAt }: Flight) =>
      SCRIPTED.has(kind) && answered && performance.now() - startedAt > STREAM_AFTER_MS;
    if ([...this.#flights.values()].some(isStream)) return 'stream';
    return this.#polls ? 'polling' : null;
  }

  /** Resolves when no request is in flight that the page's clock must wait for; or when `signal` aborts. */
  answered(signal: AbortSignal): Promise<void> {
    return this.#wake(signal, (now) => this.#holdsMs(now));
  }

  /** Whether a request is in flight that the page's clock must wait for. */
  isHolding(): boolean {
    return this.#holdsMs(performance.now()) > 0;
  }

  #holdsMs(now: number): number {
    return this.#longest((flight) => holdsUntil(flight) - now);
  }

  /** Requests in flight, oldest first, without streams and hung requests. */
  pending(): PendingRequest[] {
    return [...this.#flights.values()].map(told);
  }

  /** The latest request, ended or not. */
  newest(): PendingRequest | null {
    return this.#newest === null ? null : told(this.#newest);
  }

  /** Requests for content in flight that began at that time or later, ms by `performance.now`. */
  loading(since: number): number {
    return [...this.#flights.values()].filter(({ kind, startedAt }) => startedAt >= since && !REPORTS.has(kind)).length;
  }

  /** Resolves when there are none of them; or when `signal` aborts. */
  loaded(since: number, signal: AbortSignal): Promise<void> {
    return this.#wake(signal, () => (this.loading(since) > 0 ? Number.POSITIVE_INFINITY : 0));
  }

  /**
   * Whether nothing that counts is in flight.
   *
   * @param pollsAfterMs a fetch without a response for this long does not count
   */
  isIdle(pollsAfterMs = Number.POSITIVE_INFINITY): boolean {
    return this.#countsUntil(performance.now(), pollsAfterMs) === 0;
  }

  /** Resolves once none of these URLs is in flight, or when `signal` aborts. */
  ended(urls: readonly string[], signal: AbortSignal): Promise<void> {
    return this.#wake(signal, () => ([...this.#flights.values()].some(({ url }) => urls.includes(url)) ? Number.POSITIVE_INFINITY : 0));
  }

  /** Forgets the requests and the talk of an earlier document: Chromium does not report the end of all that it drops. */
  forgetBefore(url: string): void {
    this.#talks.clear();
    this.#asked.clear();
    this.#polls = false;
    const flights = [...this.#flights.values()];
    const own = flights.findLast(({ kind, frame, url: asked }) => kind === 'document' && !frame && withoutFragment(asked) === url);
    if (own === undefined) return;
    for (const [id, { startedAt }] of this.#flights) if (startedAt < own.startedAt) this.#flights.delete(id);
    this.#tell();
  }

  /**
   * Resolves when nothing that counts has been in flight for `ms` since the last activity, which may be long past; or when `signal` aborts.
   *
   * @param pollsAfterMs as of `isIdle`
   */
  quiet(ms: number, signal: AbortSignal, pollsAfterMs = Number.POSITIVE_INFINITY): Promise<void> {
    return this.#wake(signal, (now) => Math.max(this.#lastActivityAt + ms - now, this.#countsUntil(now, pollsAfterMs)));
  }

  /** Resolves once only fonts that have exceeded their budget delay the page's load event. Never if nothing delays it. */
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

  /** Resolves when `waitMs` returns 0 or less; called at each event, and when the returned time has passed. Or when the signal aborts. */
  #wake(signal: AbortSignal, waitMs: (now: number) => number): Promise<void> {
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const finish = () => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        signal.removeEventListener('abort', finish);
        resolve();
      };
      const look = () => {
        clearTimeout(timer);
        const wait = waitMs(performance.now());
        if (wait <= 0) finish();
        else if (wait !== Number.POSITIVE_INFINITY) timer = setTimeout(look, Math.ceil(wait));
      };
      this.#waiting.add(look);
      signal.addEventListener('abort', finish, { once: true });
      if (signal.aborted) finish();
      else look();
    });
  }

  #touch(): void {
    this.#lastActivityAt = performance.now();
    this.#tell();
  }

  #tell(): void {
    for (const look of [...this.#waiting]) look();
  }

  /** ms until the requests in flight stop counting by their age: 0 if none counts, Infinity if one must end first. */
  #countsUntil(now: number, pollsAfterMs: number): number {
    return this.#longest((flight) => flight.startedAt + patience(flight, pollsAfterMs) - now);
  }

  /** The longest of these times over all requests in flight, which can be very many; at least 0. */
  #longest(msOf: (flight: Flight) => number): number {
    let longest = 0;
    for (const flight of this.#flights.values()) longest = Math.max(longest, msOf(flight));
    return longest;
  }
}

function told({ kind, url, frame, startedAt, answered }: Flight): PendingRequest {
  return { kind: kind === 'document' && frame ? 'frame' : kind, url, answered, ageMs: performance.now() - startedAt };
}

function patience(flight: Flight, pollsAfterMs: number): number {
  if (PIXELS.has(flight.kind)) return PIXEL_HANGS_AFTER_MS;
  if (flight.kind === 'font') return FONTS_BUDGET_MS;
  if (!SCRIPTED.has(flight.kind)) return Number.POSITIVE_INFINITY;
  return flight.answered ? STREAM_AFTER_MS : pollsAfterMs;
}

/** ms by `performance.now`: until then a request in flight holds the page's clock. */
function holdsUntil({ kind, startedAt, answered }: Flight): number {
  if (REPORTS.has(kind)) return 0;
  if (PIXELS.has(kind)) return startedAt + PIXEL_HANGS_AFTER_MS;
  return startedAt + (SCRIPTED.has(kind) && answered ? STREAM_AFTER_MS : HOLDS_CLOCK_MS);
}

function withoutFragment(url: string): string {
  return url.split('#', 1)[0] ?? '';
}
