/**
 * Loaded before the server by trial "kill": the process ends itself with SIGKILL when it comes by a named point for the nth time.
 * `TRIAL_KILL_AT` is `<point> <nth>`. It watches what the server asks of the file system and of SQLite, and changes nothing else.
 */
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';
import { Database, type Db } from '../../src/store/sqlite/driver.js';

/** By the statement of a step that has changed something. */
const STEPS: readonly [string, RegExp][] = [
  ['insert', /^INSERT INTO jobs/],
  ['claim', /^UPDATE jobs SET state = 'active'/],
  ['finish', /^UPDATE jobs SET state = \$4, ended_at/],
  ['record', /^UPDATE deliveries SET .*attempts/],
  ['cancel', /^UPDATE jobs SET state = 'failed', ended_at = \$2, removed_at/],
  ['batch', /^INSERT INTO batches/],
  ['batch end', /^UPDATE batches SET completed_at = \$1 WHERE completed_at IS NULL/],
];

const [, wanted = '', nth = '1'] = /^(.*) (\d+)$/.exec(process.env.TRIAL_KILL_AT ?? '') ?? [];
let left = Number(nth);

function pass(point: string): void {
  if (point !== wanted || --left > 0) return;
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}

watchStatements();
watchFiles();

function watchStatements(): void {
  const under = new Set<string>();
  const prepare = Database.prototype.prepare;
  Database.prototype.prepare = function prepareWatched(this: Db, sql: string) {
    const statement = prepare.call(this, sql);
    const step = STEPS.find(([, pattern]) => pattern.test(sql.trim()))?.[0];
    if (step !== undefined) around(statement, undefined, (found) => void (hasChanged(found) && under.add(step)));
    if (sql === 'ROLLBACK') around(statement, () => under.clear());
    const tell = (side: 'before' | 'after') => {
      for (const step of under) pass(`${side} ${step} commit`);
      if (side === 'after') under.clear();
    };
    if (sql === 'COMMIT')
      around(
        statement,
        () => tell('before'),
        () => tell('after'),
      );
    return statement;
  } as typeof prepare;
}

function around(
  statement: BetterSqlite3.Statement,
  before: () => void = () => undefined,
  after: (result: unknown) => void = () => undefined,
): void {
  for (const way of ['run', 'get', 'all'] as const) {
    const call = statement[way].bind(statement);
    statement[way] = (...values: unknown[]) => {
      before();
      const result = call(...values) as never;
      after(result);
      return result;
    };
  }
}

/** @param result of `run`, or the rows that a statement returns */
function hasChanged(result: unknown): boolean {
  if (Array.isArray(result)) return result.length > 0;
  return result !== undefined && (result as { changes?: number }).changes !== 0;
}

function watchFiles(): void {
  const { open, rename } = fs;
  fs.open = async (...args: Parameters<typeof open>) => {
    const file = await open(...args);
    if (!String(args[0]).includes('.unfinished/')) return file;
    const sync = file.sync.bind(file);
    const write = file.write.bind(file) as (chunk: Uint8Array, at: number) => Promise<unknown>;
    const writeWatched = async (chunk: Uint8Array, at: number) => {
      // Half of it reaches the disk.
      if (wanted === 'artifact write' && left === 1) await write(chunk.subarray(0, chunk.length / 2), at);
      pass('artifact write');
      return await write(chunk, at);
    };
    file.write = writeWatched as typeof file.write;
    file.sync = async () => {
      pass('before sync');
      await sync();
      pass('after sync');
    };
    return file;
  };
  fs.rename = async (from, to) => {
    pass('before rename');
    await rename(from, to);
    pass('after rename');
  };
  syncBuiltinESMExports();
}
