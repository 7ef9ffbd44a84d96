import { expect, test } from 'vitest';
import { run } from '../stress/receivers.js';

test('every receiver of the trial gets the outcome of the rules, with a short time limit', async () => {
  const { problems, figures } = await run({ timeoutMs: 1_500, graceMs: 30_000 });
  expect(problems).toEqual([]);
  expect(figures.receivers).toBeGreaterThanOrEqual(50);
  expect(figures.redirects_followed).toBe(0);
});
