import { CaptureError } from '../../contract/capture-error.js';

/** Why a store cannot be opened or copied: one line for the operator that says what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** What a client is told while the disk is full or the file is held by another process. */
const UNAVAILABLE_RETRY_S = 5;
const UNAVAILABLE = /^SQLITE_(FULL|IOERR|BUSY|LOCKED|READONLY|CANTOPEN|NOMEM|CORRUPT|NOTADB|PROTOCOL)/;

/** Errors of the engine's surroundings become `internal_error` 503; all else (a bug, a broken invariant) stays as it is. */
export function translateEngineError(error: unknown): unknown {
  if (!UNAVAILABLE.test(engineCodeOf(error))) return error;
  return new CaptureError({
    code: 'internal_error',
    message: 'The database cannot be written to at the moment. Try again shortly.',
    status: 503,
    retryAfterSeconds: UNAVAILABLE_RETRY_S,
    cause: error,
  });
}

/** `SQLITE_…`, or empty for an error that is not the engine's. */
export function engineCodeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : '';
}
