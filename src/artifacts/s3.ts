import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import pTimeout from 'p-timeout';
import { contentTypeOf } from '../contract/capture-data.js';
import type { Log } from '../log.js';
import { isArtifactName, isPackName, isStoredName, newArtifactName } from './artifact-name.js';
import {
  type Announce,
  type Artifacts,
  type ByteRange,
  LINK_SECONDS,
  type OpenArtifact,
  type OpenPack,
  type ShownHeaders,
  type StoredArtifact,
} from './artifacts.js';
import { Bucket, type BucketCall, type BucketOptions, readAll } from './bucket.js';
import { asUnreachable, BucketError } from './bucket-error.js';
import type { PackSource } from './page-pack.js';
import { RecentFiles } from './recent-files.js';
import { StorageHealth } from './storage-health.js';

/** The time for which an object is assumed to exist without another check. */
const KNOWN_MS = 60_000;
const KNOWN_MAX = 2_000;

/** A younger object may belong to a capture that is still running, on this machine or another. */
const ORPHAN_AGE_MS = 24 * 3_600_000;
const LIST_MS = 10_000;
const BATCH = 200;

/** Maximum length of an entry without an end tag. */
const MAX_ENTRY_CHARS = 4_000;
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

export interface S3Options extends BucketOptions {
  /** Whether artifacts have links, so that readers may be sent to the bucket. */
  links: boolean;
  log: Log;
}

/** Time limit of all tries of a call without content. */
const CALL_MS = 10_000;
/** Time limit of all tries of a put, and its increase per MB. */
const PUT_MS = 15_000;
const PUT_MS_PER_MB = 500;
/** The time limit for a check of the storage. The probe goes on, since a slow storage is not an unavailable one. */
const PROBE_MS = 2_000;
/** Key of an empty object that is written while the bucket refuses writes. No artifact has this name. */
const PROBE_KEY = 'write-probe';
const HASH_CHUNK_BYTES = 1024 * 1024;

/** S3 upload and download: opens artifacts in a bucket, as `<prefix><name>`. Makes no call. */
export function openS3(options: S3Options): Artifacts {
  return new S3Artifacts(options);
}

class S3Artifacts implements Artifacts {
  readonly isLocal = false;
  readonly #prefix: string;
  readonly #hasLinks: boolean;
  readonly #health: StorageHealth;
  readonly #bucket: Bucket;
  /** Objects that were stored or checked a moment ago, which saves most readers a request. */
  readonly #objects = new LRUCache<string, KnownObject>({ max: KNOWN_MAX, ttl: KNOWN_MS });
  readonly #contents = new RecentFiles({
    stream: (name, bytes, range) => this.#stream(name, bytes, range),
    load: (name, bytes) => this.#load(name, bytes),
  });
  #probe: Promise<boolean> | null = null;

  constructor({ links, log, ...options }: S3Options) {
    this.#prefix = options.prefix;
    this.#hasLinks = links;
    this.#health = new StorageHealth(log);
    this.#bucket = new Bucket(options, this.#health);
  }

  get isFailing(): boolean {
    return this.#health.isFailing;
  }

  get refusal(): string | null {
    return this.#health.refusal;
  }

  async put(content: Uint8Array, extension: string, announce?: Announce): Promise<StoredArtifact> {
    const name = newArtifactName(extension);
    const sha256 = await hashOf(content);
    await announce?.(name);
    const { byteLength: bytes } = content;
    await this.#store(name, { type: contentTypeOf(name), bytes, sha256, body: content });
    this.#objects.set(name, { bytes, modifiedAt: Math.floor(Date.now() / 1000) * 1000 });
    return { name, bytes, sha256 };
  }

  async putPack(name: string, pack: PackSource): Promise<void> {
    const { bytes, sha256 } = pack;
    await this.#store(name, { type: 'application/octet-stream', bytes, sha256, body: () => pack.read() });
  }

  async openPack(name: string): Promise<OpenPack | null> {
    const found = isPackName(name) ? await this.#stat(name) : null;
    return found && { bytes: found.bytes, read: (range) => this.#stream(name, found.bytes, range) };
  }

  async #store(name: string, { type, bytes, sha256, body }: StoredContent): Promise<void> {
    const limitMs = PUT_MS + Math.ceil(bytes / 1e6) * PUT_MS_PER_MB;
    // The storage refuses a body that does not have this hash.
    const headers = { 'content-type': type, 'content-length': String(bytes), 'x-amz-content-sha256': sha256 };
    await this.#call('store', () => this.#bucket.read({ method: 'PUT', key: name, headers, body, limitMs }));
  }

  async open(name: string): Promise<OpenArtifact | null> {
    if (!isArtifactName(name)) return null;
    const known = this.#objects.get(name) ?? (await this.#stat(name));
    if (known === null) return null;
    const { bytes, modifiedAt } = known;
    return {
      bytes,
      modifiedAt,
      read: (range) => this.#contents.read(name, bytes, range),
      lend: (range) => this.#contents.lend(name, bytes, range),
      link: this.#hasLinks ? (headers) => this.#link(name, headers) : null,
    };
  }

  async remove(name: string): Promise<void> {
    if (!isStoredName(name)) return;
    this.#objects.delete(name);
    this.#contents.forget(name);
    await this.#call('remove', () =>
      this.#bucket.read({ method: 'DELETE', key: name, limitMs: CALL_MS }).catch(nullIfMissing),
    );
  }

  async isPresent(): Promise<boolean> {
    return await this.#ask();
  }

  async isReady(): Promise<boolean> {
    if (this.#health.isFresh) return true;
    return await pTimeout(this.#ask(), { milliseconds: PROBE_MS, fallback: () => false });
  }

  async *list(before: number): AsyncIterable<string[]> {
    try {
      yield* listOldObjects(this.#bucket, this.#prefix, before);
    } catch (error) {
      throw asUnreachable(error, 'read');
    }
  }

  /** Does nothing, since a put stores a whole object or none. */
  async removeLeftovers(): Promise<number> {
    return 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#bucket[Symbol.asyncDispose]();
  }

  /** Reads an object's size and date; null if there is no such object. */
  async #stat(name: string): Promise<KnownObject | null> {
    return await this.#call('read', async () => {
      const answer = await this.#bucket.read({ method: 'HEAD', key: name, limitMs: CALL_MS }).catch(nullIfMissing);
      if (answer === null) return null;
      const { 'content-length': length, 'last-modified': modified } = answer.headers;
      const known = { bytes: Number(length), modifiedAt: Date.parse(String(modified)) };
      if (!Number.isSafeInteger(known.bytes) || !Number.isFinite(known.modifiedAt))
        throw unexpected('HEAD', name, 'the response has no length or no date');
      this.#objects.set(name, known);
      return known;
    });
  }

  async #stream(name: string, bytes: number, range?: ByteRange): Promise<Readable> {
    const { start, end } = range ?? { start: 0, end: bytes - 1 };
    const headers: Record<string, string> = range === undefined ? {} : { range: `bytes=${start}-${end}` };
    return await this.#call('read', async () => {
      const answer = await this.#bucket.send({ method: 'GET', key: name, headers, limitMs: CALL_MS }).catch((error) => {
        // The object was deleted after the last check; the next request finds that out.
        if (isMissing(error)) this.#objects.delete(name);
        throw error;
      });
      const isPart =
        answer.statusCode === 206 && String(answer.headers['content-range']).startsWith(`bytes ${start}-${end}/`);
      const isWanted = range === undefined ? answer.statusCode === 200 : isPart;
      if (isWanted && answer.headers['content-length'] === String(end - start + 1)) return answer.body;
      answer.body.destroy();
      throw unexpected('GET', name, 'the response has other bytes');
    });
  }

  /** Loads an object that is small enough to be kept in memory. */
  async #load(name: string, bytes: number): Promise<Buffer> {
    const body = await this.#stream(name, bytes);
    return await this.#call('read', () =>
      readAll(body, bytes).catch((error: Error) => {
        throw unexpected('GET', name, error.message);
      }),
    );
  }

  #link(name: string, headers: ShownHeaders): Promise<string> {
    const query = {
      'response-content-type': headers.contentType,
      'response-content-disposition': headers.contentDisposition,
      'response-cache-control': headers.cacheControl,
    };
    return this.#bucket.link(name, { query, seconds: LINK_SECONDS });
  }

  /** Checks the bucket itself. Concurrent callers share the answer. */
  #ask(): Promise<boolean> {
    const signing = () =>
      this.#health.refusesWrites
        ? this.#writeProbe()
        : this.#bucket.read({ method: 'HEAD', key: null, limitMs: CALL_MS, tries: 1 });
    this.#probe ??= signing()
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        this.#probe = null;
      });
    return this.#probe;
  }

  async #writeProbe(): Promise<void> {
    const call = { key: PROBE_KEY, limitMs: CALL_MS, tries: 1 };
    await this.#bucket.read({ ...call, method: 'PUT', headers: { 'content-length': '0' } });
    await this.#bucket.read({ ...call, method: 'DELETE' }).catch(() => undefined);
  }

  /** @throws CaptureError `internal_error` (503) if the bucket fails */
  async #call<T>(task: Parameters<typeof asUnreachable>[1], work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asUnreachable(error, task);
    }
  }
}

function unexpected(method: string, name: string, problem: string): BucketError {
  return new BucketError(`${method} of ${name}`, { status: null, code: '', cause: new Error(problem) });
}

function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

function isMissing(error: unknown): boolean {
  return error instanceof BucketError && error.isMissing;
}

/** Hashes in pieces, so that a large picture does not block the event loop. */
async function hashOf(content: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (let at = 0; at < content.byteLength; at += HASH_CHUNK_BYTES) {
    hash.update(content.subarray(at, at + HASH_CHUNK_BYTES));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return hash.digest('hex');
}

/** One page of a bucket's list (ListObjectsV2). */
export interface ObjectPage {
  objects: { key: string; modifiedAt: number }[];
  /** Token of the next page; null on the last. */
  next: string | null;
}

/**
 * Parses a list.
 * @throws Error if the text is not such a list
 */
export function parseObjectList(xml: string): ObjectPage {
  if (!xml.includes('<ListBucketResult')) throw new Error('the storage did not return a list of objects');
  const objects = xml
    .split('<Contents>')
    .slice(1)
    .map((part) => part.slice(0, part.indexOf('</Contents>') + 1 || MAX_ENTRY_CHARS))
    .map((entry) => ({ key: textOf(entry, 'Key') ?? '', modifiedAt: Date.parse(textOf(entry, 'LastModified') ?? '') }));
  const isLast = textOf(xml, 'IsTruncated') !== 'true';
  const next = isLast ? null : textOf(xml, 'NextContinuationToken');
  if (!isLast && next === null) throw new Error('the storage returned a part of a list without a way to go on');
  return { objects, next };
}

function textOf(xml: string, element: string): string | null {
  const text = new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1];
  return text === undefined ? null : text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, decodeEntity);
}

function decodeEntity(entity: string, decimal?: string, hex?: string, name = ''): string {
  if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
  if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
  return ENTITIES[name] ?? entity;
}

/**
 * Lists the artifacts in a bucket that are older than a day, by the clock of the storage, and last modified before a time (Unix ms).
 * @throws BucketError
 */
async function* listOldObjects(bucket: Bucket, prefix: string, before: number): AsyncIterable<string[]> {
  const seen = new Set<string>();
  for (let token: string | null = ''; token !== null; ) {
    if (seen.has(token)) throw new Error('the storage returned the same page of its list again');
    seen.add(token);
    const query = { 'list-type': '2', prefix, ...(token === '' ? {} : { 'continuation-token': token }) };
    const { headers, content } = await bucket.read({ method: 'GET', key: null, query, limitMs: LIST_MS });
    const { objects, next } = parseObjectList(content.toString());
    const now = Date.parse(String(headers.date));
    const latest = Math.min(before, (Number.isFinite(now) ? now : Date.now()) - ORPHAN_AGE_MS);
    const own = objects.filter(({ key, modifiedAt }) => key.startsWith(prefix) && modifiedAt < latest);
    const old = own.map(({ key }) => key.slice(prefix.length));
    const names = old.filter(isStoredName);
    // This yields even without names, so that the caller can end between two pages.
    for (let at = 0; at === 0 || at < names.length; at += BATCH) yield names.slice(at, at + BATCH);
    token = next;
  }
}

interface StoredContent {
  type: string;
  bytes: number;
  sha256: string;
  body: NonNullable<BucketCall['body']>;
}

interface KnownObject {
  bytes: number;
  /** Unix ms. */
  modifiedAt: number;
}
