import { invalidArgument } from './stillframe-error.js';
import type { Fetch } from './transport.js';
import type {
  BatchRequest as Batching,
  CompareRequest as Comparing,
  CaptureRequest as Fields,
  JobSnapshot,
  PdfRequest as PdfWork,
  WatchRequest as Watching,
} from './wire.js';

export const TIMEOUT_MS = 180_000;
export const MAX_RETRIES = 4;
/** Longest delay of a timer in ms. */
const TIMEOUT_MAX_MS = 2_147_483_647;

export interface StillframeOptions {
  /** The address of the server, such as `https://shots.example.com`. The API key is sent nowhere else. */
  baseUrl: string;
  /** API key, `sf_live_…`. */
  apiKey: string;
  /** Default: the `fetch` of the runtime. */
  fetch?: Fetch | undefined;
  /** Milliseconds that a call may take, with its retries and its waiting. Default: 180,000. */
  timeout?: number | undefined;
  /** The number of times that a request is repeated after a network failure, or after an answer that another attempt may not get. Default: 4. */
  maxRetries?: number | undefined;
}

export interface CallOptions {
  /** Ends the call, which rejects with the signal's reason. A capture continues on the server. */
  signal?: AbortSignal | undefined;
  /** Timeout in milliseconds, instead of the client's. */
  timeout?: number | undefined;
}

export interface SubmitOptions extends CallOptions {
  /**
   * Identifies a logical submission: with the same key, the same request is neither rendered nor charged twice. Default: a new key for each
   * call, which its retries share.
   */
  idempotencyKey?: string | undefined;
}

export interface JobQuery {
  state?: JobSnapshot['state'] | undefined;
  /** Jobs per page, 1 to 100. Default: 20. */
  limit?: number | undefined;
  /** The `next_cursor` of the page before. */
  cursor?: string | undefined;
}

export type PageQuery = Pick<JobQuery, 'limit' | 'cursor'>;

/** Captures that are submitted, followed and canceled together. */
export interface BatchRequest extends Omit<Batching, 'requests'> {
  /** At most 1,000. They have no `webhook` of their own. */
  requests: (CaptureUrlRequest | CaptureHtmlRequest)[];
}

/** A watch: the capture, its schedule, and where the result is sent. */
export interface WatchRequest extends Omit<Watching, 'request'> {
  request: CaptureUrlRequest | CaptureHtmlRequest;
}

/** A capture of a web page. */
export interface CaptureUrlRequest extends Omit<Fields, 'html' | 'base_url' | 'template' | 'data'> {
  html?: undefined;
  base_url?: undefined;
  template?: undefined;
  data?: undefined;
}

/** A capture of a document that is part of the request. */
export interface CaptureHtmlRequest extends Omit<Fields, 'url' | 'html' | 'template' | 'data'> {
  /** HTML document, at most 196,608 bytes. */
  html: string;
  url?: undefined;
  template?: undefined;
  data?: undefined;
}

/** A capture of a document with its files. */
export interface CaptureFilesRequest extends Omit<Fields, 'url' | 'html' | 'base_url' | 'template' | 'data'> {
  /** Contents by relative path, one of them `index.html`: at most 200 files, 50 MB together. A text is sent as UTF-8. */
  files: Record<string, string | Blob | Uint8Array<ArrayBuffer>>;
  url?: undefined;
  html?: undefined;
  base_url?: undefined;
  template?: undefined;
  data?: undefined;
}

/** A capture of a stored template. */
export interface CaptureTemplateRequest extends Omit<Fields, 'url' | 'html' | 'base_url' | 'template'> {
  /** Its name, such as `og-card`, or that of a version, such as `og-card@3`. */
  template: string;
  url?: undefined;
  html?: undefined;
  base_url?: undefined;
}

/** A capture request. Exactly one of `url`, `html`, `files` and `template` is required. */
export type CaptureRequest = CaptureUrlRequest | CaptureHtmlRequest | CaptureFilesRequest | CaptureTemplateRequest;

/** Two pictures to compare, each the id of a job, the address of a picture, a picture in base64, or a capture. */
export interface CompareRequest extends Omit<Comparing, 'before' | 'after'> {
  before: string | CaptureUrlRequest | CaptureHtmlRequest;
  after: string | CaptureUrlRequest | CaptureHtmlRequest;
}

/** Reading and changing PDFs that exist. */
export interface PdfRequest extends PdfWork {
  /** PDFs and attachments by name: at most 100 MB together. */
  uploads?: Record<string, Blob | Uint8Array<ArrayBuffer>>;
}

/**
 * @param name of the argument, for the error
 * @throws StillframeError `invalid_request`
 */
export function checkedText(value: unknown, name: string, example: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw invalidArgument(`\`${name}\` must be a non-empty string, such as ${example}.`);
}

/**
 * @param name of the argument, for the error
 * @throws StillframeError `invalid_request`
 */
export function checkedObject<Value>(value: Value, name: string): Value {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw invalidArgument(`\`${name}\` must be an object.`);
}

/** @throws TypeError */
export function checkedTimeout(ms: number): number {
  if (ms > 0 && ms <= TIMEOUT_MAX_MS) return ms;
  throw new TypeError('`timeout` must be a number of milliseconds, more than 0 and less than 25 days');
}

/**
 * Returns the URL without trailing slashes.
 * @throws TypeError
 */
export function checkedBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    `${url.username}${url.password}${url.search}${url.hash}` !== ''
  ) {
    throw new TypeError('`baseUrl` must be the http or https address of the server, such as https://shots.example.com');
  }
  return (url.origin + url.pathname).replace(/(?<!\/)\/+$/, '');
}

/**
 * Checks the key, which in JavaScript may be anything, such as an unset environment variable.
 * @throws TypeError
 */
export function checkedKey(key: unknown): string {
  if (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new TypeError('`apiKey` must be an API key of the server, such as sf_live_…');
}

/** @throws TypeError */
export function checkedRetries(count: number): number {
  if (Number.isInteger(count) && count >= 0) return count;
  throw new TypeError('`maxRetries` must be a whole number from 0 up');
}
