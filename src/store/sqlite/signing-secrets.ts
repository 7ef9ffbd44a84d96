import type { Vault } from '../vault.js';
import { matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import { signingSecrets } from './schema.js';

/** Synchronous statements. The caller owns the transaction. */
export function signingSecretsTable(orm: Orm, vault: Vault) {
  const byKey = orm.select().from(signingSecrets).where(matching(signingSecrets, 'keyId')).prepare();
  const secrets = parameters(signingSecrets, 'secret', 'previous', 'previousUntil');
  const replace = orm
    .insert(signingSecrets)
    .values({ ...parameters(signingSecrets, 'keyId'), ...secrets })
    .onConflictDoUpdate({ target: signingSecrets.keyId, set: secrets })
    .prepare();
  const all = orm.select().from(signingSecrets).prepare();
  const place = (keyId: string) => `signing:${keyId}`;

  return {
    /** Encrypts all secrets again with the current key. */
    sealAgain(): void {
      for (const row of all.all()) {
        const again = (sealed: Buffer) => vault.seal(vault.open(sealed, place(row.keyId)), place(row.keyId));
        replace.run({ ...row, secret: again(row.secret), previous: row.previous === null ? null : again(row.previous) });
      }
    },
    /** Replaces a key's secret. @param previousUntil Unix ms until which the previous one is valid */
    rotate(keyId: string, secret: string, previousUntil: number): void {
      const before = byKey.get({ keyId });
      const previous = before === undefined ? { previous: null, previousUntil: null } : { previous: before.secret, previousUntil };
      replace.run({ keyId, secret: vault.seal(secret, place(keyId)), ...previous });
    },
    /** Lists the secrets that are valid now, newest first; none if the key never had one. */
    valid(keyId: string, now: number): string[] {
      const row = byKey.get({ keyId });
      if (row === undefined) return [];
      const older = row.previous !== null && (row.previousUntil ?? 0) > now ? [row.previous] : [];
      return [row.secret, ...older].map((sealed) => vault.open(sealed, place(keyId)));
    },
  };
}
