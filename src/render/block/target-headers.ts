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
    const jar = Object.entries(given).find(([name]) => name.toLowerCase() === 'cookie')?.[1];
    const added = Object.entries(this.#headers).map(([name, value]) => [name, name === 'cookie' ? withJar(value, jar) : value] as const);
    return [...kept, ...added].map(([name, value]) => ({ name, value }));
  }
}

/** A page that sets cookies of its own gets them back, beside the given ones. */
function withJar(given: string, jar: string | undefined): string {
  if (jar === undefined) return given;
  const names = new Set(cookies(given).map(nameOf));
  return [...cookies(given), ...cookies(jar).filter((cookie) => !names.has(nameOf(cookie)))].join('; ');
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
  return URL.canParse(url) ? new URL(url).origin : null;
}
