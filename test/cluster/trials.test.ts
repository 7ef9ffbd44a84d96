import { expect, test } from 'vitest';
import { ofFile } from '../fixtures/of-file.js';
import { startPostgres } from '../fixtures/postgres.js';
import { type ClusterOptions, runOn } from '../trials/cluster.js';
import { run as runConcurrent } from '../trials/concurrent.js';
import { aDatabase } from './a-cluster.js';

/** These tests have their own server, because one of them restarts it. */
const server = await ofFile(startPostgres({ fsync: 'off' }));

// The trials in small; `npm run trial -- cluster` and `npm run trial -- concurrent` are the whole.
test.each<[string, ClusterOptions]>([
  ['killed nodes lose nothing, and their jobs go on soon', { part: 'kills', kills: 1 }],
  ['restarts of the database lose nothing', { part: 'restarts', restarts: 1 }],
  ['an answer that is lost after its commit loses nothing, and nothing is done twice', { part: 'cuts', restarts: 1 }],
  [
    'servers are replaced by those of the next version without a failed request',
    { part: 'rolling', rounds: 1, servers: 3, sameVersion: 0 },
  ],
  ['wrong clocks lose no lease', { part: 'clocks', seconds: 1 }],
])('%s', async (_, options) => {
  expect((await runOn(server, options)).problems).toEqual([]);
});

test('the invariants hold while eight connections work at once, and no caller gets a deadlock', async () => {
  await using database = await aDatabase();
  const { figures, problems } = await runConcurrent({ place: database.url, operations: 500, seed: 5 });
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({ operations: 500, illegal: 0 });
});
