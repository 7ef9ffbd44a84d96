import { shardOf } from './artifact-name.js';

interface Sized {
  name: string;
  bytes: number;
}

/**
 * How much is kept, as a running total: one scan of the directory, shard by shard, and from then on arithmetic. Files that come
 * and go while the scan is under way are counted exactly once, whichever side of the scan they are on.
 */
export class UsageTally {
  #count = 0;
  #bytes = 0;
  #scan: 'not begun' | 'under way' | 'done' = 'not begun';
  readonly #scannedShards = new Set<string>();
  /** Counted by the put itself: the scan must leave them out. */
  readonly #ownPuts = new Set<string>();
  /** Removed before their shard was scanned: the scan may have listed them, and must leave them out. */
  readonly #removed = new Set<string>();

  get total(): { count: number; bytes: number } {
    return { count: this.#count, bytes: this.#bytes };
  }

  beginScan(): void {
    this.#scan = 'under way';
  }

  /** Takes one shard's files, as listed, in one step. */
  addShard(shard: string, files: readonly Sized[]): void {
    for (const { name, bytes } of files) {
      if (!this.#ownPuts.has(name) && !this.#removed.has(name)) this.#add(1, bytes);
    }
    this.#scannedShards.add(shard);
  }

  endScan(): void {
    this.#scan = 'done';
    this.#ownPuts.clear();
    this.#removed.clear();
    this.#scannedShards.clear();
  }

  /** Forgets a scan that failed, so that another can begin. Own puts stay known only by the file that the next scan finds. */
  abandonScan(): void {
    this.endScan();
    this.#scan = 'not begun';
    this.#count = 0;
    this.#bytes = 0;
  }

  /** Before the file can be seen under its name. */
  putBegins(name: string): void {
    if (this.#scan !== 'done') this.#ownPuts.add(name);
  }

  putEnds(name: string, bytes: number): void {
    // Before the scan nothing is counted: it will find the file.
    if (this.#scan === 'not begun') this.#ownPuts.delete(name);
    else this.#add(1, bytes);
  }

  putFails(name: string): void {
    this.#ownPuts.delete(name);
  }

  /** Before the file goes. @returns whether it is in the total, for `removeEnds` */
  removeBegins(name: string): boolean {
    if (this.#scan === 'not begun') return false;
    if (this.#isCounted(name)) return true;
    this.#removed.add(name);
    return false;
  }

  removeEnds(bytes: number, wasCounted: boolean): void {
    if (wasCounted) this.#add(-1, -bytes);
  }

  #isCounted(name: string): boolean {
    return this.#scan === 'done' || this.#ownPuts.has(name) || this.#scannedShards.has(shardOf(name));
  }

  #add(count: number, bytes: number): void {
    this.#count += count;
    this.#bytes += bytes;
  }
}
