import { and, asc, count, eq, gt, lte, sql } from 'drizzle-orm';
import { CONSOLE_KEPT } from '../rules.js';
import type { ConsoleGrant } from '../store.js';
import { matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import { consoleAccess } from './schema.js';

type Kind = keyof typeof CONSOLE_KEPT;

/** Links and sessions of the console. Synchronous statements. The caller owns the transaction. */
export function consoleAccessTable(orm: Orm) {
  const { hash, kind, createdAt, expiresAt } = consoleAccess;
  const isLive = and(matching(consoleAccess, 'kind'), gt(expiresAt, sql.placeholder('now')));
  const insert = orm
    .insert(consoleAccess)
    .values(parameters(consoleAccess, 'hash', 'kind', 'createdAt', 'expiresAt'))
    .prepare();
  const find = orm
    .select({ hash, createdAt, expiresAt })
    .from(consoleAccess)
    .where(and(matching(consoleAccess, 'hash'), isLive))
    .prepare();
  const live = orm.select({ rows: count() }).from(consoleAccess).where(isLive).prepare();
  const oldest = orm
    .select({ hash })
    .from(consoleAccess)
    .where(matching(consoleAccess, 'kind'))
    .orderBy(asc(createdAt), asc(hash))
    .prepare();
  const remove = orm
    .delete(consoleAccess)
    .where(matching(consoleAccess, 'hash', 'kind'))
    .prepare();
  const removeExpired = orm
    .delete(consoleAccess)
    .where(lte(expiresAt, sql.placeholder('now')))
    .prepare();
  const removeSessions = orm.delete(consoleAccess).where(eq(kind, 'session')).prepare();
  const removeAll = orm.delete(consoleAccess).prepare();

  const add = (added: Kind, grant: ConsoleGrant): void => {
    removeExpired.run({ now: grant.createdAt });
    const kept = oldest.all({ kind: added });
    for (const row of kept.slice(0, Math.max(0, kept.length + 1 - CONSOLE_KEPT[added]))) remove.run({ hash: row.hash, kind: added });
    insert.run({ ...grant, kind: added });
  };
  const take = (linkHash: string, now: number): boolean =>
    find.get({ hash: linkHash, kind: 'link', now }) !== undefined && remove.run({ hash: linkHash, kind: 'link' }).changes === 1;

  return {
    addLink: (link: ConsoleGrant): void => add('link', link),
    exchange(linkHash: string, session: ConsoleGrant): boolean {
      if (!take(linkHash, session.createdAt)) return false;
      add('session', session);
      return true;
    },
    findSession: (sessionHash: string, now: number): ConsoleGrant | null => find.get({ hash: sessionHash, kind: 'session', now }) ?? null,
    countSessions: (now: number): number => live.get({ kind: 'session', now })?.rows ?? 0,
    endSession: (sessionHash: string): boolean => remove.run({ hash: sessionHash, kind: 'session' }).changes === 1,
    endAll(): number {
      const ended = removeSessions.run().changes;
      removeAll.run();
      return ended;
    },
  };
}
