import { constants } from 'node:os';
import { whenNpmEnds } from './npm-watch.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Ends a run cleanly at the first signal to this process. The second one ends the process at once. */
export class RunSignals implements Disposable {
  readonly #stop = new AbortController();
  #caught: NodeJS.Signals | null = null;
  readonly #npm = whenNpmEnds(() => this.#caught ?? this.#onSignal('SIGTERM'));

  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The exit code that shells expect after the signal; null if there was none. */
  get exitCode(): number | null {
    return this.#caught === null ? null : exitCodeOf(this.#caught);
  }

  [Symbol.dispose](): void {
    this.#npm[Symbol.dispose]();
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    if (this.#caught !== null) process.exit(exitCodeOf(signal));
    this.#caught = signal;
    this.#stop.abort(new Error(`ended by ${signal}`));
  };
}

function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
