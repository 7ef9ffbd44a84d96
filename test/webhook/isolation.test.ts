import { expect, test } from 'vitest';
import { run } from '../trials/webhook-isolation.js';

test('receivers that hang hold up no other', async () => {
  const { problems } = await run({ hanging: 80, good: 15, limitMs: 8_000 });
  expect(problems).toEqual([]);
});
