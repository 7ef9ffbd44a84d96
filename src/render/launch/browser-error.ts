/** No browser is available. The message, one line, explains the remedy to the operator. */
export class BrowserError extends Error {
  override readonly name = 'BrowserError';
}
