import { expect, test } from 'vitest';
import { type ClusterOptions, run } from '../stress/cluster.js';

// The trial in small; `npm run trial -- cluster` is the whole.
test.each<[string, ClusterOptions]>([
  ['killed nodes lose nothing, and their jobs go on soon', { part: 'kills', kills: 6 }],
  ['restarts of the database lose nothing', { part: 'restarts', restarts: 2 }],
  ['a stampede makes one job and one render for each key, and quotas are exact', { part: 'stampede' }],
  ['wrong clocks lose no lease', { part: 'clocks', seconds: 5 }],
])('%s', async (_, options) => {
  expect((await run(options)).problems).toEqual([]);
});

test('nodes that trust their own clocks turn the trial red', async () => {
  expect((await run({ part: 'clocks', seconds: 5, trustsOwnClock: 1 })).ok).toBe(false);
});
