import { CaptureError } from '../contract/capture-error.js';
import { isClosed, PageMoved } from './page/page-moved.js';
import type { PageSession } from './page-session.js';

/** Errors of a capture as a whole. */

export function neverReady(timeoutMs: number): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `The browser was not ready for the page within \`timeout\` (${timeoutMs} ms). It may be busy with other pages.`,
    details: { waited_for: 'browser' },
  });
}

export function neverStays(): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: 'The page keeps navigating: it loaded another document each time its picture was taken.',
  });
}

/** Translates errors of the browser; whatever fails in a lost browser is its fault. Anything else is a bug and stays unchanged. */
export function translate(error: unknown, session: PageSession): unknown {
  if (session.lost.aborted) return session.lost.reason;
  if (error instanceof CaptureError) return error;
  if (error instanceof PageMoved) return neverStays();
  if (isClosed(error))
    return new CaptureError({ code: 'render_crashed', message: 'The browser page crashed during the capture.', cause: error });
  return error;
}
