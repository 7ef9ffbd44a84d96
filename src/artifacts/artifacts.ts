/**
 * Stored pictures and PDFs, under unguessable names. Knows no jobs, database or routes. Implemented by a local directory
 * (artifacts/directory.ts) and by a bucket of an S3-compatible storage (artifacts/s3.ts). A storage that cannot be reached is an
 * `internal_error` 503 wherever nothing else is said.
 */
import type { Readable } from 'node:stream';
import { CaptureError } from '../contract/capture-error.js';

export interface StoredArtifact {
  /** `<32 or more url-safe characters>.<ext>` */
  name: string;
  bytes: number;
  /** Hex. */
  sha256: string;
}

export interface ByteRange {
  start: number;
  /** Inclusive. */
  end: number;
}

/** Bytes in memory, shared with others who send them. */
export interface LentBytes {
  content: Buffer;
  /** To be called when they are sent, or not needed any more. May be called twice. */
  release(): void;
}

export interface OpenArtifact {
  bytes: number;
  /** Unix ms. */
  modifiedAt: number;
  /** Without a range the whole file. The caller must destroy or drain the stream. */
  read(range?: ByteRange): Promise<Readable>;
  /** The same bytes without a stream; null unless they are in memory. */
  lend(range?: ByteRange): LentBytes | null;
  /** Makes an address from which anyone can read it for `LINK_SECONDS`; null if the storage has none, or readers must not be sent there. */
  link: ((shown: ShownHeaders) => Promise<string>) | null;
}

/** Headers of the response that a link leads to. */
export interface ShownHeaders {
  contentType: string;
  contentDisposition: string;
  cacheControl: string;
}

/** How long a link to the storage is valid. */
export const LINK_SECONDS = 300;

/** Records the name of an artifact before anything of it is stored. A rejection cancels the put. */
export type Announce = (name: string) => Promise<void>;

export interface Artifacts extends AsyncDisposable {
  /** Whether looking at each file is cheap, and no other machine writes any. */
  readonly isLocal: boolean;
  /** Whether the last call found the storage unusable: a reason to ask `isReady` before work begins. */
  readonly isFailing: boolean;
  /** Why nothing can be stored until the operator corrects something; null while that is not known, and during an outage. */
  readonly refusal: string | null;
  /**
   * Durable once resolved; readers never see part of a file.
   *
   * @param extension without the dot
   * @param announce called if a put that fails may still have stored something: whoever knows the name has to remove it
   */
  put(content: Uint8Array, extension: string, announce?: Announce): Promise<StoredArtifact>;
  /** null if there is no such artifact, or the name is not one that `put` makes. */
  open(name: string): Promise<OpenArtifact | null>;
  /** Removing a missing artifact is not an error. */
  remove(name: string): Promise<void>;
  /** Whether the storage itself exists, empty or not. */
  isPresent(): Promise<boolean>;
  /** Whether the next picture can probably be stored. Never rejects. */
  isReady(): Promise<boolean>;
  /** Names of artifacts last modified before a time (Unix ms), in batches; a bucket leaves out those of the last day. */
  list(before: number): AsyncIterable<string[]>;
  /** Removes incomplete files left by a crash; at boot only. @returns how many */
  removeLeftovers(): Promise<number>;
}

/**
 * Refuses while the storage is known to be away, so that nothing is accepted, claimed or announced in vain.
 *
 * @throws CaptureError `internal_error` (503)
 */
export async function requireStorage(artifacts: Pick<Artifacts, 'isFailing' | 'isReady' | 'refusal'>): Promise<void> {
  if (!artifacts.isFailing || (await artifacts.isReady())) return;
  throw new CaptureError({
    code: 'internal_error',
    status: 503,
    message: artifacts.refusal ?? 'Pictures cannot be stored at the moment. Try again shortly.',
    retryAfterSeconds: 5,
  });
}
