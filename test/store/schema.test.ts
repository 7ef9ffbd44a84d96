/** The migrations of both engines are those that drizzle-kit makes of the schemas: after a change of one, run `npm run db:generate`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  generateDrizzleJson,
  generateMigration,
  generateSQLiteDrizzleJson,
  generateSQLiteMigration,
} from 'drizzle-kit/api';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { expect, expectTypeOf, test } from 'vitest';
import { MIGRATIONS_DIR, PG_MIGRATIONS_DIR } from '../../src/package-files.js';
import { sharedChecks } from '../../src/store/constraints.js';
import * as postgres from '../../src/store/postgres/schema.js';
import type { DeliveryRow, JobRow, SecretRow } from '../../src/store/rows.js';
import * as sqlite from '../../src/store/sqlite/schema.js';

const ENGINES = [
  {
    name: 'SQLite',
    folder: MIGRATIONS_DIR,
    snapshot: () => generateSQLiteDrizzleJson(sqlite, undefined, 'snake_case'),
    statements: async (to: object) => generateSQLiteMigration(await generateSQLiteDrizzleJson({}), to as never),
  },
  {
    name: 'PostgreSQL',
    folder: PG_MIGRATIONS_DIR,
    snapshot: async () => generateDrizzleJson(postgres, undefined, undefined, 'snake_case'),
    statements: async (to: object) => generateMigration(generateDrizzleJson({}), to as never),
  },
];

const readSnapshot = (folder: string, file = ''): object =>
  JSON.parse(readFileSync(join(folder, 'meta', file), 'utf8'));
/** The ids are random, and `_meta` is for renames. */
const IGNORED = { id: null, prevId: null, _meta: null };

test.each(ENGINES)('the newest snapshot of $name is that of its schema', async ({ folder, snapshot }) => {
  const [newest] = readdirSync(join(folder, 'meta'))
    .filter((file) => file.endsWith('_snapshot.json'))
    .sort()
    .reverse();
  const current = JSON.parse(JSON.stringify(await snapshot()));
  expect({ ...readSnapshot(folder, newest), ...IGNORED }).toEqual({ ...current, ...IGNORED });
});

test.each(ENGINES)(
  'the first migration of $name begins with the tables as drizzle-kit makes them',
  async ({ folder, statements }) => {
    const generated = await statements(readSnapshot(folder, '0000_snapshot.json'));
    const [first] = readMigrationFiles({ migrationsFolder: folder });
    const written = first?.sql.slice(0, generated.length).map((statement) => statement.trim());
    expect(written).toEqual(generated.map((statement) => statement.trim().replaceAll('"public".', '')));
  },
);

test('the trigger of jobs in PostgreSQL checks the rules that SQLite has as constraints', () => {
  const statements = readMigrationFiles({ migrationsFolder: PG_MIGRATIONS_DIR }).flatMap(({ sql }) => sql);
  const checked = statements
    .findLast((text) => text.includes('stillframe_check_job() RETURNS'))
    ?.replaceAll('new.', '');
  for (const [, condition] of sharedChecks('jobs')) expect(checked).toContain(`(${condition})`);
});

test('rows that both engines have are of the same types in both', () => {
  expectTypeOf<JobRow>().toEqualTypeOf<typeof sqlite.jobs.$inferSelect>();
  expectTypeOf<DeliveryRow>().toEqualTypeOf<typeof sqlite.deliveries.$inferSelect>();
  expectTypeOf<SecretRow>().toEqualTypeOf<typeof sqlite.signingSecrets.$inferSelect>();
});
