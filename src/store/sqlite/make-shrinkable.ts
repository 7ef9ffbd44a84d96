import type { Log } from '../../log.js';
import type { Db } from './connect.js';

const INCREMENTAL = 2;
/** Rewritten within about a second; a larger database is rewritten only by `stillframe migrate`. */
export const REWRITE_AT_START_BYTES = 200_000_000;

/**
 * Enables a database of an older version to release free pages, which rewrites it once. The caller must hold the data directory's lock. A
 * database that is larger than `maxBytes`, or for whose copy the disk has no room, stays unchanged.
 */
export function makeShrinkable(db: Db, { maxBytes, log }: { maxBytes: number; log: Log }): void {
  if (db.pragma('auto_vacuum', { simple: true }) === INCREMENTAL) return;
  const bytes = Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }));
  if (bytes > maxBytes) {
    log.warn({ bytes }, 'the database cannot release disk space: stop the server and run stillframe migrate once');
    return;
  }
  try {
    db.pragma('auto_vacuum = INCREMENTAL');
    db.exec('VACUUM');
    log.info({ bytes }, 'database rewritten, so that it can release disk space');
  } catch (error) {
    log.warn({ err: error }, 'the database could not be rewritten; it works, but cannot release disk space');
  }
}
