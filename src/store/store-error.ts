import { CaptureError } from '../contract/capture-error.js';
import { DISK_FULL } from '../contract/health.js';

/** An error for a store that cannot be opened or copied, with a one-line message that says what the operator can do. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** Seconds of `Retry-After` while the disk is full or another process locks the file. */
const UNAVAILABLE_RETRY_S = 5;
const UNAVAILABLE = /^SQLITE_(FULL|IOERR|BUSY|LOCKED|READONLY|CANTOPEN|NOMEM|CORRUPT|NOTADB|PROTOCOL)/;

/**
 * Turns environment errors of SQLite (full disk, lock) into `internal_error` 503; other errors (bugs, broken invariants) stay unchanged.
 */
export function translateEngineError(error: unknown): unknown {
  const code = engineCodeOf(error);
  if (!UNAVAILABLE.test(code)) return error;
  return new CaptureError({
    code: 'internal_error',
    message: code === 'SQLITE_FULL' ? DISK_FULL : 'The database cannot be written to at the moment. Try again shortly.',
    status: 503,
    retryAfterSeconds: UNAVAILABLE_RETRY_S,
    cause: error,
  });
}

/** Returns a code `SQLITE_…`, or an empty string for an error that is not SQLite's. */
export function engineCodeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : '';
}
