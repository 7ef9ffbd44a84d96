import { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { ByteRange, LentBytes } from './artifacts.js';

export interface RecentFilesLimits {
  /** All contents that are kept. */
  keptBytes: number;
  /** All contents that are being sent, since a slow client keeps its own in memory, whatever is evicted. */
  lentBytes: number;
  /** Larger files are streamed. */
  fileBytes: number;
}

/** The directory of the files. A file is known by its path, or whatever names it there. */
export interface FileSource {
  /** @param bytes size of the file */
  stream(path: string, bytes: number, range?: ByteRange): Promise<Readable>;
  load(path: string, bytes: number): Promise<Buffer>;
}

const LIMITS: RecentFilesLimits = {
  keptBytes: 32 * 1024 * 1024,
  lentBytes: 64 * 1024 * 1024,
  fileBytes: 2 * 1024 * 1024,
};
/** Files that were read once. */
const NOTICED_MAX = 1_000;

/**
 * Keeps the contents of files that are read repeatedly, within limits; everything else is streamed from its source. The files must never
 * change, and whoever reads one has just checked that it exists.
 */
export class RecentFiles {
  readonly #source: FileSource;
  readonly #limits: RecentFilesLimits;
  /** Contents by path. */
  readonly #kept: LRUCache<string, Buffer>;
  /** Most pictures are read once: what is read for the first time is not kept. */
  readonly #noticed = new LRUCache<string, true>({ max: NOTICED_MAX });
  #lentBytes = 0;

  constructor(source: FileSource, limits: RecentFilesLimits = LIMITS) {
    this.#source = source;
    this.#limits = limits;
    this.#kept = new LRUCache({
      maxSize: limits.keptBytes,
      sizeCalculation: (content) => Math.max(1, content.length),
      dispose: (_content, path, reason) => void (reason === 'evict' && this.#noticed.delete(path)),
    });
  }

  /** The content of a file, if it is kept. @param bytes size of the file */
  lend(path: string, bytes: number, range?: ByteRange): LentBytes | null {
    const content = this.#isLendable(bytes) ? this.#find(path, bytes) : null;
    return content === null ? null : { content: partOf(content, range), release: this.#borrow(bytes) };
  }

  /** @param bytes size of the file. The caller must destroy or drain the stream. */
  async read(path: string, bytes: number, range?: ByteRange): Promise<Readable> {
    if (!this.#isLendable(bytes) || !this.#isRepeated(path)) return await this.#source.stream(path, bytes, range);
    const release = this.#borrow(bytes);
    try {
      return streamOf(partOf(this.#find(path, bytes) ?? (await this.#load(path, bytes)), range), release);
    } catch (error) {
      release();
      throw error;
    }
  }

  /** To be called when the file is removed. */
  forget(path: string): void {
    this.#noticed.delete(path);
    this.#kept.delete(path);
  }

  #isRepeated(path: string): boolean {
    if (this.#kept.has(path) || this.#noticed.has(path)) return true;
    this.#noticed.set(path, true);
    return false;
  }

  #isLendable(bytes: number): boolean {
    return bytes <= this.#limits.fileBytes && this.#lentBytes + bytes <= this.#limits.lentBytes;
  }

  /** Counts the bytes as lent, until what it returns is called. */
  #borrow(bytes: number): () => void {
    this.#lentBytes += bytes;
    let left = bytes;
    return () => {
      this.#lentBytes -= left;
      left = 0;
    };
  }

  /** null if it is not kept, or the file has another size now. */
  #find(path: string, bytes: number): Buffer | null {
    const content = this.#kept.get(path);
    return content?.length === bytes ? content : null;
  }

  async #load(path: string, bytes: number): Promise<Buffer> {
    const content = await this.#source.load(path, bytes);
    // Not if it was removed in the meantime.
    if (this.#noticed.has(path) && content.length <= this.#limits.fileBytes) this.#kept.set(path, content);
    return content;
  }
}

function streamOf(content: Buffer, release: () => void): Readable {
  return new Readable({
    read() {
      this.push(content);
      this.push(null);
    },
    destroy(error, done) {
      release();
      done(error);
    },
  });
}

function partOf(content: Buffer, range: ByteRange | undefined): Buffer {
  return range === undefined ? content : content.subarray(range.start, range.end + 1);
}
