import { expect, inject, test } from 'vitest';
import { createDatabase, dropDatabase } from '../fixtures/postgres.js';
import { type ClusterOptions, run } from '../stress/cluster.js';
import { run as runConcurrent } from '../stress/concurrent.js';

// The trials in small; `npm run trial -- cluster` and `npm run trial -- concurrent` are the whole.
test.each<[string, ClusterOptions]>([
  ['killed nodes lose nothing, and their jobs go on soon', { part: 'kills', kills: 6 }],
  ['restarts of the database lose nothing', { part: 'restarts', restarts: 2 }],
  ['an answer that is lost after its commit loses nothing, and nothing is done twice', { part: 'cuts', restarts: 2 }],
  ['servers are replaced one by one, by those of the next version too, without a failed request', { part: 'rolling', rounds: 1 }],
  ['another server than the renderer answers rightly, also without notifications', { part: 'listen', measured: 0 }],
  ['a stampede makes one job and one render for each key, and quotas are exact', { part: 'stampede' }],
  ['wrong clocks lose no lease', { part: 'clocks', seconds: 5 }],
])('%s', async (_, options) => {
  expect((await run(options)).problems).toEqual([]);
});

test('nodes that trust their own clocks turn the trial red', async () => {
  expect((await run({ part: 'clocks', seconds: 5, trustsOwnClock: 1 })).ok).toBe(false);
});

test('whatever eight connections do at once, what must hold holds, and no caller sees a deadlock', async () => {
  const place = await createDatabase(inject('postgresUrl'));
  try {
    const { figures, problems } = await runConcurrent({ place, operations: 2_000, seed: 5 });
    expect(problems).toEqual([]);
    expect(figures).toMatchObject({ operations: 2_000, illegal: 0 });
  } finally {
    await dropDatabase(place);
  }
});
