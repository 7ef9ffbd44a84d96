import { expect, test } from 'vitest';
import { run } from '../stress/webhook-isolation.js';

test('hanging receivers delay no other', async () => {
  const { problems } = await run({ hanging: 80, good: 15, limitMs: 8_000 });
  expect(problems).toEqual([]);
});
