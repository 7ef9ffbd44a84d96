import {
  FACT_NAME_MAX_CHARS,
  FACT_URL_MAX_CHARS,
  FAILED_MAX_ITEMS,
  REDIRECTS_MAX_ITEMS,
  SLOWEST_MAX_ITEMS,
} from '../../contract/limits.js';
import type { PageFacts } from '../../contract/page-facts.js';
import { readUrl } from '../../contract/read-url.js';

/** A request that starts: the used parts of Network.requestWillBeSent. Times are in seconds, on a clock of the browser. */
export interface Sent {
  requestId: string;
  timestamp: number;
  request: { url: string };
  redirectResponse?: { status: number };
}

interface LoggedRequest {
  /** As plainUrl shows it. */
  url: string;
  type: string;
  startedAt: number;
  /** null while it is in flight. */
  endedAt: number | null;
  status: number | null;
  bytes: number;
  error: string | null;
  /** Whether the page or a rule canceled it, which is no failure. */
  canceled: boolean;
}

/** Further requests are counted by type only. */
const LOGGED_MAX = 2_000;
/** Types are Chromium's, and few. */
const OTHER = 'other';

/** The outcomes of a document's requests, for `inspect_page`. NetworkTracker reports them, so nothing is watched twice. */
export class RequestLog {
  #requests = new Map<string, LoggedRequest>();
  #counts = new Map<string, { count: number; bytes: number }>();
  /** The addresses that led to the current document. */
  #way: PageFacts['redirects'] = [];
  /** The id and the address of the latest request for the page's document. */
  #document: { id: string; url: string; status: number | null } | null = null;

  /** @param type Chromium's, in lower case; `frame` for the document of a frame */
  sent({ requestId, timestamp, request, redirectResponse }: Sent, type: string): void {
    if (/^(data|blob|about|chrome-error):/.test(request.url)) return;
    if (type === 'document') this.#navigate(requestId, request.url, redirectResponse?.status ?? null);
    const before = this.#requests.get(requestId);
    if (before === undefined) this.#countOf(type).count += 1;
    if (before === undefined && this.#requests.size >= LOGGED_MAX) {
      const [oldest] = this.#requests.keys();
      // A request for another document is always logged, since the log of that document begins with it.
      if (type !== 'document' || oldest === undefined) return;
      this.#requests.delete(oldest);
    }
    this.#requests.delete(requestId);
    const startedAt = before?.startedAt ?? timestamp;
    const rest = { endedAt: null, status: null, bytes: 0, error: null, canceled: false };
    this.#requests.set(requestId, { url: copyOf(plainUrl(request.url)), type, startedAt, ...rest });
  }

  responded(requestId: string, { status }: { status: number }): void {
    const request = this.#requests.get(requestId);
    // Responses of other schemes have no status.
    if (request !== undefined && status > 0) request.status = status;
    if (this.#document?.id === requestId) this.#document.status = status;
  }

  finished({
    requestId,
    timestamp,
    encodedDataLength,
  }: {
    requestId: string;
    timestamp: number;
    encodedDataLength: number;
  }): void {
    const request = this.#requests.get(requestId);
    if (request === undefined) return;
    // The end of a worker's script has no time of its own (target-policy.ts).
    request.endedAt = Math.max(timestamp, request.startedAt);
    request.bytes = Math.max(0, encodedDataLength);
    this.#countOf(request.type).bytes += request.bytes;
  }

  failed(event: {
    requestId: string;
    timestamp: number;
    errorText: string;
    canceled?: boolean;
    blockedReason?: string;
  }): void {
    const request = this.#requests.get(event.requestId);
    if (request === undefined) return;
    request.endedAt = event.timestamp;
    // Chromium 156 names no error for an image with credentials.
    request.error = (event.errorText || event.blockedReason || 'net::ERR_FAILED').slice(0, FACT_NAME_MAX_CHARS);
    request.canceled =
      event.canceled === true ||
      event.blockedReason === 'inspector' ||
      event.errorText === 'net::ERR_BLOCKED_BY_CLIENT';
  }

  /** Forgets what an earlier document has requested. Called once a document replaces another. */
  documentCommitted(): void {
    const id = this.#document?.id;
    if (id === undefined || !this.#requests.has(id)) return;
    const all = [...this.#requests];
    const since = all.findIndex(([one]) => one === id);
    this.#requests = new Map(all.slice(since));
    this.#counts = new Map();
    for (const { type, bytes } of this.#requests.values()) {
      const counted = this.#countOf(type);
      counted.count += 1;
      counted.bytes += bytes;
    }
  }

  facts(): Pick<PageFacts, 'redirects' | 'requests'> {
    const all = [...this.#requests.values()];
    // Chromium 156 cancels a script whose response has such a status.
    const failed = all.filter(({ error, status, canceled }) => (status ?? 0) >= 400 || (error !== null && !canceled));
    const slowest = all
      .flatMap((request) => {
        const { startedAt, endedAt, bytes } = request;
        return endedAt === null
          ? []
          : [{ ...described(request), ms: Math.round((endedAt - startedAt) * 1_000), bytes }];
      })
      .sort((a, b) => b.ms - a.ms);
    const sum = (of: 'count' | 'bytes') =>
      [...this.#counts.values()].reduce((total, counted) => total + counted[of], 0);
    return {
      redirects: this.#way,
      requests: {
        count: sum('count'),
        bytes: sum('bytes'),
        by_type: Object.fromEntries([...this.#counts].sort(([, a], [, b]) => b.bytes - a.bytes)),
        failed: failed.slice(0, FAILED_MAX_ITEMS).map((request) => ({
          ...described(request),
          ...(request.error === null || request.canceled ? {} : { error: request.error }),
        })),
        slowest: slowest.slice(0, SLOWEST_MAX_ITEMS),
      },
    };
  }

  #navigate(id: string, url: string, redirected: number | null): void {
    const from = this.#document;
    this.#document = { id, url, status: null };
    if (from === null || from.url === url) return;
    const status = from.id === id ? redirected : from.status;
    this.#way = [...this.#way, { url: plainUrl(from.url), ...(status === null ? {} : { status }) }].slice(
      -REDIRECTS_MAX_ITEMS,
    );
  }

  #countOf(type: string): { count: number; bytes: number } {
    const name = type === '' ? OTHER : type;
    const counted = this.#counts.get(name) ?? { count: 0, bytes: 0 };
    this.#counts.set(name, counted);
    return counted;
  }
}

function described({ url, type, status }: LoggedRequest) {
  return { url, type: type.slice(0, FACT_NAME_MAX_CHARS), ...(status === null ? {} : { status }) };
}

/** A string of its own: one that was cut out of another keeps that in memory, and URLs can have megabytes. */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

/** Without credentials, query and fragment, which may hold secrets. */
export function plainUrl(text: string): string {
  const url = readUrl(text);
  if (url === null) return '';
  const path = url.pathname.slice(0, FACT_URL_MAX_CHARS);
  return `${url.protocol}//${url.host}${path}`.slice(0, FACT_URL_MAX_CHARS);
}
