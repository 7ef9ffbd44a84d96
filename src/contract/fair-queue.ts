interface Waiter {
  account: string;
  start(): void;
}

/** Work of which only some may run at once: of the accounts that wait, the one whose work has taken the least time is next. */
export class FairQueue {
  readonly #waiting = new Set<Waiter>();
  readonly #spentMs = new Map<string, number>();
  #running = 0;
  /** The amount that the account that began last had spent: one that comes later begins there, since idle time earns no credit. */
  #turn = 0;

  constructor(private readonly atOnce: number) {}

  /**
   * Waits for a turn, which ends on disposal.
   * @param signal ends the wait with its reason
   */
  async take(account: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    this.#spentMs.set(account, Math.max(this.#turn, this.#spentMs.get(account) ?? 0));
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiter);
        reject(signal.reason);
      };
      const start = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const waiter = { account, start };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.add(waiter);
      this.#next();
    });
    const began = performance.now();
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        this.#running--;
        this.#spentMs.set(account, this.#spentOf(account) + performance.now() - began);
        this.#next();
      },
    };
  }

  #next(): void {
    if (this.#running === 0 && this.#waiting.size === 0) {
      // Once nothing runs or waits, all accounts begin at zero again.
      this.#spentMs.clear();
      this.#turn = 0;
    }
    while (this.#running < this.atOnce && this.#waiting.size > 0) {
      const next = [...this.#waiting].reduce((one, other) =>
        this.#spentOf(other.account) < this.#spentOf(one.account) ? other : one,
      );
      this.#waiting.delete(next);
      this.#running++;
      this.#turn = Math.max(this.#turn, this.#spentOf(next.account));
      next.start();
    }
  }

  #spentOf(account: string): number {
    return this.#spentMs.get(account) ?? this.#turn;
  }
}
