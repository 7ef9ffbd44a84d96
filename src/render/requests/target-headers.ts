import { readUrl } from '../../contract/read-url.js';

/** Whether a hop of a request carries the caller's Referer, is the first that must not, or keeps the browser's own. */
type RefererOfHop = 'goes along' | 'ends here' | 'as the browser has it';

/** The caller's headers (decisions.md, Capture semantics and Added), which are sent to the target's own origin only. */
export class TargetHeaders {
  readonly #origin: string;
  readonly #headers: Readonly<Record<string, string>>;
  /** The id of the capture's first request, the same for all its hops. */
  #firstId: string | null = null;
  #refererEnded = false;

  /** @param headers by lower-case name */
  constructor(targetUrl: string, headers: Readonly<Record<string, string>>) {
    this.#origin = new URL(targetUrl).origin;
    this.#headers = headers;
  }

  get origin(): string {
    return this.#origin;
  }

  get none(): boolean {
    return Object.keys(this.#headers).length === 0;
  }

  /**
   * Follows the first request through its redirects, which carry the caller's Referer while on the target's origin
   * (decisions.md, Added). Must be called for every request of the page and each redirect hop, in order.
   */
  refererOf({ networkId, url }: { networkId: string; url: string }): RefererOfHop {
    this.#firstId ??= networkId;
    if (this.#refererEnded || networkId !== this.#firstId) return 'as the browser has it';
    this.#refererEnded = !this.isTarget(url);
    if (!this.#refererEnded) return 'goes along';
    return 'referer' in this.#headers ? 'ends here' : 'as the browser has it';
  }

  /** Whether a URL has the target's origin. */
  isTarget(url: string): boolean {
    return originOf(url) === this.#origin;
  }

  /**
   * All headers of one hop of a request that may carry the caller's headers. Each hop is judged by its own URL, so a redirect
   * to another origin omits them.
   * @param request as the browser would send it
   * @param hasReferer whether it carries the caller's Referer
   * @returns null to leave the headers unchanged
   */
  forHop({ url, headers: given }: SentRequest, hasReferer: boolean): Header[] | null {
    if (this.none || !this.isTarget(url)) return null;
    const { referer: _referer, ...always } = this.#headers;
    const own = hasReferer ? this.#headers : always;
    const kept = Object.entries(given).filter(([name]) => !(name.toLowerCase() in own));
    const pageCookies = Object.entries(given).find(([name]) => name.toLowerCase() === 'cookie')?.[1];
    const added = Object.entries(own).map(([name, value]) => [name, name === 'cookie' ? mergeCookies(value, pageCookies) : value] as const);
    return [...kept, ...added].map(([name, value]) => ({ name, value }));
  }
}

interface SentRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
}

interface Header {
  name: string;
  value: string;
}

/** Adds the page's own cookies to the given ones. */
function mergeCookies(given: string, pageCookies: string | undefined): string {
  if (pageCookies === undefined) return given;
  const names = new Set(cookies(given).map(nameOf));
  return [...cookies(given), ...cookies(pageCookies).filter((cookie) => !names.has(nameOf(cookie)))].join('; ');
}

function cookies(header: string): string[] {
  return header
    .split(';')
    .map((cookie) => cookie.trim())
    .filter((cookie) => cookie !== '');
}

function nameOf(cookie: string): string {
  return cookie.split('=', 1)[0] ?? '';
}

function originOf(url: string): string | null {
  return readUrl(url)?.origin ?? null;
}
