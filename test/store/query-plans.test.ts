import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { Database, type Db } from '../../src/store/sqlite/driver.js';
import { aStore } from './factories.js';

/** Tables that grow with every job. `accounts`, `turns`, `counters` and the like stay small. */
const GROWING = /^SCAN (jobs|j|orders|deliveries|d|c|reservations|artifacts|a|removals|receivers)\b/;

test('no statement of the store scans a table that grows', async () => {
  const prepare = vi.spyOn(Database.prototype, 'prepare');
  await using it = await aStore();
  const sources = prepare.mock.calls.map(([sql]) => sql).filter((sql) => /^(with|select|update|delete)/i.test(sql));
  prepare.mockRestore();
  expect(sources.length).toBeGreaterThan(40);
  const db = new Database(join(it.dataDir, 'stillframe.db'), { readonly: true });
  const scans = sources.flatMap((sql) => plan(db, sql).filter((step) => GROWING.test(step) && !step.includes('USING')));
  db.close();
  expect(scans).toEqual([]);
});

/** With parameters replaced, since planning needs none. */
function plan(db: Db, sql: string): string[] {
  const text = sql.replaceAll(/\?|@\w+/g, `'x'`);
  return db
    .prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`)
    .all()
    .map((row) => row.detail);
}
