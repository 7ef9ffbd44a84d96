import { expect, it } from 'vitest';
import { run as kill } from '../trials/kill.js';

it('kill: loses, repeats and wrongly charges nothing when the server is killed', async () => {
  const { problems, figures } = await kill({ rounds: 2, orphanMs: 10_000 });
  expect(problems).toEqual([]);
  expect(figures.damaged_databases).toBe(0);
});
