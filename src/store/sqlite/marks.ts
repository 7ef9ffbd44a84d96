import { matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import { marks } from './schema.js';

/** Named values of the database itself. Synchronous statements. The caller owns the transaction. */
export function marksTable(orm: Orm) {
  const set = orm
    .insert(marks)
    .values(parameters(marks, 'name', 'value'))
    .onConflictDoUpdate({ target: marks.name, set: parameters(marks, 'value') })
    .prepare();
  const add = orm
    .insert(marks)
    .values(parameters(marks, 'name', 'value'))
    .onConflictDoNothing()
    .prepare();
  const get = orm.select({ value: marks.value }).from(marks).where(matching(marks, 'name')).prepare();
  return {
    set: (name: string, value: string): void => void set.run({ name, value }),
    /** Adds a value unless one exists. */
    add: (name: string, value: string): void => void add.run({ name, value }),
    get: (name: string): string | null => get.get({ name })?.value ?? null,
  };
}
