/** decisions.md, Capture semantics, `headers`: to the target's own origin, and to nobody else. */
export class TargetHeaders {
  readonly #origin: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param headers lower-case names */
  constructor(targetUrl: string, headers: Readonly<Record<string, string>>) {
    this.#origin = new URL(targetUrl).origin;
    this.#headers = headers;
  }

  get none(): boolean {
    return Object.keys(this.#headers).length === 0;
  }

  /**
   * The whole header list of one hop of one request: each hop is judged by its own URL, so a redirect to another
   * origin goes without.
   *
   * @param given what the browser would send
   * @returns null when it goes as it is
   */
  forHop(url: string, given: Readonly<Record<string, string>>): { name: string; value: string }[] | null {
    if (this.none || originOf(url) !== this.#origin) return null;
    const kept = Object.entries(given).filter(([name]) => !(name.toLowerCase() in this.#headers));
    return [...kept, ...Object.entries(this.#headers)].map(([name, value]) => ({ name, value }));
  }
}

function originOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).origin : null;
}
