/** Pictures with more pixels are encoded one at a time, since they need much memory. */
const BIG_PIXELS = 12_000_000;

/** Encodes big pictures one at a time per process. Small ones do not wait. */
export class EncodeQueue {
  #last: Promise<unknown> = Promise.resolve();

  async run<Result>(pixels: number, encode: () => Promise<Result>): Promise<Result> {
    if (pixels < BIG_PIXELS) return encode();
    const queued = this.#last.then(encode, encode);
    this.#last = queued.catch(() => {});
    return queued;
  }
}
