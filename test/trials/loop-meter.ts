/** Runs inside of a server (`--import`): writes each turn of the event loop that took long to the file LOOP_METER, with its end. */
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { mainThreadMs } from './stall-meter.js';

const TICK_MS = 5;
const TOLD_MS = 20;
const file = process.env.LOOP_METER ?? '';

// Threads of the server load this file, too.
if (isMainThread) meter();

function meter(): void {
  let [clock, cpu] = [performance.now(), mainThreadMs()];
  setInterval(() => {
    const now = [performance.now(), mainThreadMs()] as const;
    const ms = Math.min(now[0] - clock - TICK_MS, now[1] - cpu);
    [clock, cpu] = now;
    if (ms > TOLD_MS) appendFileSync(file, `${Date.now()} ${Math.round(ms)}\n`);
  }, TICK_MS).unref();
}
