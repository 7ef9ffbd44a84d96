import { expect, it } from 'vitest';
import { run as hostile } from '../trials/hostile.js';

it('hostile: pages that mean harm end in time, as what they are', async () => {
  // Figures of time and memory are judged by the full form, on a machine with nothing else to do.
  const { problems, figures } = await hostile({ cases: 'few', timeout: 5_000, alone: 1, judge: 0 });
  expect(problems).toEqual([]);
  expect(figures.pages).toBeGreaterThanOrEqual(22);
});
