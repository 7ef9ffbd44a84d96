import type { WriteStream } from 'node:tty';

const WIDTH = 24;
const TICK_MS = 500;
/** Erases the line and moves the cursor to its beginning. */
const CLEAR = '\r\u001b[2K';

/** Shows the progress of many captures: a bar on a terminal, nothing elsewhere. Lines are printed above it. */
export class ProgressBar implements Disposable {
  readonly #stream: WriteStream;
  readonly #total: number;
  readonly #timer: NodeJS.Timeout | null;
  #began: number | null = null;
  #done = 0;
  #failed = 0;

  constructor(stream: WriteStream, total: number) {
    this.#stream = stream;
    this.#total = total;
    this.#timer = stream.isTTY && stream.hasColors() ? setInterval(() => this.#draw(), TICK_MS).unref() : null;
    this.#draw();
  }

  /** Marks the start of the first capture, from which the rate is measured. */
  begin(): void {
    this.#began = performance.now();
  }

  /** Counts a capture that has ended. */
  count(isFailed: boolean): void {
    this.#done += 1;
    if (isFailed) this.#failed += 1;
    this.#draw();
  }

  /** Prints a line above the bar. */
  say(line: string): void {
    this.#stream.write(`${this.#timer === null ? '' : CLEAR}${line}\n`);
    this.#draw();
  }

  [Symbol.dispose](): void {
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    this.#stream.write(CLEAR);
  }

  #draw(): void {
    if (this.#timer === null) return;
    const full = Math.round((WIDTH * this.#done) / this.#total);
    const bar = `[${'='.repeat(full)}${' '.repeat(WIDTH - full)}] ${this.#done}/${this.#total}${this.#rate()}`;
    // A line that wraps cannot be erased.
    this.#stream.write(`${CLEAR}${bar.slice(0, this.#stream.columns - 1)}`);
  }

  #rate(): string {
    const failed = this.#failed === 0 ? '' : `, ${this.#failed} failed`;
    if (this.#began === null) return `${failed}, starting`;
    if (this.#done === 0) return failed;
    const perSecond = (this.#done * 1_000) / (performance.now() - this.#began);
    const left = (this.#total - this.#done) / perSecond;
    return `${failed}, ${perSecond.toFixed(1)} a second, ${Math.ceil(left)} s left`;
  }
}
