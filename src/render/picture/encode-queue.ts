/** Above this many pixels an encode has the machine's memory to itself. */
const BIG_PIXELS = 12_000_000;

/** Big pictures are encoded one at a time in a process; small ones do not wait. */
export class EncodeQueue {
  #last: Promise<unknown> = Promise.resolve();

  async run<Result>(pixels: number, encode: () => Promise<Result>): Promise<Result> {
    if (pixels < BIG_PIXELS) return encode();
    const mine = this.#last.then(encode, encode);
    this.#last = mine.catch(() => {});
    return mine;
  }
}
