import { statSync } from 'node:fs';
import type { Checkpoints } from './checkpoints.js';
import type { Connection } from './connection.js';
import type { Writer } from './writer.js';

/** Number of pages that one transaction moves; small, so that a slice does not delay other writes. */
const SLICE_PAGES = 100;
/** Maximum number of slices per call. */
const SLICES = 100;

interface DatabaseFileParts {
  connection: Pick<Connection, 'db'>;
  writer: Writer;
  checkpoints: Pick<Checkpoints, 'truncate'>;
}

/** Measures and reduces the database's disk usage. */
export class DatabaseFile {
  readonly #parts: DatabaseFileParts;

  constructor(parts: DatabaseFileParts) {
    this.#parts = parts;
  }

  /** Returns the bytes of the file and its log, of which `free` are in unused pages. */
  size(): { database: number; free: number } {
    const { name } = this.#parts.connection.db;
    const database = sizeOf(name) + sizeOf(`${name}-wal`);
    return { database, free: this.number('freelist_count') * this.number('page_size') };
  }

  /** Moves used pages to the front, truncates the file, and empties the log. */
  async shrink(): Promise<void> {
    // This throws if the database is damaged or replaced, since the thread of the checkpoints must not open another log.
    await this.#parts.writer.run(() => undefined);
    for (let slice = 0; slice < SLICES && this.number('freelist_count') > 0; slice++) {
      const before = this.number('freelist_count');
      await this.#parts.writer.run(() => this.#parts.connection.db.pragma(`incremental_vacuum(${SLICE_PAGES})`));
      // A database created by an older version cannot shrink (open-store.ts).
      if (this.number('freelist_count') >= before) break;
    }
    await this.#parts.checkpoints.truncate();
  }

  private number(pragma: string): number {
    return Number(this.#parts.connection.db.pragma(pragma, { simple: true }));
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
