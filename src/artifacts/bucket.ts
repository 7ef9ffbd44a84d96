/**
 * Signed calls to one bucket of an S3-compatible storage, with time limits and bounded retries. Knows no artifacts.
 * `@aws-sdk/client-s3` takes 22 MB, and has no time limit over all tries of a call.
 */
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { type Dispatcher, Pool } from 'undici';
import { BucketError } from './bucket-error.js';
import type { StorageHealth } from './storage-health.js';

export interface BucketOptions {
  /** URL without a trailing slash; may have a path. */
  endpoint: string;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Prefix of every key. */
  prefix: string;
  /** Whether the bucket is a subdomain of the endpoint instead of the first path segment. */
  virtualHosted: boolean;
}

export interface BucketCall {
  method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** Key without the prefix; null for the bucket itself. */
  key: string | null;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** A function makes it anew for each try. */
  body?: Uint8Array | (() => Readable);
  /** Time limit of all tries, until the response begins. */
  limitMs: number;
  /** Default: TRIES. */
  tries?: number;
}

type Answer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>;

const TRIES = 3;
const FIRST_PAUSE_MS = 100;
const CONNECT_MS = 3_000;
/** Maximum time between two parts of a response; while the reader is slow, it does not count. */
const STALLED_MS = 15_000;
const KEEP_ALIVE_MS = 20_000;
const OWN_CONNECTIONS = 64;
/** Each picture that a slow client reads takes one connection. */
const READER_CONNECTIONS = 256;
const ERROR_BYTES = 16_384;
const READ_BYTES = 4_000_000;
/** Time limit for the body of a response that is read as a whole. */
const READ_MS = 20_000;

export class Bucket implements AsyncDisposable {
  readonly #options: BucketOptions;
  readonly #health: StorageHealth;
  readonly #base: URL;
  readonly #pool: Pool;
  /** Connections for objects that clients read, however slowly, so that other calls do not wait for them. */
  readonly #readers: Pool;
  /** Signing keys, one per day. */
  readonly #signingKeys = new Map<string, ArrayBuffer>();

  constructor(options: BucketOptions, health: StorageHealth) {
    this.#options = options;
    this.#health = health;
    this.#base = baseOf(options);
    // undici follows no redirects by default.
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
   * Sends a call. The caller must drain or destroy the body.
   * @throws BucketError unless the response is 2xx
   */
  async send(call: BucketCall): Promise<Answer> {
    const isWrite = call.method === 'PUT';
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new Error(`no response within ${call.limitMs} ms`)), call.limitMs);
    try {
      const answer = await this.#retry(call, limit.signal);
      this.#health.recordSuccess({ isWrite });
      return answer;
    } catch (error) {
      const isOfObject = error instanceof BucketError && ((error.isMissing && call.key !== null) || error.isTooLarge);
      if (isOfObject) this.#health.recordSuccess({ isWrite });
      else this.#health.recordFailure(error, { isWrite });
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Sends a call whose response is small or has no content.
   * @throws BucketError
   */
  async read(call: BucketCall): Promise<Pick<Answer, 'headers'> & { content: Buffer }> {
    const { headers, body } = await this.send(call);
    // A storage that sends single bytes slowly must not delay a capture.
    const timer = setTimeout(() => body.destroy(new Error(`the response took longer than ${READ_MS} ms`)), READ_MS);
    try {
      return { headers, content: await readAll(body, READ_BYTES) };
    } catch (cause) {
      throw new BucketError(nameOf(call), { status: null, code: codeOf(cause), cause });
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Makes an address with which anyone can read an object for some seconds.
   * @param query overrides of response headers
   */
  async link(key: string, { query, seconds }: { query: Record<string, string>; seconds: number }): Promise<string> {
    const url = this.#urlOf({ key, query: { ...query, 'X-Amz-Expires': String(seconds) } });
    const signed = await this.#signer({ method: 'GET', url, signQuery: true }).sign();
    // A space was signed as %20, and some storages do not read + as a space.
    return signed.url.href.replaceAll('+', '%20');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#pool.destroy(), this.#readers.destroy()]);
  }

  async #retry(call: BucketCall, signal: AbortSignal): Promise<Answer> {
    const { tries = TRIES } = call;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#try(call, signal);
      } catch (error) {
        const isLast = !(error instanceof BucketError) || !error.isTransient || attempt >= tries || signal.aborted;
        if (isLast) throw error;
        const waitMs = FIRST_PAUSE_MS * 4 ** (attempt - 1) * (0.5 + Math.random());
        await pause(waitMs, undefined, { signal }).catch(() => {
          throw error;
        });
      }
    }
  }

  async #try(call: BucketCall, signal: AbortSignal): Promise<Answer> {
    const { method } = call;
    const body = typeof call.body === 'function' ? call.body() : (call.body ?? null);
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
    const text = String(await readAll(answer.body, ERROR_BYTES).catch(() => ''));
    throw new BucketError(nameOf(call), { status, code: /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(text)?.[1] ?? '' });
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
      accessKeyId,
      secretAccessKey,
      region,
      service: 's3',
      cache: this.#signingKeys,
    });
  }
}

function baseOf({ endpoint, bucket, virtualHosted }: BucketOptions): URL {
  const base = new URL(endpoint);
  if (virtualHosted) base.hostname = `${bucket}.${base.hostname}`;
  else base.pathname += `${base.pathname.endsWith('/') ? '' : '/'}${bucket}`;
  return base;
}

/** Names a call without the host and the signature. */
function nameOf({ method, key }: BucketCall): string {
  return `${method} of ${key ?? 'the bucket'}`;
}

function codeOf(thrown: unknown): string {
  const { code } = thrown as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : '';
}

/**
 * Reads the content of a response, which is destroyed if it is too long.
 * @throws Error if it is longer than `maxBytes`
 */
export async function readAll(body: Readable, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    parts.push(part as Buffer);
    bytes += (part as Buffer).length;
    if (bytes > maxBytes) throw new Error(`the response is longer than ${maxBytes} bytes`);
  }
  return Buffer.concat(parts);
}
