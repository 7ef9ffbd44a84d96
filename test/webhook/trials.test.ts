import { expect, test } from 'vitest';
import { run as receivers } from '../trials/receivers.js';
import { run as isolation } from '../trials/webhook-isolation.js';
import { run as kills } from '../trials/webhook-kills.js';

test('receivers that hang delay no other, and fail no capture', async () => {
  const { problems, figures } = await isolation({ hanging: 40, good: 8, captures: 2, limitMs: 8_000, judge: 0 });
  expect(problems).toEqual([]);
  expect(figures['attempts that hung']).toBeGreaterThan(0);
});

test('a server killed while it delivers loses no event, and announces no job before its end', async () => {
  const { problems, figures } = await kills({ rounds: 2, jobs: 4 });
  expect(problems).toEqual([]);
  expect(figures.jobs).toBeGreaterThan(0);
});

test('every receiver of the trial gets the outcome of the rules, with a short time limit', async () => {
  const { problems, figures } = await receivers({ timeoutMs: 1_500, graceMs: 30_000 });
  expect(problems).toEqual([]);
  expect(figures.receivers).toBeGreaterThanOrEqual(50);
  expect(figures.redirects_followed).toBe(0);
});
