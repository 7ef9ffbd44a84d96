import { Deadline, pause } from './deadline.js';
import { readFailure } from './read-answer.js';
import { connectionError, invalidArgument, StillframeError } from './stillframe-error.js';

/**
 * HTTP requests with retries. Knows nothing of captures. The API key goes to `baseUrl` only: API calls follow no redirect, and downloads
 * carry no key.
 */

/** Time limit for the headers of one answer. A synchronous capture is answered within 25 s, unless the operator has set another wait. */
const ATTEMPT_MS = 60_000;
const FIRST_PAUSE_MS = 500;
const PAUSE_MAX_MS = 8_000;

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Call<T> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below `baseUrl`, starting with a slash; or, for downloads, a URL. */
  to: string;
  headers?: Record<string, string>;
  body?: string | FormData;
  /** Whether it may be sent again after a failure that leaves open whether it arrived. */
  repeatable: boolean;
  /** Statuses other than 2xx that `read` understands. */
  alsoReads?: readonly number[];
  read(response: Response): Promise<T>;
}

export interface TransportOptions {
  apiKey: string;
  /** URL without a trailing slash. */
  baseUrl: string;
  fetch: Fetch;
  maxRetries: number;
}

export class Transport {
  constructor(private readonly options: TransportOptions) {}

  get baseUrl(): string {
    return this.options.baseUrl;
  }

  /**
   * Sends a request until it succeeds, fails for good, or has been tried `maxRetries + 1` times.
   * @throws StillframeError, or the reason of the deadline's signal
   */
  async send<T>(call: Call<T>, deadline: Deadline): Promise<T> {
    for (let retries = 0; ; retries++) {
      try {
        return await this.attempt(call, deadline.signal);
      } catch (thrown) {
        if (deadline.signal.aborted) throw deadline.signal.reason;
        if (!(thrown instanceof StillframeError)) throw thrown;
        const wait = pauseMs(thrown, retries);
        // If the retry came too late, this failure would be more useful than a timeout.
        if (retries >= this.options.maxRetries || !isWorthRetrying(thrown, call.repeatable) || wait >= deadline.left())
          throw thrown;
        await pause(wait, deadline.signal);
      }
    }
  }

  private async attempt<T>(call: Call<T>, signal: AbortSignal): Promise<T> {
    const attempt = new Deadline(ATTEMPT_MS, signal, () => new Error(`no answer within ${ATTEMPT_MS / 1000} s`));
    try {
      const response = await this.options.fetch(...this.request(call, attempt.signal));
      // From here on, only the call's own time is limited.
      attempt.release();
      if (!response.ok && call.alsoReads?.includes(response.status) !== true) throw await readFailure(response);
      return await call.read(response);
    } catch (thrown) {
      throw thrown instanceof StillframeError
        ? thrown
        : connectionError(attempt.signal.aborted ? attempt.signal.reason : thrown);
    } finally {
      attempt.release();
    }
  }

  private request<T>({ method, to, headers, body }: Call<T>, signal: AbortSignal): [url: string, init: RequestInit] {
    if (!to.startsWith('/')) return [to, { method, headers: headers ?? {}, redirect: 'follow', signal }];
    // `fetch` resolves these, even if they are encoded, so that the request would go to another path.
    if (/\/\.\.?(?:[/?]|$)/.test(to)) throw invalidArgument('`id` must be an id, not `.` or `..`.');
    const all = {
      accept: 'application/json',
      authorization: `Bearer ${this.options.apiKey}`,
      // A form brings a content type of its own.
      ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
      ...headers,
    };
    return [
      this.options.baseUrl + to,
      { method, headers: all, redirect: 'manual', signal, ...(body === undefined ? {} : { body }) },
    ];
  }
}

/**
 * Returns whether to try again. A failure with a job is that of the capture, and the same idempotency key does not start another one
 * (interface.md, Errors).
 */
function isWorthRetrying(error: StillframeError, repeatable: boolean): boolean {
  if (!error.retriable || error.jobId !== null) return false;
  return repeatable || error.status === 429 || error.status === 503;
}

/**
 * Returns the delay that the server asks for, or else twice as long each time, between half and all of it, so that clients do not return
 * together.
 */
function pauseMs({ retryAfter }: StillframeError, retries: number): number {
  if (retryAfter !== null) return retryAfter * 1000;
  return Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** retries) * (0.5 + Math.random() / 2);
}
