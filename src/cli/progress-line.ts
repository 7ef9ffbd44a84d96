import type { WriteStream } from 'node:tty';
import { printable } from './operator-error.js';

const TICK_MS = 250;
/** Erases the line and moves the cursor to its beginning. */
const CLEAR = '\r\u001b[2K';

/** The steps of a render by progress (0–100), latest step first. */
const STEPS: [from: number, step: string][] = [
  [80, 'taking the picture'],
  [60, 'scrolling through the page'],
  [40, 'waiting for the page to settle'],
  [15, 'loading the page'],
  [5, 'opening a page'],
  [0, 'starting the browser'],
];

/**
 * A status line on a terminal: the current step and the time elapsed. Prints nothing if the stream is not a terminal. `yocto-spinner` hides
 * the cursor, and to show it again it ends the process itself at SIGINT, after which a loop of the shell goes on.
 */
export class ProgressLine implements Disposable {
  readonly #stream: WriteStream;
  readonly #what: string;
  readonly #began = performance.now();
  readonly #timer: NodeJS.Timeout | null;
  #progress = 0;

  constructor(stream: WriteStream, what: string) {
    this.#stream = stream;
    this.#what = printable(what);
    this.#timer = stream.isTTY && stream.hasColors() ? setInterval(() => this.#draw(), TICK_MS).unref() : null;
    if (this.#timer !== null) this.#draw();
  }

  /** @param progress 0–100 */
  tell(progress: number): void {
    this.#progress = progress;
    if (this.#timer !== null) this.#draw();
  }

  /** Prints a line above the status line. */
  say(line: string): void {
    this.#stream.write(`${this.#timer === null ? '' : CLEAR}${line}\n`);
  }

  [Symbol.dispose](): void {
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    this.#stream.write(CLEAR);
  }

  #draw(): void {
    const [, step = ''] = STEPS.find(([from]) => this.#progress >= from) ?? [];
    const seconds = ((performance.now() - this.#began) / 1_000).toFixed(1);
    const line = `${this.#what}: ${step} (${seconds} s)`;
    // A line that wraps cannot be erased.
    this.#stream.write(`${CLEAR}${line.slice(-(this.#stream.columns - 1))}`);
  }
}
