/** The document that was asked is gone: the page has moved on. */
export class PageMoved extends Error {
  override readonly name = 'PageMoved';
}

const GONE =
  /Cannot find context|context was destroyed|context with specified id|navigated or closed|No frame (?:with|for) given id|uniqueContextId not found|Frame (?:was|with)|Target (?:page|closed|crashed)|Session closed/i;

/** Whether a command failed because its document, or the whole page, went away. */
export function isGone(error: unknown): boolean {
  return error instanceof PageMoved || (error instanceof Error && GONE.test(error.message));
}
