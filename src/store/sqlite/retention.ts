import { statSync } from 'node:fs';
import { inSlices, JOB_BYTES } from '../rules/retention.js';
import type { RetentionStore } from '../store.js';
import type { Checkpoints } from './checkpoints.js';
import type { Connection, Sql } from './connection.js';
import { countersOf } from './ledger.js';
import type { Writer } from './writer.js';

/** Number of rows per transaction; small, so that a slice does not delay other writes (no statement over 50 ms). */
const SLICE_ROWS = 25;
/** Number of jobs that one transaction examines to find those to delete. */
const EXAMINED_ROWS = 100;
/** Number of pages that one transaction moves; small, so that a slice does not delay other writes. */
const SLICE_PAGES = 100;
/** Maximum number of slices per call. */
const SLICES = 100;

interface Expirable {
  name: string;
  bytes: number;
  createdAt: number;
}

type NewArtifact = Parameters<RetentionStore['keepArtifact']>[0] & { data?: string; firstName?: string };

/** Without `data`, it is an artifact that no job has as its first picture. */
export function insertArtifact(
  sql: Sql,
  { name, bytes, sha256, createdAt, accountId, data = '{}', firstName }: NewArtifact,
): void {
  sql.run(
    'INSERT INTO artifacts (name, bytes, sha256, created_at, account_id, data, first_name) VALUES ($1, $2, $3, $4, $5, $6, $7)',
    [name, bytes, sha256, createdAt, accountId, data, firstName ?? null],
  );
}

/** Marks artifacts as deleted, in slices: those that are too old, then those that exceed the limit. @returns their names */
export async function expireArtifacts(
  sql: Sql,
  writer: Writer,
  rules: Parameters<RetentionStore['expireArtifacts']>[0],
): Promise<string[]> {
  const expired: string[] = [];
  await inSlices(rules.limit, SLICE_ROWS, async (limit) => {
    const names = await writer.run(() => expireSlice(sql, { ...rules, limit }));
    expired.push(...names);
    return names.length;
  });
  return expired;
}

function expireSlice(sql: Sql, rules: Parameters<RetentionStore['expireArtifacts']>[0]): string[] {
  let kept = picturesBytes(sql);
  const expired: string[] = [];
  while (expired.length < rules.limit) {
    // Those of watches are kept as long as their runs.
    const oldest = sql.one<Expirable>(`${EXPIRABLE} AND watch_run IS NULL ORDER BY created_at LIMIT 1`);
    const isTooOld = oldest !== null && oldest.createdAt < rules.before;
    const next = isTooOld ? oldest : kept > rules.maxBytes ? oldestOfLargest(sql) : null;
    if (next === null) break;
    const first = firstOf(sql, next.name);
    for (const { name, bytes } of markGone(sql, first, rules.now)) {
      removeLater(sql, name);
      expired.push(name);
      kept -= bytes;
    }
    forget(sql, first);
  }
  return expired;
}

/** Deletes the pictures of a removed job, unless another job or a watch has them. @returns their names */
export function expireWith(sql: Sql, first: string, now: number): string[] {
  const isKept = sql.one(
    `SELECT 1 FROM jobs WHERE artifact_name = $1 AND removed_at IS NULL
      UNION ALL SELECT 1 FROM artifacts WHERE (name = $1 OR first_name = $1) AND watch_run IS NOT NULL LIMIT 1`,
    [first],
  );
  if (isKept !== null) return [];
  const names = markGone(sql, first, now).map(({ name }) => name);
  for (const name of names) removeLater(sql, name);
  sql.run(`UPDATE artifacts SET data = '{}' WHERE name = $1`, [first]);
  return names;
}

const EXPIRABLE = 'SELECT name, bytes, created_at FROM artifacts WHERE gone_at IS NULL';

export function picturesBytes(sql: Sql): number {
  return countersOf(sql)('artifacts/bytes');
}

/** Finds the oldest picture of the account that uses the most space. */
function oldestOfLargest(sql: Sql): Expirable | null {
  return sql.one<Expirable>(
    `${EXPIRABLE} AND account_id = (SELECT account_id FROM account_storage WHERE picture_bytes > 0
        ORDER BY picture_bytes + jobs * ${JOB_BYTES} DESC, account_id LIMIT 1)
      ORDER BY created_at LIMIT 1`,
  );
}

/**
 * Marks an artifact whose file is missing as deleted, and with it the other pictures of its job, whose files are then to be removed.
 * @returns false if it is marked already, or has no row
 */
export function markMissing(sql: Sql, name: string, now: number): boolean {
  const gone = markGone(sql, firstOf(sql, name), now);
  for (const other of gone) if (other.name !== name) removeLater(sql, other.name);
  return gone.length > 0;
}

/** The first picture of the job that an artifact belongs to. */
function firstOf(sql: Sql, name: string): string {
  return (
    sql.one<{ firstName: string | null }>('SELECT first_name FROM artifacts WHERE name = $1', [name])?.firstName ?? name
  );
}

/** @returns the first picture and the further ones, unless they are marked already */
function markGone(sql: Sql, first: string, now: number): Pick<Expirable, 'name' | 'bytes'>[] {
  return sql.all(
    'UPDATE artifacts SET gone_at = $2 WHERE gone_at IS NULL AND (name = $1 OR first_name = $1) RETURNING name, bytes',
    [first, now],
  );
}

function removeLater(sql: Sql, name: string): void {
  sql.run('INSERT INTO removals (name) VALUES ($1) ON CONFLICT DO NOTHING', [name]);
}

/** Deletes the row of a deleted artifact that no job refers to any more, with those of the further pictures. */
function forget(sql: Sql, name: string): void {
  sql.run(
    'DELETE FROM artifacts WHERE name = $1 AND gone_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM jobs WHERE artifact_name = $1)',
    [name],
  );
}

/** The place of an ended job in the order of deletion. */
interface EndedPlace {
  endedAt: number;
  seq: number;
}

/** Deletes ended jobs without a pending delivery in slices, oldest first, with other writes in between. @returns their number */
export async function deleteJobs(sql: Sql, writer: Writer, rules: { before: number; limit: number }): Promise<number> {
  let deleted = 0;
  let after: EndedPlace | null = { endedAt: 0, seq: 0 };
  while (after !== null && deleted < rules.limit) {
    const slice = { before: rules.before, after, limit: Math.min(SLICE_ROWS, rules.limit - deleted) };
    const done: DeletedSlice = await writer.run(() => deleteSlice(sql, slice));
    deleted += done.deleted;
    after = done.last;
  }
  return deleted;
}

interface DeletedSlice {
  deleted: number;
  /** The place after which the next slice starts; null at the end. */
  last: EndedPlace | null;
}

/** Examines the jobs after a place, until `limit` are deleted. */
function deleteSlice(
  sql: Sql,
  { before, after, limit }: { before: number; after: EndedPlace; limit: number },
): DeletedSlice {
  // The first condition lets the index start there; the second one leaves out those of the same millisecond.
  const ended = sql.all<EndedPlace & { id: string; artifactName: string | null; isPending: number }>(
    `SELECT id, artifact_name, ended_at, seq,
        EXISTS (SELECT 1 FROM deliveries WHERE deliveries.job_id = jobs.id AND deliveries.state = 'pending') AS is_pending
      FROM jobs WHERE ended_at >= $1 AND (ended_at > $1 OR seq > $2) AND ended_at < $3 ORDER BY ended_at, seq LIMIT ${EXAMINED_ROWS}`,
    [after.endedAt, after.seq, before],
  );
  let deleted = 0;
  for (const { id, artifactName, isPending, ...place } of ended) {
    if (isPending === 1) continue;
    sql.run('DELETE FROM jobs WHERE id = $1', [id]);
    sql.run('DELETE FROM deliveries WHERE job_id = $1', [id]);
    // The row of a deleted picture is kept as long as a job refers to it, so that requests get 410.
    if (artifactName !== null) forget(sql, artifactName);
    deleted++;
    if (deleted === limit) return { deleted, last: place };
  }
  return { deleted, last: ended.length < EXAMINED_ROWS ? null : (ended.at(-1) ?? null) };
}

/** Returns the bytes of the file and its log, of which `free` are in unused pages. */
export function databaseSize(connection: Connection): { database: number; free: number } {
  const { name } = connection.db;
  const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const free = numberOf(connection, 'freelist_count') * numberOf(connection, 'page_size');
  return { database: sizeOf(name) + sizeOf(`${name}-wal`), free };
}

/** Moves used pages to the front, truncates the file, and empties the log. */
export async function shrinkDatabase(connection: Connection, writer: Writer, checkpoints: Checkpoints): Promise<void> {
  // This throws if the database is damaged or replaced, since the thread of the checkpoints must not open another log.
  await writer.run(() => undefined);
  for (let slice = 0; slice < SLICES; slice++) {
    const before = numberOf(connection, 'freelist_count');
    if (before === 0) break;
    await writer.run(() => connection.db.pragma(`incremental_vacuum(${SLICE_PAGES})`));
    // The space cannot be released.
    if (numberOf(connection, 'freelist_count') >= before) break;
  }
  await checkpoints.truncate();
}

function numberOf(connection: Connection, pragma: string): number {
  return Number(connection.db.pragma(pragma, { simple: true }));
}
