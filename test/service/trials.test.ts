import { expect, it } from 'vitest';
import { run as secrets } from '../trials/secrets.js';

it('secrets: appear nowhere', async () => {
  const { problems } = await secrets({ rounds: 1 });
  expect(problems).toEqual([]);
});
