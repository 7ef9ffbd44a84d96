import { CaptureError } from '../contract/capture-error.js';

/** A failure of the disk or the directory becomes a temporary server error: 503; the path is only logged. A file that is too large does not. */
export function asNoRoom(error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined || code === 'EFBIG') return error;
  return new CaptureError({
    code: 'internal_error',
    status: 503,
    message: 'The server could not store the picture: its storage cannot be written to at the moment. Try again later.',
    retryAfterSeconds: 30,
    cause: error,
  });
}
