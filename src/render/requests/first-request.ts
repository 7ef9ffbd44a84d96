/** Whether a hop has the caller's Referer, is the first to be without it, or has what the browser says by itself. */
type Hop = 'with-referer' | 'leaving' | 'plain';

/**
 * Follows a capture's first request through its redirects, to say where the caller's Referer goes (decisions.md, Added): with the first
 * request and, as browsers do it, with its redirects as long as they stay on the target's origin.
 */
export class FirstRequest {
  readonly #isTarget: (url: string) => boolean;
  /** The same for all hops of one request. */
  #networkId: string | null = null;
  #left = false;

  constructor(isTarget: (url: string) => boolean) {
    this.#isTarget = isTarget;
  }

  /** To be told of every request of the page, in order, each hop of a redirect by itself. */
  hop({ networkId, url }: { networkId: string; url: string }): Hop {
    this.#networkId ??= networkId;
    if (this.#left || networkId !== this.#networkId) return 'plain';
    this.#left = !this.#isTarget(url);
    return this.#left ? 'leaving' : 'with-referer';
  }
}
