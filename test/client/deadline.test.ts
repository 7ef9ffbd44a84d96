import { expect, it } from 'vitest';
import { Deadline, pause } from '../../src/client/deadline.js';

const FOREVER_MS = 100_000;
const reason = new Error('enough');

it('a pause ends with the reason of its signal, be it early or late', async () => {
  const controller = new AbortController();
  const waiting = pause(FOREVER_MS, controller.signal);
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(pause(FOREVER_MS, controller.signal)).rejects.toBe(reason);
});

it('a deadline follows the outer signal, and no time limit once it is released', async () => {
  const outer = new AbortController();
  const released = new Deadline(1, outer.signal, () => null);
  released.release();
  await pause(20, new AbortController().signal);
  expect(released.signal.aborted).toBe(false);
  outer.abort(reason);
  const late = new Deadline(FOREVER_MS, outer.signal, () => null);
  expect([released.signal.reason, late.signal.reason]).toEqual([reason, reason]);
  late.release();
});
