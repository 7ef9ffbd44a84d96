import { CaptureError } from '../contract/capture-error.js';
import { DISK_FULL } from '../contract/health.js';

const DISK_FULL_CODES = new Set(['ENOSPC', 'EDQUOT']);

/**
 * Turns a failure of the disk or the directory into a temporary server error, 503; the path is only logged. A too large file stays
 * unchanged.
 */
export function asStorageError(error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined || code === 'EFBIG') return error;
  return new CaptureError({
    code: 'internal_error',
    status: 503,
    message: DISK_FULL_CODES.has(code)
      ? DISK_FULL
      : 'The server could not store the picture: its storage cannot be written to. Try again later.',
    retryAfterSeconds: 30,
    cause: error,
  });
}
