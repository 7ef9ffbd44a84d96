import { expect, it } from 'vitest';
import { run as fullDisk } from '../trials/full-disk.js';

it('full-disk: refuses captures while the disk is full, and accepts them when it is not', async () => {
  const { problems } = await fullDisk({ rounds: 1, submissions: 3, recoveryMs: 30_000, prints: 0 });
  expect(problems).toEqual([]);
});
