import type { NetworkTracker } from '../page/network.js';

/** The requests that a scroll step started. */
export class Loads {
  readonly #begunBefore: number;
  #since = performance.now();

  constructor(private readonly network: NetworkTracker) {
    this.#begunBefore = network.loadsBegun;
  }

  /** How many there have been, in all steps. */
  get begun(): number {
    return this.network.loadsBegun - this.#begunBefore;
  }

  get pending(): number {
    return this.network.loading(this.#since);
  }

  /** What older steps started is no longer waited for. */
  begin(): void {
    this.#since = performance.now();
  }

  async done(atMostMs: number): Promise<void> {
    if (atMostMs > 0) await this.network.loaded(this.#since, AbortSignal.timeout(atMostMs));
  }
}
