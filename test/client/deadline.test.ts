import { expect, it } from 'vitest';
import { Deadline, pause } from '../../src/client/deadline.js';

it('a deadline follows the outer signal, and no time limit once it is released', async () => {
  const outer = new AbortController();
  const released = new Deadline(1, outer.signal, () => null);
  released.release();
  await pause(20, new AbortController().signal);
  expect(released.signal.aborted).toBe(false);
  const reason = new Error('enough');
  outer.abort(reason);
  expect(released.signal.reason).toBe(reason);
});
