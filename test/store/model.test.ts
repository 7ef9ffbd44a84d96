import { expect, onTestFinished, test, vi } from 'vitest';
import { Database, type Db } from '../../src/store/sqlite/driver.js';
import { run } from '../trials/model.js';
import { aPlace, IS_POSTGRES } from './factories.js';

/** Tables that grow with every job. `accounts`, `turns`, `counters` and the like stay small. */
const GROWING = /^SCAN (jobs|job|orders|deliveries|reservations|artifacts|removals|receivers)\b/;

/** A statement of PostgreSQL takes ten times as long as one of SQLite. */
const OPERATIONS = IS_POSTGRES ? 500 : 1_500;

async function runModel() {
  const { place, remove } = await aPlace();
  try {
    return await run({ place, operations: OPERATIONS, seed: 7 });
  } finally {
    await remove();
  }
}

test('hundreds of random operations match the model, and ended jobs never change', async () => {
  const scans = new Set<string>();
  if (!IS_POSTGRES) watchPlans(scans);
  const { figures, problems } = await runModel();
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({ operations: OPERATIONS, illegal: 0 });
  // No statement of the store scans a table that grows.
  expect([...scans]).toEqual([]);
});

/** Adds the statements with parameters, which are those of the store, that scan a table. Planning needs no values. */
function watchPlans(scans: Set<string>): void {
  const prepare = Database.prototype.prepare;
  const spy = vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Db, sql: string) {
    if (/^(with|select|update|delete)\b/i.test(sql) && sql.includes('$')) {
      const plan = prepare.call(this, `EXPLAIN QUERY PLAN ${sql.replaceAll(/\$\d+/g, `'x'`)}`).all({}) as {
        detail: string;
      }[];
      if (plan.some(({ detail }) => GROWING.test(detail) && !detail.includes('USING'))) scans.add(sql);
    }
    return prepare.call(this, sql);
  } as typeof prepare);
  onTestFinished(() => spy.mockRestore());
}
