import type { Log } from '../../log.js';
import type { Db } from './connect.js';

const INCREMENTAL = 2;
/** Rewritten within about a second; a larger one is left to `stillframe migrate`, which has the time. */
export const REWRITE_AT_START_BYTES = 200_000_000;

/**
 * Lets a database of a version that could not shrink give its free pages back from now on, which rewrites it once. For the holder of
 * the data directory's lock. One that is larger than `maxBytes`, or for which the disk has no room, stays as it is.
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
