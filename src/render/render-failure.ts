import { CaptureError } from '../contract/capture-error.js';
import { isClosed, PageMoved } from './page/page-moved.js';
import { type PageSession, SharedLoss } from './page-session.js';
import { NoBrowser } from './pool/acquire-failure.js';

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

/** Whether another capture may have been the reason for the failure. */
export function isSharedLoss(error: unknown): boolean {
  return error instanceof CaptureError && error.cause instanceof SharedLoss;
}

/** A page that was lost with a browser that it shared, and crashed again with a browser of its own, is not tried any more. A full disk stays what it is. */
export function crashedAgain(error: unknown): unknown {
  if (!(error instanceof CaptureError)) return error;
  if (error instanceof NoBrowser) {
    const message = 'The browser crashed during the capture, and no other one could be started for it.';
    return new CaptureError({ code: 'render_crashed', message, cause: error });
  }
  if (error.code !== 'render_crashed') return error;
  const message = 'The browser crashed during the capture, and again when it had no other page.';
  return new CaptureError({ code: 'render_crashed', message, details: { own_browser: true }, cause: error });
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
