/**
 * Stored pictures and PDFs under unguessable names, in a local directory (artifacts/directory.ts) or an S3-compatible bucket
 * (artifacts/s3.ts). Knows no jobs, database or routes. An unreachable storage is an `internal_error` 503 unless stated otherwise.
 */
import type { Readable } from 'node:stream';
import { CaptureError } from '../contract/capture-error.js';
import type { PackSource } from './page-pack.js';

export interface StoredArtifact {
  /** A name `<32 or more url-safe characters>.<ext>`. */
  name: string;
  bytes: number;
  /** SHA-256 in hex. */
  sha256: string;
}

export interface ByteRange {
  start: number;
  /** Inclusive. */
  end: number;
}

/** Bytes in memory that are shared with other readers. */
export interface LentBytes {
  content: Buffer;
  /** Called when they are sent or no longer needed. May be called twice. */
  release(): void;
}

export interface OpenArtifact {
  bytes: number;
  /** Unix ms. */
  modifiedAt: number;
  /** Reads the range, or without one the whole file. The caller must destroy or drain the stream. */
  read(range?: ByteRange): Promise<Readable>;
  /** Returns the same bytes without a stream; null unless they are in memory. */
  lend(range?: ByteRange): LentBytes | null;
  /** Makes an address from which anyone can read it for `LINK_SECONDS`; null if the storage has none, or readers must not be sent there. */
  link: ((headers: ShownHeaders) => Promise<string>) | null;
}

/** The stored files of a request, as they were written. */
export type OpenPack = Pick<OpenArtifact, 'bytes' | 'read'>;

/** Headers of the response that a link leads to. */
export interface ShownHeaders {
  contentType: string;
  contentDisposition: string;
  cacheControl: string;
}

/** The validity of a link to the storage. */
export const LINK_SECONDS = 300;

/** Records the name of an artifact before anything of it is stored. A rejection cancels the put. */
export type Announce = (name: string) => Promise<void>;

export interface Artifacts extends AsyncDisposable {
  /** Whether checking each file is cheap, and no other machine writes any. */
  readonly isLocal: boolean;
  /** Whether the last call found the storage unusable, which is a reason to ask `isReady` before work begins. */
  readonly isFailing: boolean;
  /** The reason why nothing can be stored until the operator corrects something; null while it is unknown, and during an outage. */
  readonly refusal: string | null;
  /**
   * Stores a file, which is durable once this resolves; readers never see part of it.
   * @param extension without the dot
   * @param announce called if a put that fails may still have stored something, so that the file can be removed
   */
  put(content: Uint8Array, extension: string, announce?: Announce): Promise<StoredArtifact>;
  /** Opens an artifact; null if it does not exist, or the name is not one that `put` makes. */
  open(name: string): Promise<OpenArtifact | null>;
  /** Stores the files of a request under a name of `newPackName`, durably. @throws CaptureError `internal_error` (503) */
  putPack(name: string, pack: PackSource): Promise<void>;
  /** Opens the files of a request; null if they do not exist. `open` never finds them. */
  openPack(name: string): Promise<OpenPack | null>;
  /** Removes an artifact, or the files of a request. A missing one is not an error. */
  remove(name: string): Promise<void>;
  /** Returns whether the storage itself exists, empty or not. */
  isPresent(): Promise<boolean>;
  /** Returns whether the next picture can probably be stored. Never rejects. */
  isReady(): Promise<boolean>;
  /** Lists artifacts and files of requests last modified before a time (Unix ms), in batches; a bucket leaves out those of the last day. */
  list(before: number): AsyncIterable<string[]>;
  /**
   * Removes incomplete files that a crash has left; called at boot only.
   * @returns their number
   */
  removeLeftovers(): Promise<number>;
}

/**
 * Refuses while the storage is known to be unavailable, so that nothing is accepted, claimed or announced in vain.
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
