import { and, asc, desc, eq, gt, isNotNull, isNull, notExists, sql } from 'drizzle-orm';
import { JOB_BYTES } from '../rules.js';
import type { ArtifactRow } from '../store.js';
import { matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import { accountStorage, artifacts, jobs } from './schema.js';

export type NewArtifact = Omit<ArtifactRow, 'goneAt'> & { accountId: string; data: string };
type Expirable = Pick<ArtifactRow, 'name' | 'bytes' | 'createdAt'>;

/** Synchronous statements. The caller owns the transaction. */
export function artifactsTable(orm: Orm) {
  const { name, bytes, sha256, createdAt, goneAt, accountId, data } = artifacts;
  const isKept = isNull(goneAt);
  const insert = orm
    .insert(artifacts)
    .values(parameters(artifacts, 'name', 'bytes', 'sha256', 'createdAt', 'accountId', 'data'))
    .prepare();
  const find = orm.select({ name, bytes, sha256, createdAt, goneAt }).from(artifacts).where(matching(artifacts, 'name')).prepare();
  const expirable = () => orm.select({ name, bytes, createdAt }).from(artifacts).orderBy(asc(createdAt)).limit(1);
  const oldest = expirable().where(isKept).prepare();
  const largest = orm
    .select({ accountId: accountStorage.accountId })
    .from(accountStorage)
    .where(gt(accountStorage.pictureBytes, 0))
    .orderBy(desc(sql`${accountStorage.pictureBytes} + ${accountStorage.jobs} * ${JOB_BYTES}`), asc(accountStorage.accountId))
    .limit(1);
  const oldestOfLargest = expirable()
    .where(and(isKept, eq(accountId, largest)))
    .prepare();
  const keepData = orm
    .update(artifacts)
    .set(parameters(artifacts, 'data'))
    .where(and(matching(artifacts, 'name'), isNull(data)))
    .prepare();
  const namesAfter = orm
    .select({ name })
    .from(artifacts)
    .where(and(isKept, gt(name, sql.placeholder('after'))))
    .orderBy(asc(name))
    .limit(sql.placeholder('limit'))
    .prepare();
  const markGone = orm
    .update(artifacts)
    .set(parameters(artifacts, 'goneAt'))
    .where(and(matching(artifacts, 'name'), isKept))
    .prepare();
  const ofJobs = orm.select({ one: sql`1` }).from(jobs).where(eq(jobs.artifactName, name));
  const forget = orm
    .delete(artifacts)
    .where(and(matching(artifacts, 'name'), isNotNull(goneAt), notExists(ofJobs)))
    .prepare();

  return {
    insert(artifact: NewArtifact): void {
      insert.run(artifact);
    },
    find: (name: string): ArtifactRow | null => find.get({ name }) ?? null,
    /** Finds the oldest artifact that is not deleted. */
    oldest: (): Expirable | null => oldest.get() ?? null,
    /** Finds the oldest artifact of the account that uses the most disk space. */
    oldestOfLargest: (): Expirable | null => oldestOfLargest.get() ?? null,
    /** Stores `data` in a row that has none. */
    keepData(name: string, data: string): void {
      keepData.run({ name, data });
    },
    namesAfter: (after: string, limit: number): string[] => namesAfter.all({ after, limit }).map((row) => row.name),
    markGone: (name: string, now: number): boolean => markGone.run({ name, goneAt: now }).changes === 1,
    /** Deletes the row of a deleted artifact that no job refers to any more. */
    forget(name: string): void {
      forget.run({ name });
    },
  };
}
