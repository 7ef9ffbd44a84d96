import { expect, test } from 'vitest';
import { run } from '../stress/redeliver.js';

test('fifty redeliveries at once with one ETag: one is accepted', async () => {
  const { problems, figures } = await run({ rounds: 2 });
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({ accepted: 2, refused: 98 });
});
