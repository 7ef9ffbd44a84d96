import type { FinishSignals } from '../capture/finish-signals.js';
import type { Store } from '../store/store.js';

/** Polling interval. Notifications arrive at once; polling covers the ones that are lost. */
const POLL_MS = 1_000;

export interface EndedElsewhereOptions {
  store: Pick<Store, 'endedAmong'>;
  signals: Pick<FinishSignals, 'announce' | 'waitedFor'>;
  onError(error: unknown): void;
}

/** Checks once a second which of the jobs that somebody waits for here have ended on another server, with one query for all. */
export class EndedJobsPoller implements Disposable {
  readonly #options: EndedElsewhereOptions;
  readonly #timer: NodeJS.Timeout;
  #polling = false;

  constructor(options: EndedElsewhereOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.poll(), POLL_MS);
  }

  poll(): void {
    const { store, signals, onError } = this.#options;
    const ids = signals.waitedFor;
    if (ids.length === 0 || this.#polling) return;
    this.#polling = true;
    store
      .endedAmong(ids)
      .then((ended) => {
        for (const id of ended) signals.announce(id);
      })
      .catch(onError)
      .finally(() => {
        this.#polling = false;
      });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
