import { CaptureError } from '../../contract/capture-error.js';

/** The error for a capture that did not get a browser. */
export class NoBrowser extends CaptureError {
  constructor(cause: unknown) {
    super({ code: 'internal_error', status: 503, message: 'No browser was free in time. The capture can be tried again.', cause });
  }
}

/** @param reason why the wait ended */
export function noBrowser(reason: unknown): CaptureError {
  return new NoBrowser(reason);
}

/** Whether a page could not be opened because Chromium does not know the locale or timezone. */
export function isBadEmulation(error: unknown): boolean {
  return error instanceof Error && /Invalid (timezone|locale)/i.test(error.message);
}

/** The error for an unknown locale or timezone. */
export function badEmulation(error: Error): CaptureError {
  const field = /timezone/i.test(error.message) ? 'timezone' : 'locale';
  return new CaptureError({
    code: 'invalid_request',
    message: `The browser does not support this \`${field}\`.`,
    details: { field },
    cause: error,
  });
}
