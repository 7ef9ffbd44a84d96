import { expect, test } from 'vitest';
import { CaptureError } from '../../src/contract/capture-error.js';
import { StatementBatcher } from '../../src/store/postgres/statement-batcher.js';

const LOST = new CaptureError({
  code: 'internal_error',
  status: 503,
  message: 'The database cannot be reached at the moment.',
});

/** Runs that end when the test says so; each item becomes its double. */
function aBatch() {
  const runs: { items: readonly number[]; end(error?: Error): void }[] = [];
  const batch = new StatementBatcher<number, number>(
    (items) =>
      new Promise((resolve, reject) => {
        runs.push({
          items,
          end: (error) => (error === undefined ? resolve(items.map((item) => item * 2)) : reject(error)),
        });
      }),
  );
  return { batch, runs };
}

async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

test('items that arrive during a run go together in the next one', async () => {
  const { batch, runs } = aBatch();
  const first = batch.add(1);
  await settled();
  const others = [batch.add(2), batch.add(3)];
  await settled();
  expect(runs.map(({ items }) => items)).toEqual([[1]]);
  runs[0]?.end();
  expect(await first).toBe(2);
  await settled();
  expect(runs.map(({ items }) => items)).toEqual([[1], [2, 3]]);
  runs[1]?.end();
  expect(await Promise.all(others)).toEqual([4, 6]);
  const last = batch.add(4);
  await settled();
  runs[2]?.end();
  expect(await last).toBe(8);
});

test('one failing item does not fail the others of its run', async () => {
  const { batch, runs } = aBatch();
  const answers = Promise.allSettled([batch.add(1), batch.add(2)]);
  await settled();
  runs[0]?.end(new Error('a broken promise'));
  await settled();
  runs[1]?.end();
  await settled();
  runs[2]?.end(new Error('a broken promise'));
  expect((await answers).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(runs.map(({ items }) => items)).toEqual([[1, 2], [1], [2]]);
});

test('a lost connection fails all items, and nothing runs again, since it may have been committed', async () => {
  const { batch, runs } = aBatch();
  const answers = Promise.allSettled([batch.add(1), batch.add(2)]);
  await settled();
  runs[0]?.end(LOST);
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(runs).toHaveLength(1);
});
