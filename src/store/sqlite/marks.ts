import type { Db } from './connect.js';

/** Single values of the database itself. Synchronous statements; the caller owns the transaction. */
export function marksTable(db: Db) {
  const set = db.prepare<{ name: string; value: string }>(
    'INSERT INTO marks (name, value) VALUES (@name, @value) ON CONFLICT DO UPDATE SET value = excluded.value',
  );
  const get = db.prepare<[string], string>('SELECT value FROM marks WHERE name = ?').pluck();
  return {
    set: (name: string, value: string): void => void set.run({ name, value }),
    get: (name: string): string | null => get.get(name) ?? null,
  };
}
