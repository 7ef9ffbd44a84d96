import { expect, test } from 'vitest';
import { run as receivers } from '../stress/receivers.js';
import { run as captures } from '../stress/webhook-captures.js';
import { run as isolation } from '../stress/webhook-isolation.js';
import { run as kills } from '../stress/webhook-kills.js';

test('hanging receivers delay no other', async () => {
  const { problems } = await isolation({ hanging: 40, good: 8, limitMs: 8_000 });
  expect(problems).toEqual([]);
});

test('hanging receivers fail no capture', async () => {
  const { problems, figures } = await captures({ hanging: 12, captures: 2, judge: 0 });
  expect(problems).toEqual([]);
  expect(figures['attempts that hung']).toBeGreaterThan(0);
});

test('a process killed while it delivers loses no event, and announces no job before its end', async () => {
  const { problems, figures } = await kills({ rounds: 3, jobs: 4 });
  expect(problems).toEqual([]);
  expect(figures.jobs).toBe(12);
});

test('every receiver of the trial gets the outcome of the rules, with a short time limit', async () => {
  const { problems, figures } = await receivers({ timeoutMs: 1_500, graceMs: 30_000 });
  expect(problems).toEqual([]);
  expect(figures.receivers).toBeGreaterThanOrEqual(50);
  expect(figures.redirects_followed).toBe(0);
});
