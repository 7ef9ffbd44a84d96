import { CaptureError } from './capture-error.js';

export interface PlaceLimits {
  /** Places of all accounts together. */
  all: number;
  ofAccount: number;
  /** The error for further ones. */
  message: string;
}

/** A limited number of places for work that a request may cost, from its first byte on. */
export class Places {
  readonly #taken: string[] = [];

  constructor(private readonly limits: PlaceLimits) {}

  /**
   * Takes a place, which is free again on disposal.
   * @throws CaptureError `rate_limited` when all places, or those of the account, are taken
   */
  enter(accountId: string): Disposable {
    const { all, ofAccount, message } = this.limits;
    if (this.#taken.length >= all || this.#taken.filter((one) => one === accountId).length >= ofAccount)
      throw new CaptureError({ code: 'rate_limited', message, retryAfterSeconds: 5 });
    this.#taken.push(accountId);
    let isTaken = true;
    return {
      [Symbol.dispose]: () => {
        if (isTaken) this.#taken.splice(this.#taken.indexOf(accountId), 1);
        isTaken = false;
      },
    };
  }
}
