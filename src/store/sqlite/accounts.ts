import { and, asc, eq, sql } from 'drizzle-orm';
import { newId } from '../../contract/ids.js';
import { periodOf } from '../../contract/pricing.js';
import type { Account, AccountUsage } from '../store.js';
import { matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import { accounts, usage } from './schema.js';

/** Synchronous statements. The caller owns the transaction. */
export function accountsTable(orm: Orm) {
  const insert = orm
    .insert(accounts)
    .values(parameters(accounts, 'id', 'name', 'quota', 'createdAt'))
    .onConflictDoNothing({ target: accounts.name })
    .prepare();
  const all = orm.select().from(accounts).orderBy(asc(accounts.name)).prepare();
  const byName = orm.select().from(accounts).where(matching(accounts, 'name')).prepare();
  const setQuota = orm.update(accounts).set(parameters(accounts, 'quota')).where(matching(accounts, 'name')).prepare();
  const usageOf = orm
    .select({ account: accounts.name, quota: accounts.quota, settled: usage.settled, reserved: usage.reserved })
    .from(accounts)
    .leftJoin(usage, and(eq(usage.accountId, accounts.id), eq(usage.period, sql.placeholder('period'))))
    .where(matching(accounts, 'id'))
    .prepare();

  return {
    /** @returns null if the name is taken */
    insert(name: string, now: number): Account | null {
      const account = { id: newId('account', now), name, quota: null, createdAt: now };
      return insert.run(account).changes === 1 ? account : null;
    },
    list: (): Account[] => all.all(),
    find: (name: string): Account | null => byName.get({ name }) ?? null,
    setQuota: (name: string, quota: number | null): boolean => setQuota.run({ name, quota }).changes === 1,
    /** @throws Error for an account that does not exist */
    usage(accountId: string, now: number): AccountUsage {
      const period = periodOf(now);
      const row = usageOf.get({ id: accountId, period });
      if (row === undefined) throw new Error(`no account ${accountId}`);
      return { account: row.account, period, credits: row.settled ?? 0, reserved: row.reserved ?? 0, quota: row.quota };
    },
  };
}
