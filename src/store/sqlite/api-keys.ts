import { hashApiKey } from '../../contract/api-key.js';
import type { ApiKey, KeyStore } from '../store.js';
import type { Db } from './connect.js';

/** Shorter ones could fit the beginning of someone else's key (`sf_live_` alone is 8). */
const REVOKE_PREFIX_MIN_CHARS = 12;

const COLUMNS = `k.id, k.account_id AS accountId, a.name AS accountName, k.label, k.scopes, k.prefix, k.created_at AS createdAt,
  k.revoked_at AS revokedAt FROM api_keys k JOIN accounts a ON a.id = k.account_id`;

type KeyRow = Omit<ApiKey, 'scopes'> & { scopes: string };

/** Synchronous statements; the caller owns the transaction. */
export function apiKeysTable(db: Db) {
  const insert = db.prepare(
    `INSERT INTO api_keys (id, account_id, hash, label, scopes, prefix, created_at)
     VALUES (@id, @accountId, @hash, @label, @scopes, @prefix, @createdAt)`,
  );
  const byHash = db.prepare<[string], KeyRow>(`SELECT ${COLUMNS} WHERE k.hash = ?`);
  const byId = db.prepare<[string], KeyRow>(`SELECT ${COLUMNS} WHERE k.id = ?`);
  const all = db.prepare<[], KeyRow>(`SELECT ${COLUMNS} ORDER BY k.created_at, k.id`);
  const matching = db.prepare<{ text: string; hash: string; min: number }, KeyRow>(
    `SELECT ${COLUMNS} WHERE k.id = @text OR k.hash = @hash OR (length(@text) >= @min AND (substr(k.id, 1, length(@text)) = @text
       OR substr(k.prefix, 1, length(@text)) = substr(@text, 1, length(k.prefix)))) LIMIT 2`,
  );
  const revoke = db.prepare<[number, string]>('UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL');

  return {
    insert(key: Parameters<KeyStore['insertKey']>[0]): void {
      insert.run({ ...key, scopes: JSON.stringify(key.scopes) });
    },
    findByHash(hash: string): ApiKey | null {
      return toApiKey(byHash.get(hash));
    },
    find(id: string): ApiKey | null {
      return toApiKey(byId.get(id));
    },
    list(): ApiKey[] {
      return all.all().flatMap((row) => toApiKey(row) ?? []);
    },
    /** Revoking twice keeps the first time. */
    revoke(idOrPrefix: string, now: number): Awaited<ReturnType<KeyStore['revokeKey']>> {
      const found = matching.all({ text: idOrPrefix, hash: hashApiKey(idOrPrefix), min: REVOKE_PREFIX_MIN_CHARS });
      const key = toApiKey(found[0]);
      if (key === null) return { problem: 'not_found' };
      if (found.length > 1) return { problem: 'ambiguous' };
      revoke.run(now, key.id);
      return { revoked: { ...key, revokedAt: key.revokedAt ?? now } };
    },
  };
}

function toApiKey(row: KeyRow | undefined): ApiKey | null {
  return row === undefined ? null : { ...row, scopes: JSON.parse(row.scopes) };
}
