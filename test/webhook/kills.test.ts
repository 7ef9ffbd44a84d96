import { expect, test } from 'vitest';
import { run } from '../stress/webhook-kills.js';

test('a process killed while it delivers loses no event, and announces no job before its end', async () => {
  const { problems, figures } = await run({ rounds: 3, jobs: 4 });
  expect(problems).toEqual([]);
  expect(figures.jobs).toBe(12);
});
