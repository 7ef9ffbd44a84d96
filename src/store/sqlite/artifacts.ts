import type { ArtifactRow } from '../store.js';
import { insertInto, selectList } from './columns.js';
import type { Db } from './connect.js';
import { artifacts } from './schema.js';

const KEYS = ['name', 'bytes', 'sha256', 'createdAt', 'goneAt'];

/** Synchronous statements; the caller owns the transaction. */
export function artifactsTable(db: Db) {
  const insert = db.prepare<ArtifactRow>(insertInto(artifacts, KEYS));
  const find = db.prepare<[string], ArtifactRow>(`SELECT ${selectList(artifacts, 'a')} FROM artifacts a WHERE a.name = ?`);
  const oldest = db.prepare<[number], Pick<ArtifactRow, 'name' | 'bytes' | 'createdAt'>>(
    'SELECT name, bytes, created_at AS createdAt FROM artifacts WHERE gone_at IS NULL ORDER BY created_at LIMIT ?',
  );
  const namesAfter = db
    .prepare<[string, number], string>('SELECT name FROM artifacts WHERE gone_at IS NULL AND name > ? ORDER BY name LIMIT ?')
    .pluck();
  const markGone = db.prepare<[number, string]>('UPDATE artifacts SET gone_at = ? WHERE name = ? AND gone_at IS NULL');
  const forget = db.prepare<[string]>(
    'DELETE FROM artifacts WHERE name = ? AND gone_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM jobs WHERE artifact_name = artifacts.name)',
  );

  return {
    insert(artifact: Omit<ArtifactRow, 'goneAt'>): void {
      insert.run({ ...artifact, goneAt: null });
    },
    find: (name: string): ArtifactRow | null => find.get(name) ?? null,
    /** Not gone, oldest first. */
    oldest: (limit: number) => oldest.all(limit),
    namesAfter: (after: string, limit: number) => namesAfter.all(after, limit),
    markGone: (name: string, now: number): boolean => markGone.run(now, name).changes === 1,
    /** Deletes the row of a gone artifact that no job speaks of any more. */
    forget(name: string): void {
      forget.run(name);
    },
  };
}
