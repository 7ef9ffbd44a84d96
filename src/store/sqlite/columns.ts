import { getTableColumns } from 'drizzle-orm';
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';

/** What stands between the schema's names (camelCase) and those of the tables, for prepared SQL. */

/** `job.account_id AS accountId, …` of all columns. */
export function selectList(table: SQLiteTable, alias: string): string {
  return Object.entries(getTableColumns(table))
    .map(([key, column]) => `${alias}.${column.name} AS ${key}`)
    .join(', ');
}

/** An INSERT with a named parameter for each of the keys. */
export function insertInto(table: SQLiteTable, keys: readonly string[]): string {
  const columns = getTableColumns(table);
  const names = keys.map((key) => {
    const column = columns[key];
    if (column === undefined) throw new Error(`no column ${key}`);
    return column.name;
  });
  return `INSERT INTO ${getTableConfig(table).name} (${names.join(', ')}) VALUES (${keys.map((key) => `@${key}`).join(', ')})`;
}
