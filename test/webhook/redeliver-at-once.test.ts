import { expect, test } from 'vitest';
import { run } from '../stress/redeliver.js';

test('only one of fifty concurrent redeliveries with one ETag is accepted', async () => {
  const { problems, figures } = await run({ rounds: 2 });
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({ accepted: 2, refused: 98 });
});
