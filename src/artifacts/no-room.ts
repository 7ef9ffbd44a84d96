import { CaptureError } from '../contract/capture-error.js';

/** Errors of a disk that accepts no more data. */
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EFBIG', 'EIO', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE']);

/** A full or read-only disk becomes a temporary server error: 503; the path is only logged. */
export function asNoRoom(error: unknown): unknown {
  if (!NO_ROOM.has((error as NodeJS.ErrnoException).code ?? '')) return error;
  return new CaptureError({
    code: 'internal_error',
    status: 503,
    message: 'The server could not store the picture: its storage cannot be written to at the moment. Try again later.',
    retryAfterSeconds: 30,
    cause: error,
  });
}
