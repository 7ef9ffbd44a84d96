/** No browser is available; the one-line message tells the operator what to do. */
export class BrowserError extends Error {
  override readonly name = 'BrowserError';
}
