import type { Engine } from '../library/engine.js';

/** Time without a capture after which the browser is stopped, since its client may stay open all day. */
const IDLE_MS = 300_000;

/** An engine that is opened when it is needed, and closed when it has not been needed for a while. */
export class IdleEngine implements AsyncDisposable {
  readonly #open: () => Promise<Engine>;
  #engine: Promise<Engine> | null = null;
  #users = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(open: () => Promise<Engine>) {
    this.#open = open;
  }

  /**
   * Opens the engine if necessary, and runs the work.
   * @throws as Engine.open, which the next use tries again
   */
  async use<Result>(work: (engine: Engine) => Promise<Result>): Promise<Result> {
    this.#users++;
    clearTimeout(this.#timer);
    try {
      this.#engine ??= this.#open();
      const opening = this.#engine;
      const engine = await opening.catch((error: unknown) => {
        if (this.#engine === opening) this.#engine = null;
        throw error;
      });
      return await work(engine);
    } finally {
      this.#users--;
      if (this.#users === 0) this.#timer = setTimeout(() => void this.#close(), IDLE_MS).unref();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#close();
  }

  async #close(): Promise<void> {
    const engine = this.#engine;
    this.#engine = null;
    await (await engine?.catch(() => null))?.[Symbol.asyncDispose]();
  }
}
