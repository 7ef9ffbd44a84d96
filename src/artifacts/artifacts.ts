/**
 * Stored pictures and PDFs, under unguessable names. Knows no jobs, database or HTTP. Implemented by a local directory
 * (artifacts/directory.ts).
 */
import type { Readable } from 'node:stream';

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
  read(range?: ByteRange): Readable;
  /** The same bytes without a stream; null unless they are in memory. */
  lend(range?: ByteRange): LentBytes | null;
}

export interface Artifacts extends AsyncDisposable {
  /** Durable once resolved: written under a temporary name, synced, renamed, directory synced. @param extension without the dot */
  put(content: Uint8Array, extension: string): Promise<StoredArtifact>;
  /** null if there is no such artifact, or the name is not one that `put` makes. */
  open(name: string): Promise<OpenArtifact | null>;
  /** Whether there is such an artifact. Synchronous, for transactions: it only looks at the file's entry. */
  has(name: string): boolean;
  /** Removing a missing artifact is not an error. */
  remove(name: string): Promise<void>;
  /** Whether the storage itself exists, empty or not. */
  isPresent(): Promise<boolean>;
  /** Whether there is likely to be space for the next picture. */
  hasRoom(): Promise<boolean>;
  /** Names of artifacts last modified before a time (Unix ms), in batches. */
  list(before: number): AsyncIterable<string[]>;
  /** Removes incomplete files left by a crash; at boot only. @returns how many */
  removeLeftovers(): Promise<number>;
}
