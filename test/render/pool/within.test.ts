import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { bounded, Late, within } from '../../../src/render/pool/within.js';

it('tells in time that nothing came', async () => {
  const began = performance.now();
  await expect(within(100, new Promise(() => {}))).rejects.toBeInstanceOf(Late);
  expect(performance.now() - began).toBeGreaterThanOrEqual(90);
});

it('throws what the work throws', async () => {
  await expect(within(1_000, Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await bounded(Promise.reject(new Error('no')), 1_000)).toBe(false);
});

it('does not count the time in which this process could hear nothing', async () => {
  const worker = new Worker(
    "require('node:worker_threads').parentPort.on('message', (ask) => require('node:worker_threads').parentPort.postMessage(ask))",
    { eval: true },
  );
  await new Promise((resolve) => worker.once('online', resolve));
  const answer = within(400, new Promise((resolve) => worker.once('message', resolve)));
  worker.postMessage('still there?');
  // Timers come next.
  await new Promise((resolve) => setImmediate(resolve));
  const until = performance.now() + 1_000;
  while (performance.now() < until);
  expect(await answer).toBe('still there?');
  await worker.terminate();
});
