import { and, asc, eq } from 'drizzle-orm';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import { newId } from '../../contract/ids.js';
import { periodOf } from '../../contract/pricing.js';
import type { Account, AccountUsage } from '../store.js';
import type { Db } from './connect.js';
import { accounts, usage } from './schema.js';

/** Synchronous statements; the caller owns the transaction. */
export function accountsTable(db: Db) {
  const sql: BetterSQLite3Database = drizzle(db);
  return {
    /** null when the name is taken */
    insert(name: string, now: number): Account | null {
      const account = { id: newId('account', now), name, quota: null, createdAt: now };
      return sql.insert(accounts).values(account).onConflictDoNothing({ target: accounts.name }).run().changes === 1 ? account : null;
    },
    list(): Account[] {
      return sql.select().from(accounts).orderBy(asc(accounts.name)).all();
    },
    find(name: string): Account | null {
      return sql.select().from(accounts).where(eq(accounts.name, name)).get() ?? null;
    },
    setQuota(name: string, quota: number | null): boolean {
      return sql.update(accounts).set({ quota }).where(eq(accounts.name, name)).run().changes === 1;
    },
    /** @throws Error for an account that does not exist */
    usage(accountId: string, now: number): AccountUsage {
      const period = periodOf(now);
      const row = sql
        .select({ account: accounts.name, quota: accounts.quota, settled: usage.settled, reserved: usage.reserved })
        .from(accounts)
        .leftJoin(usage, and(eq(usage.accountId, accounts.id), eq(usage.period, period)))
        .where(eq(accounts.id, accountId))
        .get();
      if (row === undefined) throw new Error(`no account ${accountId}`);
      return { account: row.account, period, credits: row.settled ?? 0, reserved: row.reserved ?? 0, quota: row.quota };
    },
  };
}
