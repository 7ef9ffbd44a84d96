import { CaptureError } from '../../contract/capture-error.js';

/** Maximum number of items per run; more are left for the next run. */
const MAX_ITEMS = 64;

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Collects the items that arrive during a run and runs them together, so that a busy server sends fewer statements and an idle one does not
 * wait.
 */
export class StatementBatcher<Item, Result> {
  #waiting: Waiting<Item, Result>[] = [];
  #running = false;

  /** @param run processes all items, or none if it rejects; the results are in the order of the items */
  constructor(private readonly run: (items: readonly Item[]) => Promise<readonly Result[]>) {}

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#running) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#running = true;
    // Items that are added in the same turn of the event loop run together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) await this.#runSome(this.#waiting.splice(0, MAX_ITEMS));
    this.#running = false;
  }

  async #runSome(some: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.run(some.map(({ item }) => item));
      for (const [i, { resolve }] of some.entries()) resolve(results[i] as Result);
    } catch (error) {
      // One failing item must not stop the others; a lost connection is the failure of all.
      if (some.length > 1 && !(error instanceof CaptureError)) for (const one of some) await this.#runSome([one]);
      else for (const { reject } of some) reject(error);
    }
  }
}
