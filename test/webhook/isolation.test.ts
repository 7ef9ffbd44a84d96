import { expect, test } from 'vitest';
import { run as captures } from '../stress/webhook-captures.js';
import { run } from '../stress/webhook-isolation.js';

test('hanging receivers delay no other', async () => {
  const { problems } = await run({ hanging: 80, good: 15, limitMs: 8_000 });
  expect(problems).toEqual([]);
});

test('hanging receivers fail no capture', async () => {
  const { problems, figures } = await captures({ hanging: 20, captures: 5, judge: 0 });
  expect(problems).toEqual([]);
  expect(figures['attempts that hung']).toBeGreaterThan(0);
});
