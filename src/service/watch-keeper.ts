import type { Log } from '../log.js';
import type { WatchStore } from '../store/store.js';
import type { OpenWatches, WatchesOptions } from '../watch/open-watches.js';

/** The delay after which a server notices the first watch, which another server has made. */
const LOOK_EVERY_MS = 5_000;

export interface WatchKeeperOptions {
  store: Pick<WatchStore, 'anyWatch'>;
  shared: boolean;
  options(): WatchesOptions;
  log: Log;
  onError(error: unknown): void;
}

/** Loads what watches need once there is one, or somebody asks for them: a server without watches loads nothing of it. */
export class WatchKeeper implements AsyncDisposable {
  #opening: Promise<OpenWatches> | null = null;
  #opened: OpenWatches | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(private readonly parts: WatchKeeperOptions) {}

  /** Begins to look for watches. */
  start(): void {
    void this.#look();
    if (this.parts.shared) this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS);
  }

  /** Opens the watches, and starts their loops. */
  open(): Promise<OpenWatches> {
    this.#opening ??= this.#load().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  }

  /** Looks for work now, if there are watches. */
  wake(): void {
    this.#opened?.wake();
  }

  async drain(graceMs: number): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#opening?.catch(() => undefined);
    await this.#opened?.drain(graceMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened?.[Symbol.asyncDispose]();
  }

  async #load(): Promise<OpenWatches> {
    const { openWatches } = await import('../watch/open-watches.js');
    const opened = openWatches(this.parts.options());
    this.#opened = opened;
    if (!this.#isClosed) await opened.start();
    return opened;
  }

  async #look(): Promise<void> {
    try {
      if (this.#opening !== null || this.#isClosed || !(await this.parts.store.anyWatch())) return;
      await this.open();
    } catch (error) {
      this.parts.onError(error);
    }
  }
}
