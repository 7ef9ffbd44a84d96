import type { ArtifactRow } from '../store.js';
import { insertInto } from './columns.js';
import type { Db } from './connect.js';
import { artifacts } from './schema.js';

const KEYS = ['name', 'bytes', 'sha256', 'createdAt', 'goneAt', 'accountId', 'data'];
/** About what a job takes in the database, its indexes, credits and delivery with it. */
export const JOB_BYTES = 2_000;

export type NewArtifact = Omit<ArtifactRow, 'goneAt'> & { accountId: string; data: string };
type Expirable = Pick<ArtifactRow, 'name' | 'bytes' | 'createdAt'>;

/** Synchronous statements; the caller owns the transaction. */
export function artifactsTable(db: Db) {
  const insert = db.prepare<NewArtifact & { goneAt: null }>(insertInto(artifacts, KEYS));
  const find = db.prepare<[string], ArtifactRow>(
    'SELECT name, bytes, sha256, created_at AS createdAt, gone_at AS goneAt FROM artifacts WHERE name = ?',
  );
  const oldest = db.prepare<[], Expirable>(
    'SELECT name, bytes, created_at AS createdAt FROM artifacts WHERE gone_at IS NULL ORDER BY created_at LIMIT 1',
  );
  const oldestOfLargest = db.prepare<[], Expirable>(
    `SELECT name, bytes, created_at AS createdAt FROM artifacts WHERE gone_at IS NULL AND account_id = (
       SELECT account_id FROM account_storage WHERE picture_bytes > 0 ORDER BY picture_bytes + jobs * ${JOB_BYTES} DESC, account_id LIMIT 1)
     ORDER BY created_at LIMIT 1`,
  );
  const keepData = db.prepare<[string, string]>('UPDATE artifacts SET data = ? WHERE name = ? AND data IS NULL');
  const namesAfter = db
    .prepare<[string, number], string>('SELECT name FROM artifacts WHERE gone_at IS NULL AND name > ? ORDER BY name LIMIT ?')
    .pluck();
  const markGone = db.prepare<[number, string]>('UPDATE artifacts SET gone_at = ? WHERE name = ? AND gone_at IS NULL');
  const forget = db.prepare<[string]>(
    'DELETE FROM artifacts WHERE name = ? AND gone_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM jobs WHERE artifact_name = artifacts.name)',
  );

  return {
    insert(artifact: NewArtifact): void {
      insert.run({ ...artifact, goneAt: null });
    },
    find: (name: string): ArtifactRow | null => find.get(name) ?? null,
    /** Of those that are not gone. */
    oldest: (): Expirable | null => oldest.get() ?? null,
    /** The oldest of the account that takes most of the disk. */
    oldestOfLargest: (): Expirable | null => oldestOfLargest.get() ?? null,
    /** For a row that has none. */
    keepData(name: string, data: string): void {
      keepData.run(data, name);
    },
    namesAfter: (after: string, limit: number) => namesAfter.all(after, limit),
    markGone: (name: string, now: number): boolean => markGone.run(now, name).changes === 1,
    /** Deletes the row of a gone artifact that no job speaks of any more. */
    forget(name: string): void {
      forget.run(name);
    },
  };
}
