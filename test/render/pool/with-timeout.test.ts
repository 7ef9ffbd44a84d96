import { Worker } from 'node:worker_threads';
import { TimeoutError } from 'p-timeout';
import { expect, it } from 'vitest';
import { endsInTime, withTimeout } from '../../../src/render/pool/with-timeout.js';

it('tells in time that nothing came', async () => {
  const began = performance.now();
  await expect(withTimeout(new Promise(() => {}), 100)).rejects.toBeInstanceOf(TimeoutError);
  expect(performance.now() - began).toBeGreaterThanOrEqual(90);
});

it('throws what the work throws', async () => {
  await expect(withTimeout(Promise.reject(new Error('no')), 1_000)).rejects.toThrow('no');
  expect(await endsInTime(Promise.reject(new Error('no')), 1_000)).toBe(false);
});

it('does not count the time in which this process could hear nothing', async () => {
  const worker = new Worker(
    "require('node:worker_threads').parentPort.on('message', (ask) => require('node:worker_threads').parentPort.postMessage(ask))",
    { eval: true },
  );
  await new Promise((resolve) => worker.once('online', resolve));
  const answer = withTimeout(new Promise((resolve) => worker.once('message', resolve)), 400);
  worker.postMessage('still there?');
  // Timers come next.
  await new Promise((resolve) => setImmediate(resolve));
  const until = performance.now() + 1_000;
  while (performance.now() < until);
  expect(await answer).toBe('still there?');
  await worker.terminate();
});
