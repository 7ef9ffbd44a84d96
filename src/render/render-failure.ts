import { CaptureError } from '../contract/capture-error.js';
import { keepsNavigating } from './page/navigate.js';
import { DocumentReplaced, isClosed } from './page/world.js';
import { NoBrowser, type PageSession, SharedLoss } from './page-session.js';

export function browserNotReady(timeoutMs: number): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `The browser was not ready for the page within \`timeout\` (${timeoutMs} ms). It may be busy with other pages.`,
    details: { waited_for: 'browser' },
  });
}

/** Whether another capture may have caused the failure. */
export function isSharedLoss(error: unknown): boolean {
  return error instanceof CaptureError && error.cause instanceof SharedLoss;
}

/** Marks a crash in a dedicated browser as final, so that it is not retried. Other errors, such as a full disk, are unchanged. */
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

/** Translates the browser's errors. Any failure in a crashed browser counts as that crash; other errors are bugs and stay unchanged. */
export function translate(error: unknown, session: PageSession): unknown {
  if (session.lost.aborted) return session.lost.reason;
  if (error instanceof CaptureError) return error;
  if (error instanceof DocumentReplaced) return keepsNavigating();
  if (isClosed(error))
    return new CaptureError({ code: 'render_crashed', message: 'The browser page crashed during the capture.', cause: error });
  return error;
}
