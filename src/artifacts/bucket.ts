/**
 * Signed calls to one bucket of an S3-compatible storage, with time limits and bounded retries. Knows no artifacts.
 * `@aws-sdk/client-s3` takes 22 MB, and has no time limit over all tries of a call.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { type Dispatcher, Pool } from 'undici';
import { BucketError } from './bucket-error.js';
import { readAll } from './read-all.js';
import type { StoragePulse } from './storage-pulse.js';

export interface BucketOptions {
  /** Without a trailing slash; may have a path. */
  endpoint: string;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** What every key begins with. */
  prefix: string;
  /** Whether the bucket is a subdomain of the endpoint instead of the first path segment. */
  virtualHosted: boolean;
}

export interface BucketCall {
  method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** Without the prefix; null: the bucket itself. */
  key: string | null;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** For all tries, until the response begins. */
  limitMs: number;
  /** Default: TRIES. */
  tries?: number;
}

type Answer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>;

const TRIES = 3;
const FIRST_PAUSE_MS = 100;
const CONNECT_MS = 3_000;
/** Between two parts of a response; while the reader is slow, it does not count. */
const STALLED_MS = 15_000;
const KEEP_ALIVE_MS = 20_000;
const OWN_CONNECTIONS = 64;
/** Pictures that slow clients read take one each. */
const READER_CONNECTIONS = 256;
const ERROR_BYTES = 16_384;
const READ_BYTES = 4_000_000;
/** For the body of a response that is read whole. */
const READ_MS = 20_000;

export class Bucket implements AsyncDisposable {
  readonly #options: BucketOptions;
  readonly #pulse: StoragePulse;
  readonly #base: URL;
  readonly #pool: Pool;
  /** For objects that clients read, however slowly: the other calls must not wait for those. */
  readonly #readers: Pool;
  /** Signing keys, one per day. */
  readonly #signingKeys = new Map<string, ArrayBuffer>();

  constructor(options: BucketOptions, pulse: StoragePulse) {
    this.#options = options;
    this.#pulse = pulse;
    this.#base = baseOf(options);
    // Redirects are not followed: undici does not unless it is told to.
    const settings = {
      connect: { timeout: CONNECT_MS },
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: STALLED_MS,
      bodyTimeout: STALLED_MS,
    };
    this.#pool = new Pool(this.#base.origin, { ...settings, connections: OWN_CONNECTIONS });
    this.#readers = new Pool(this.#base.origin, { ...settings, connections: READER_CONNECTIONS });
  }

  /**
   * The caller must drain or destroy the body.
   *
   * @throws BucketError unless the response is 2xx
   */
  async send(call: BucketCall): Promise<Answer> {
    const isWrite = call.method === 'PUT';
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new Error(`no response within ${call.limitMs} ms`)), call.limitMs);
    try {
      const answer = await this.#insist(call, limit.signal);
      this.#pulse.beat({ isWrite });
      return answer;
    } catch (error) {
      const isOfObject = error instanceof BucketError && ((error.isMissing && call.key !== null) || error.isTooLarge);
      if (isOfObject) this.#pulse.beat({ isWrite });
      else this.#pulse.miss(error, { isWrite });
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** For a response that is small, or has no content. @throws BucketError */
  async read(call: BucketCall): Promise<Pick<Answer, 'headers'> & { content: Buffer }> {
    const { headers, body } = await this.send(call);
    // A storage that sends a byte now and then must not hold a capture.
    const timer = setTimeout(() => body.destroy(new Error(`the response took longer than ${READ_MS} ms`)), READ_MS);
    try {
      return { headers, content: await readAll(body, READ_BYTES) };
    } catch (cause) {
      throw new BucketError(nameOf(call), { status: null, code: codeOf(cause), cause });
    } finally {
      clearTimeout(timer);
    }
  }

  /** An address with which anyone can read an object for some seconds. @param query overrides of response headers */
  async link(key: string, { query, seconds }: { query: Record<string, string>; seconds: number }): Promise<string> {
    const url = this.#urlOf({ key, query: { ...query, 'X-Amz-Expires': String(seconds) } });
    const signed = await this.#signer({ method: 'GET', url, signQuery: true }).sign();
    // A space is %20 in what was signed; some storages do not read + as one.
    return signed.url.href.replaceAll('+', '%20');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#pool.destroy(), this.#readers.destroy()]);
  }

  async #insist(call: BucketCall, signal: AbortSignal): Promise<Answer> {
    const { tries = TRIES } = call;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#try(call, signal);
      } catch (error) {
        const isLast = !(error instanceof BucketError) || !error.isPassing || attempt >= tries || signal.aborted;
        if (isLast) throw error;
        const waitMs = FIRST_PAUSE_MS * 4 ** (attempt - 1) * (0.5 + Math.random());
        await pause(waitMs, undefined, { signal }).catch(() => {
          throw error;
        });
      }
    }
  }

  async #try(call: BucketCall, signal: AbortSignal): Promise<Answer> {
    const { method, body = null } = call;
    const { url, headers } = await this.#signer({ method, url: this.#urlOf(call), headers: call.headers ?? {} }).sign();
    let answer: Answer;
    try {
      const path = `${url.pathname}${url.search}`;
      const pool = method === 'GET' && call.key !== null ? this.#readers : this.#pool;
      answer = await pool.request({ method, path, headers: Object.fromEntries(headers), body, signal });
    } catch (thrown) {
      const cause = signal.aborted ? signal.reason : thrown;
      throw new BucketError(nameOf(call), { status: null, code: codeOf(thrown), cause });
    }
    // A body that is destroyed before anyone reads it emits an error.
    answer.body.on('error', () => undefined);
    const { statusCode: status } = answer;
    if (status >= 200 && status < 300) return answer;
    const said = String(await readAll(answer.body, ERROR_BYTES).catch(() => ''));
    throw new BucketError(nameOf(call), { status, code: /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(said)?.[1] ?? '' });
  }

  #urlOf({ key, query = {} }: Pick<BucketCall, 'key' | 'query'>): URL {
    const url = new URL(this.#base);
    if (key !== null) url.pathname += `${url.pathname.endsWith('/') ? '' : '/'}${this.#options.prefix}${key}`;
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  }

  #signer(request: { method: string; url: URL; headers?: Record<string, string>; signQuery?: boolean }): AwsV4Signer {
    const { accessKeyId, secretAccessKey, region } = this.#options;
    return new AwsV4Signer({
      ...request,
      url: request.url.href,
      ...{ accessKeyId, secretAccessKey, region, service: 's3', cache: this.#signingKeys },
    });
  }
}

function baseOf({ endpoint, bucket, virtualHosted }: BucketOptions): URL {
  const base = new URL(endpoint);
  if (virtualHosted) base.hostname = `${bucket}.${base.hostname}`;
  else base.pathname += `${base.pathname.endsWith('/') ? '' : '/'}${bucket}`;
  return base;
}

/** Without the host and the signature. */
function nameOf({ method, key }: BucketCall): string {
  return `${method} of ${key ?? 'the bucket'}`;
}

function codeOf(thrown: unknown): string {
  const { code } = thrown as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : '';
}
