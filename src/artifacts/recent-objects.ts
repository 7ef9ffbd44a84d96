export interface KnownObject {
  bytes: number;
  /** Unix ms. */
  modifiedAt: number;
}

/** How long an object is taken to exist without another look. */
const KNOWN_MS = 60_000;
const KNOWN_MAX = 2_000;

/** Objects that were stored or looked at a moment ago. Spares most readers a request, since most pictures are read soon after the capture. */
export class RecentObjects {
  /** By name, the oldest first. */
  readonly #known = new Map<string, { object: KnownObject; until: number }>();

  find(name: string): KnownObject | null {
    const known = this.#known.get(name);
    return known !== undefined && known.until > performance.now() ? known.object : null;
  }

  keep(name: string, object: KnownObject): void {
    this.#known.delete(name);
    this.#known.set(name, { object, until: performance.now() + KNOWN_MS });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= KNOWN_MAX) break;
      this.#known.delete(oldest);
    }
  }

  forget(name: string): void {
    this.#known.delete(name);
  }
}
