/**
 * Bytes kept: pictures and PDFs under unguessable names. Knows no job, no database, no HTTP; a local directory today
 * (artifacts/directory.ts), an object store later.
 */
import type { Readable } from 'node:stream';

export interface StoredArtifact {
  /** `<32 or more url-safe characters>.<ext>` */
  name: string;
  bytes: number;
  /** Hex. */
  sha256: string;
}

export interface OpenArtifact {
  bytes: number;
  /** Unix ms. */
  modifiedAt: number;
  /** Inclusive byte offsets; the whole when absent. The caller destroys or drains the stream. */
  read(range?: { start: number; end: number }): Readable;
}

export interface Artifacts extends AsyncDisposable {
  /** Durable when resolved: temporary name, write, sync, rename, sync directory. @param extension without the dot */
  put(content: Uint8Array, extension: string): Promise<StoredArtifact>;
  /** null when there is no such artifact, or the name is not one that `put` makes. */
  open(name: string): Promise<OpenArtifact | null>;
  /** Removing what is not there is no error. */
  remove(name: string): Promise<void>;
  /** Whether the storage itself is there, with whatever it holds. */
  isPresent(): Promise<boolean>;
  /** Whether the next picture is likely to find space. */
  hasRoom(): Promise<boolean>;
  /** Names of artifacts last modified before; in batches. */
  list(before: number): AsyncIterable<string[]>;
  /** Removes half-written files that a crash left; at boot only. @returns how many */
  removeLeftovers(): Promise<number>;
}
