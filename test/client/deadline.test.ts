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

it('a deadline expires with the given reason, and then has no time left', async () => {
  const deadline = new Deadline(1, undefined, () => reason);
  await expect(pause(FOREVER_MS, deadline.signal)).rejects.toBe(reason);
  expect(deadline.left()).toBe(0);
});

it('a deadline follows the outer signal until it is released', () => {
  const outer = new AbortController();
  const [kept, released, lifted] = [1, 2, 3].map(() => new Deadline(FOREVER_MS, outer.signal, () => null));
  released?.release();
  lifted?.lift();
  outer.abort(reason);
  expect([kept, released, lifted].map((one) => one?.signal.aborted)).toEqual([true, false, true]);
  const late = new Deadline(FOREVER_MS, outer.signal, () => null);
  expect(late.signal.reason).toBe(reason);
  for (const one of [kept, lifted, late]) one?.release();
});
