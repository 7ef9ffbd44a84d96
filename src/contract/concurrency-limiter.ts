import { CaptureError } from './capture-error.js';

export interface PlaceLimits {
  /** Places of all accounts together. */
  all: number;
  ofAccount: number;
  /** The number of requests that may wait for a place, of all accounts and of one, and how long. Default: nobody waits. */
  waiting?: { all: number; ofAccount: number; ms: number };
  /** The error for further ones. */
  message: string;
}

interface Waiter {
  accountId: string;
  enter(): void;
}

/** A limited number of places for work that a request may cost, from its first byte on. */
export class ConcurrencyLimiter {
  readonly #taken: string[] = [];
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiter>();

  constructor(private readonly limits: PlaceLimits) {}

  /**
   * Takes a place, which is free again on disposal.
   * @throws CaptureError `rate_limited` when all places, or those of the account, are taken
   */
  enter(accountId: string): Disposable {
    if (!this.#hasRoom(accountId)) throw this.#full();
    return this.#take(accountId);
  }

  /**
   * As `enter`, but waits for a place. Of those that wait, the account with the fewest places is next.
   * @throws CaptureError `rate_limited` when too many wait, or no place gets free in time; the signal's reason
   */
  async wait(accountId: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#hasRoom(accountId)) return this.#take(accountId);
    const { all, ofAccount, ms } = this.limits.waiting ?? { all: 0, ofAccount: 0, ms: 0 };
    const accounts = Array.from(this.#waiting, (one) => one.accountId);
    if (accounts.length >= all || countOf(accounts, accountId) >= ofAccount) throw this.#full();
    return await new Promise<Disposable>((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
        this.#waiting.delete(waiter);
      };
      const leave = () => {
        end();
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        end();
        reject(this.#full());
      }, ms);
      const waiter = {
        accountId,
        enter: () => {
          end();
          resolve(this.#take(accountId));
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.add(waiter);
    });
  }

  #take(accountId: string): Disposable {
    this.#taken.push(accountId);
    let isTaken = true;
    return {
      [Symbol.dispose]: () => {
        if (isTaken) this.#taken.splice(this.#taken.indexOf(accountId), 1);
        isTaken = false;
        this.#admit();
      },
    };
  }

  #admit(): void {
    const admissible = [...this.#waiting].filter(({ accountId }) => this.#hasRoom(accountId));
    const fewest = admissible.reduce<Waiter | null>(
      (one, other) =>
        one === null || countOf(this.#taken, other.accountId) < countOf(this.#taken, one.accountId) ? other : one,
      null,
    );
    fewest?.enter();
  }

  #hasRoom(accountId: string): boolean {
    return this.#taken.length < this.limits.all && countOf(this.#taken, accountId) < this.limits.ofAccount;
  }

  #full(): CaptureError {
    return new CaptureError({ code: 'rate_limited', message: this.limits.message, retryAfterSeconds: 5 });
  }
}

function countOf(accounts: readonly string[], accountId: string): number {
  return accounts.filter((one) => one === accountId).length;
}
