import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Db } from './connect.js';
import { signingSecrets } from './schema.js';
import type { Vault } from './vault.js';

/** Synchronous statements; the caller owns the transaction. */
export function signingSecretsTable(db: Db, vault: Vault) {
  const orm = drizzle(db);
  const byKey = orm
    .select()
    .from(signingSecrets)
    .where(eq(signingSecrets.keyId, sql.placeholder('keyId')))
    .prepare();
  const place = (keyId: string) => `signing:${keyId}`;

  return {
    /** Replaces a key's secret; the one before holds until then. @param previousUntil Unix ms */
    rotate(keyId: string, secret: string, previousUntil: number): void {
      const [before] = byKey.all({ keyId });
      const previous = before === undefined ? { previous: null, previousUntil: null } : { previous: before.secret, previousUntil };
      const row = { secret: vault.seal(secret, place(keyId)), ...previous };
      orm
        .insert(signingSecrets)
        .values({ keyId, ...row })
        .onConflictDoUpdate({ target: signingSecrets.keyId, set: row })
        .run();
    },
    /** Those that hold now, the newest first; none when the key never had one. */
    valid(keyId: string, now: number): string[] {
      const [row] = byKey.all({ keyId });
      if (row === undefined) return [];
      const older = row.previous !== null && (row.previousUntil ?? 0) > now ? [row.previous] : [];
      return [row.secret, ...older].map((sealed) => vault.open(sealed, place(keyId)));
    },
  };
}
