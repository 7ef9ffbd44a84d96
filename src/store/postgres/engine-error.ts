import { CaptureError } from '../../contract/capture-error.js';

/** `Retry-After` while the database is away. */
const UNAVAILABLE_RETRY_S = 5;
/** Serialization failure, deadlock, and a row that another transaction inserted or deleted meanwhile: the same again may succeed. */
const LOST_RACE = /^(40001|40P01|23503|23505)$/;
/** Connection, resources, operator's intervention, files, and locks or statements that timed out. */
const UNAVAILABLE = /^(08...|53...|57...|58...|55P03|25006|25P0[23]|3D000|28...|E[A-Z_]+)$/;
/** What the driver says without a code. */
const DRIVER_SAYS = /timeout|Connection terminated|connection (error|is closed)|Client has encountered|not queryable|Cannot use a pool/i;

export function isLostRace(error: unknown): boolean {
  return LOST_RACE.test(codeOf(error));
}

/** Turns errors of the connection and the server's state into `internal_error` 503; others (bugs, broken invariants) stay unchanged. */
export function translateEngineError(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  return new CaptureError({
    code: 'internal_error',
    message: 'The database cannot be reached at the moment. Try again shortly.',
    status: 503,
    retryAfterSeconds: UNAVAILABLE_RETRY_S,
    cause: error,
  });
}

export function isUnavailable(error: unknown): boolean {
  // Bugs, some with a code of Node.
  if (error instanceof TypeError || error instanceof RangeError) return false;
  const code = codeOf(error);
  if (code !== '') return UNAVAILABLE.test(code);
  return error instanceof Error && !(error instanceof CaptureError) && DRIVER_SAYS.test(error.message);
}

/** SQLSTATE, or the system's code such as `ECONNREFUSED`; empty for an error without. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
