import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { TimeoutError } from '../../src/render/deadlines.js';
import { answerOf } from '../../src/render/launch/chromium-process.js';

it('a missing result is reported in time', async () => {
  const began = performance.now();
  await expect(answerOf(new Promise(() => {}), 100)).rejects.toBeInstanceOf(TimeoutError);
  expect(performance.now() - began).toBeGreaterThanOrEqual(90);
});

it('time in which this process is blocked does not count', async () => {
  const worker = new Worker(
    "require('node:worker_threads').parentPort.on('message', (ask) => require('node:worker_threads').parentPort.postMessage(ask))",
    { eval: true },
  );
  await new Promise((resolve) => worker.once('online', resolve));
  const answer = answerOf(new Promise((resolve) => worker.once('message', resolve)), 400);
  worker.postMessage('still there?');
  // Timers come next.
  await new Promise((resolve) => setImmediate(resolve));
  const until = performance.now() + 1_000;
  while (performance.now() < until);
  expect(await answer).toBe('still there?');
  await worker.terminate();
});
