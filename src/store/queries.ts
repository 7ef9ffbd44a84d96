/**
 * Statements, in the part of SQL that SQLite and PostgreSQL share where both engines use them. Parameters are `$1`, `$2` and so on; a column
 * such as `account_id` is the field `accountId` of a found row.
 */
export interface Queries {
  all<Found = unknown>(text: string, values?: readonly unknown[]): Promise<Found[]>;
  /** Returns the first row, or null. */
  one<Found = unknown>(text: string, values?: readonly unknown[]): Promise<Found | null>;
  /** @returns the number of changed rows */
  run(text: string, values?: readonly unknown[]): Promise<number>;
}

const fieldNames = new Map<string, string>();

/** Names the columns of a row as fields. */
export function toFields<Found>(row: object): Found {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [fieldOf(column), value])) as Found;
}

function fieldOf(column: string): string {
  let field = fieldNames.get(column);
  if (field === undefined) {
    field = column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    fieldNames.set(column, field);
  }
  return field;
}
