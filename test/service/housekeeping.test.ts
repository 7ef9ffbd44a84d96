import { expect, it } from 'vitest';
import { silentLog } from '../../src/log.js';
import { Housekeeping, type HousekeepingOptions } from '../../src/service/housekeeping.js';

it('a failing step is reported and delays no other, and the end waits for the last step', async () => {
  const steps: string[] = [];
  let letFind = (): void => {};
  const found = new Promise<void>((resolve) => {
    letFind = resolve;
  });
  const deps = {
    store: {
      recover: () => Promise.reject(new Error('the disk is full')),
      artifactNames: async () => {
        steps.push('find missing');
        await found;
        steps.push('found');
        return [];
      },
    },
    artifacts: {
      isLocal: true,
      async *list() {
        steps.push('orphans');
        yield* [];
      },
    },
    log: silentLog(),
    now: Date.now,
    own: () => ({ jobs: [], deliveries: [] }),
  } as unknown as HousekeepingOptions['deps'];
  const told: unknown[] = [];
  const signal = new AbortController().signal;
  const housekeeping = new Housekeeping({
    deps,
    keepClock: async () => undefined,
    startedAt: 0,
    signal,
    onError: (error) => told.push(error),
  });
  const ended = housekeeping[Symbol.asyncDispose]().then(() => steps.push('ended'));
  setImmediate(letFind);
  await ended;
  expect(steps).toEqual(['orphans', 'find missing', 'found', 'ended']);
  expect(told).toMatchObject([{ message: 'the disk is full' }]);
});
