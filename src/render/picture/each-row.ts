import { setImmediate } from 'node:timers/promises';

/** Pixels after which others get a turn: at most 5 ms, or 20 ms if they are dithered with 256 colours. */
const TURN_PIXELS = 32_000;

/**
 * Goes through the rows of a picture from the top, and lets the server do other work in between.
 * @param visit stops it by returning false
 */
export async function eachRow({ width, height }: { width: number; height: number }, visit: (y: number) => unknown): Promise<void> {
  for (let y = 0, turn = 0; y < height; y++, turn += width) {
    if (visit(y) === false) return;
    if (turn < TURN_PIXELS) continue;
    turn = 0;
    await setImmediate();
  }
}
