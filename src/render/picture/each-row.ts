import { setImmediate } from 'node:timers/promises';

/** Pixels after which others get a turn: about 1 ms, or 6 ms if many colours are new to a dithered picture. Four pictures may take turns. */
const TURN_PIXELS = 8_000;

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
