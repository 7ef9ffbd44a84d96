/** The next version of the built program: the same, with one more migration of the shared database. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const TAG = '9999_of_the_next_version';
/** Later than any migration of today. */
const WHEN = 4_102_444_800_000;
/** What a release may add without disturbing the version before. */
const MIGRATION = `ALTER TABLE jobs ADD COLUMN of_the_next_version text;
--> statement-breakpoint
ALTER TABLE nodes ADD COLUMN of_the_next_version int NOT NULL DEFAULT 0;
--> statement-breakpoint
CREATE INDEX jobs_of_the_next_version ON jobs (of_the_next_version) WHERE of_the_next_version IS NOT NULL;
--> statement-breakpoint
CREATE TABLE of_the_next_version (job_id text PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE);`;

/** @param main of the program of today @returns that of the copy, which goes with it */
export function nextVersionOf(main: string): { main: string } & Disposable {
  const program = dirname(dirname(main));
  const copy = `${program}-next-${process.pid}`;
  mkdirSync(copy, { recursive: true });
  cpSync(program, copy, { recursive: true });
  const journal = join(copy, 'drizzle-pg/meta/_journal.json');
  const told = JSON.parse(readFileSync(journal, 'utf8')) as { entries: unknown[] };
  told.entries.push({ idx: told.entries.length, version: '7', when: WHEN, tag: TAG, breakpoints: true });
  writeFileSync(journal, JSON.stringify(told));
  writeFileSync(join(copy, 'drizzle-pg', `${TAG}.sql`), MIGRATION);
  return { main: join(copy, 'dist/main.js'), [Symbol.dispose]: () => rmSync(copy, { recursive: true, force: true }) };
}
