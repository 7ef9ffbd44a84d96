/** The document was replaced, because the page has navigated. */
export class DocumentReplaced extends Error {
  override readonly name = 'DocumentReplaced';
}

const DOCUMENT_GONE =
  /Cannot find context|context was destroyed|context with specified id|navigated or closed|No frame (?:with|for) given id|uniqueContextId not found|Frame (?:was|with)/i;
const PAGE_CLOSED = /Target (?:page|closed|crashed)|page crashed|session closed|has been closed/i;

/** Whether a command failed because its document was replaced, or the page was closed. */
export function isGone(error: unknown): boolean {
  return error instanceof DocumentReplaced || isClosed(error) || (error instanceof Error && DOCUMENT_GONE.test(error.message));
}

/** Whether a command failed because the page was closed. */
export function isClosed(error: unknown): error is Error {
  return error instanceof Error && PAGE_CLOSED.test(error.message);
}
