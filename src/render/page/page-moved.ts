/** The document that was asked is gone: the page has moved on. */
export class PageMoved extends Error {
  override readonly name = 'PageMoved';
}

const DOCUMENT_GONE =
  /Cannot find context|context was destroyed|context with specified id|navigated or closed|No frame (?:with|for) given id|uniqueContextId not found|Frame (?:was|with)/i;
const PAGE_CLOSED = /Target (?:page|closed|crashed)|page crashed|session closed|has been closed/i;

/** Whether a command failed because its document, or the whole page, went away. */
export function isGone(error: unknown): boolean {
  return error instanceof PageMoved || isClosed(error) || (error instanceof Error && DOCUMENT_GONE.test(error.message));
}

/** Whether a command failed because the whole page went away. */
export function isClosed(error: unknown): error is Error {
  return error instanceof Error && PAGE_CLOSED.test(error.message);
}
