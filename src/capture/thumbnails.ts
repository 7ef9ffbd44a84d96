import { buffer } from 'node:stream/consumers';
import { LRUCache } from 'lru-cache';
import type { OpenArtifact } from '../artifacts/artifacts.js';
import { makeThumbnail, thumbnailMemory } from '../render/encode/thumbnail.js';
import { withoutBmp } from '../render/encode/whole-picture.js';
import type { EncodeQueue } from '../render/memory.js';

export interface ThumbnailDeps {
  openPicture(name: string): Promise<OpenArtifact | 'deleted' | null>;
  /** Waits for a share of the memory of captures; null where none are made. */
  reserveMemory(): ((bytes: number, signal: AbortSignal) => Promise<Disposable>) | null;
  encodes: EncodeQueue;
}

/** A webp, or why there is none: `busy` ones can be made later. */
export type Thumbnail = Buffer | 'deleted' | 'not shown' | 'busy';

/** A thumbnail has 2 to 15 kB. */
const KEPT_BYTES = 16 * 1024 * 1024;
/** A deleted picture's thumbnail is never shown, and leaves memory by then. */
const KEPT_MS = 3_600_000;
const SOURCE_MAX_BYTES = 64_000_000;
/** Thumbnails that are being made or wait for it. */
const WAITING_MAX = 100;
const MEMORY_WAIT_MS = 5_000;
/** Makes the queue encode one at a time. */
const ALONE = Number.POSITIVE_INFINITY;

/** Makes thumbnails of stored pictures on request, one at a time within the memory of captures, and keeps them in memory. */
export class Thumbnails {
  readonly #deps: ThumbnailDeps;
  readonly #kept = new LRUCache<string, Buffer>({
    maxSize: KEPT_BYTES,
    ttl: KEPT_MS,
    sizeCalculation: ({ length }) => Math.max(1, length),
  });
  readonly #making = new Map<string, Promise<Thumbnail>>();

  constructor(deps: ThumbnailDeps) {
    this.#deps = deps;
  }

  /** @returns null if there never was such a picture. @throws CaptureError `internal_error` (503) if the storage cannot be reached */
  async of(name: string): Promise<Thumbnail | null> {
    const artifact = await this.#deps.openPicture(name);
    if (artifact === null) return null;
    if (artifact === 'deleted') {
      this.#kept.delete(name);
      return 'deleted';
    }
    const known = this.#kept.get(name) ?? this.#making.get(name);
    if (known !== undefined) return await known;
    if (/\.(pdf|mp4|txt)$/.test(name) || artifact.bytes > SOURCE_MAX_BYTES) return 'not shown';
    if (this.#making.size >= WAITING_MAX) return 'busy';
    const making = this.#deps.encodes.run(ALONE, () => this.#make(artifact)).finally(() => this.#making.delete(name));
    this.#making.set(name, making);
    const made = await making;
    if (made instanceof Buffer) this.#kept.set(name, made);
    return made;
  }

  async #make(artifact: OpenArtifact): Promise<Thumbnail> {
    const content = await withoutBmp(await buffer(await artifact.read()));
    const bytes = await thumbnailMemory(content);
    if (bytes === null) return 'not shown';
    const reserve = this.#deps.reserveMemory();
    try {
      using _memory = await reserve?.(bytes + content.length, AbortSignal.timeout(MEMORY_WAIT_MS));
      return await makeThumbnail(content).catch(() => 'not shown' as const);
    } catch {
      return 'busy';
    }
  }
}
