import type { WriteStream } from 'node:tty';
import { printable } from './operator-error.js';

const TICK_MS = 250;
/** Erases the line and moves the cursor to its beginning. */
const CLEAR = '\r\u001b[2K';
const BAR_CHARACTERS = 24;

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
 * A line on a terminal that is drawn again as time passes; nothing on other streams. `yocto-spinner` hides the cursor, and to show it again
 * it ends the process itself at SIGINT, after which a loop of the shell goes on.
 */
export class StatusLine implements Disposable {
  readonly #stream: WriteStream;
  readonly #text: () => string;
  readonly #timer: NodeJS.Timeout | null;

  /** @param text the line as it is now */
  constructor(stream: WriteStream, text: () => string) {
    this.#stream = stream;
    this.#text = text;
    this.#timer = stream.isTTY && stream.hasColors() ? setInterval(() => this.draw(), TICK_MS).unref() : null;
    this.draw();
  }

  draw(): void {
    // A line that wraps cannot be erased.
    if (this.#timer !== null) this.#stream.write(`${CLEAR}${this.#text().slice(0, this.#stream.columns - 1)}`);
  }

  /** Prints a line above it. */
  print(line: string): void {
    this.#stream.write(`${this.#timer === null ? '' : CLEAR}${line}\n`);
    this.draw();
  }

  [Symbol.dispose](): void {
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    this.#stream.write(CLEAR);
  }
}

/** Describes the current step of one capture, and the time elapsed. @param progress 0–100 */
export function describeProgress(subject: string, progress: number, began: number): string {
  const [, step = ''] = STEPS.find(([from]) => progress >= from) ?? [];
  return `${step} (${((performance.now() - began) / 1_000).toFixed(1)} s): ${printable(subject)}`;
}

export interface Counts {
  total: number;
  done: number;
  failed: number;
  /** Start of the first capture, from which the rate is measured; null before it. */
  began: number | null;
}

/** Describes many captures as a bar, with the rate and the time left. */
export function describeCounts({ total, done, failed, began }: Counts): string {
  const full = Math.round((BAR_CHARACTERS * done) / total);
  const perSecond = began === null ? 0 : (done * 1_000) / (performance.now() - began);
  const left = `${perSecond.toFixed(1)} a second, ${Math.ceil((total - done) / perSecond)} s left`;
  const rate = [failed > 0 ? `${failed} failed` : '', began === null ? 'starting' : done === 0 ? '' : left].filter(
    (part) => part !== '',
  );
  return [`[${'='.repeat(full)}${' '.repeat(BAR_CHARACTERS - full)}] ${done}/${total}`, ...rate].join(', ');
}
