import { and, Column, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';

/** Shorthands for drizzle's prepared statements. A parameter has the name of its column. */

type Key<Table extends SQLiteTable> = keyof Table['$inferSelect'] & string;

/** Builds a condition: each of these columns equals the parameter of its name. */
export function matching<Table extends SQLiteTable>(table: Table, ...keys: Key<Table>[]): SQL | undefined {
  return and(...keys.map((key) => eq(columnOf(table, key), parameter(columnOf(table, key), key))));
}

/** Gives each of these columns the parameter of its name, to insert or to set. */
export function parameters<Table extends SQLiteTable, Keys extends Key<Table>>(table: Table, ...keys: Keys[]): Record<Keys, SQL> {
  const entries = keys.map((key) => [key, parameter(columnOf(table, key), key)]);
  return Object.fromEntries(entries) as Record<Keys, SQL>;
}

/** Lists all columns of a table that is read through `indexedBy`. */
export function columnsThroughIndex<Table extends SQLiteTable>(table: Table) {
  const entries = Object.entries(getTableColumns(table)).map(([key, column]) => [key, sql`${column}`.mapWith(column)]);
  return Object.fromEntries(entries) as { [Each in Key<Table>]: SQL<Table['$inferSelect'][Each]> };
}

/** Reads a table through this index, since the planner has no statistics for its choice. */
export function indexedBy(table: SQLiteTable, index: string): SQL {
  return sql`${table} indexed by ${sql.identifier(index)}`;
}

/** Omits the encoder if the column needs none, since parameters with one are several times slower in drizzle. */
function parameter(column: SQLiteColumn, key: string): SQL {
  const value = sql.placeholder(key);
  const encodes = column.mapToDriverValue !== Column.prototype.mapToDriverValue;
  return encodes ? sql`${sql.param(value, column)}` : sql`${value}`;
}

function columnOf(table: SQLiteTable, key: string): SQLiteColumn {
  const column = getTableColumns(table)[key];
  if (column === undefined) throw new Error(`no column ${key}`);
  return column;
}
