/** decisions.md, Added: a capture looks up each name once, and keeps the answer. */
const KEPT_MS = 30_000;
/** Limits the memory that a page with many made-up names can take. */
const KEPT_ENTRIES = 2_000;

/** The facts that a capture has learned about destinations: the newest 2,000 entries, for 30 s each. */
export class CaptureMemory<Value> {
  readonly #entries = new Map<string, { value: Value; until: number }>();

  /** @param now ms, monotonic */
  constructor(private readonly now: () => number = () => performance.now()) {}

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.until > this.now() ? entry.value : undefined;
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, until: this.now() + KEPT_MS });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > KEPT_ENTRIES && oldest !== undefined) this.#entries.delete(oldest);
  }
}
