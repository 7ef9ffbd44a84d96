/** No browser can be had: one line for the operator that says what to do. */
export class BrowserError extends Error {
  override readonly name = 'BrowserError';
}
