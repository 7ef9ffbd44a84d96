import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ByteRange, LentBytes } from './artifacts.js';

export interface RecentFilesLimits {
  /** All contents that are kept. */
  keptBytes: number;
  /** All contents that are being sent, since a slow client keeps its own in memory, whatever is evicted. */
  lentBytes: number;
  /** Larger files are streamed. */
  fileBytes: number;
}

const LIMITS: RecentFilesLimits = { keptBytes: 32 * 1024 * 1024, lentBytes: 64 * 1024 * 1024, fileBytes: 2 * 1024 * 1024 };
/** Files that were read once. */
const NOTICED_MAX = 1_000;

/**
 * Keeps the contents of files that are read repeatedly, within limits; everything else is streamed from the disk. The files must never
 * change, and whoever reads one has just checked that it exists.
 */
export class RecentFiles {
  readonly #limits: RecentFilesLimits;
  /** By path, the least recently read first. */
  readonly #kept = new Map<string, Buffer>();
  /** Most pictures are read once: what is read for the first time is not kept. */
  readonly #noticed = new Set<string>();
  #keptBytes = 0;
  #lentBytes = 0;

  constructor(limits: RecentFilesLimits = LIMITS) {
    this.#limits = limits;
  }

  /** The content of a file, if it is kept. @param bytes size of the file */
  lend(path: string, bytes: number, range?: ByteRange): LentBytes | null {
    const content = this.#isLendable(bytes) ? this.#find(path, bytes) : null;
    return content === null ? null : { content: partOf(content, range), release: this.#borrow(bytes) };
  }

  /** @param bytes size of the file. The caller must destroy or drain the stream. */
  read(path: string, bytes: number, range?: ByteRange): Readable {
    if (!this.#isLendable(bytes) || !this.#isRepeated(path)) return createReadStream(path, range);
    const release = this.#borrow(bytes);
    const find = async () => partOf(this.#find(path, bytes) ?? (await this.#load(path)), range);
    return new Readable({
      read() {
        find().then(
          (content) => {
            this.push(content);
            this.push(null);
          },
          (error) => this.destroy(error),
        );
      },
      destroy(error, done) {
        release();
        done(error);
      },
    });
  }

  /** To be called when the file is removed. */
  forget(path: string): void {
    this.#noticed.delete(path);
    this.#keptBytes -= this.#kept.get(path)?.length ?? 0;
    this.#kept.delete(path);
  }

  #isRepeated(path: string): boolean {
    if (this.#kept.has(path) || this.#noticed.has(path)) return true;
    this.#noticed.add(path);
    for (const oldest of this.#noticed) {
      if (this.#noticed.size <= NOTICED_MAX) break;
      this.#noticed.delete(oldest);
    }
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

  /** null if it is not kept, or the file on the disk has another size. */
  #find(path: string, bytes: number): Buffer | null {
    const content = this.#kept.get(path);
    if (content === undefined || content.length !== bytes) return null;
    this.#kept.delete(path);
    this.#kept.set(path, content);
    return content;
  }

  async #load(path: string): Promise<Buffer> {
    const content = await readFile(path);
    // Not if it was removed in the meantime.
    if (this.#noticed.has(path) && content.length <= this.#limits.fileBytes) this.#keep(path, content);
    return content;
  }

  #keep(path: string, content: Buffer): void {
    this.forget(path);
    this.#kept.set(path, content);
    this.#keptBytes += content.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#keptBytes <= this.#limits.keptBytes) break;
      this.forget(oldest);
    }
  }
}

function partOf(content: Buffer, range: ByteRange | undefined): Buffer {
  return range === undefined ? content : content.subarray(range.start, range.end + 1);
}
