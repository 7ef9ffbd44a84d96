import type { FinishSignals } from '../capture/finish-signals.js';
import type { Store } from '../store/store.js';

/** Polling interval. Notifications arrive at once; polling covers the ones that are lost. */
const LOOK_MS = 1_000;

export interface EndedElsewhereOptions {
  store: Pick<Store, 'endedAmong'>;
  signals: Pick<FinishSignals, 'announce' | 'waitedFor'>;
  onError(error: unknown): void;
}

/** Checks once a second which of the jobs that somebody waits for here have ended on another server, with one query for all. */
export class EndedJobsPoller implements Disposable {
  readonly #options: EndedElsewhereOptions;
  readonly #timer: NodeJS.Timeout;
  #looking = false;

  constructor(options: EndedElsewhereOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.look(), LOOK_MS);
  }

  look(): void {
    const { store, signals, onError } = this.#options;
    const ids = signals.waitedFor;
    if (ids.length === 0 || this.#looking) return;
    this.#looking = true;
    store
      .endedAmong(ids)
      .then((ended) => {
        for (const id of ended) signals.announce(id);
      })
      .catch(onError)
      .finally(() => {
        this.#looking = false;
      });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
