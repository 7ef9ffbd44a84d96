import { and, asc, eq, isNull, or, sql } from 'drizzle-orm';
import { hashApiKey } from '../../contract/api-key.js';
import { REVOKE_PREFIX_MIN_CHARS } from '../rules.js';
import type { ApiKey, KeyStore, NewKey } from '../store.js';
import { matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import { accounts, apiKeys } from './schema.js';

/** Synchronous statements. The caller owns the transaction. */
export function apiKeysTable(orm: Orm) {
  const { id, accountId, label, scopes, prefix, createdAt, revokedAt, linksLimit } = apiKeys;
  const select = () =>
    orm
      .select({ id, accountId, accountName: accounts.name, label, scopes, prefix, createdAt, revokedAt, linksLimit })
      .from(apiKeys)
      .innerJoin(accounts, eq(accounts.id, accountId));
  const byHash = select().where(matching(apiKeys, 'hash')).prepare();
  const byId = select().where(matching(apiKeys, 'id')).prepare();
  const all = select().orderBy(asc(createdAt), asc(id)).prepare();
  const any = orm.select({ id }).from(apiKeys).limit(1).prepare();
  const matches = select()
    .where(or(matching(apiKeys, 'hash'), eq(id, sql.placeholder('text')), beginsWith()))
    .limit(2)
    .prepare();
  const insert = orm
    .insert(apiKeys)
    .values(parameters(apiKeys, 'id', 'accountId', 'hash', 'label', 'scopes', 'prefix', 'createdAt'))
    .prepare();
  const revoke = orm
    .update(apiKeys)
    .set(parameters(apiKeys, 'revokedAt'))
    .where(and(matching(apiKeys, 'id'), isNull(revokedAt)))
    .prepare();

  const setLinksLimit = orm.update(apiKeys).set(parameters(apiKeys, 'linksLimit')).where(matching(apiKeys, 'id')).prepare();

  return {
    insert(key: NewKey): void {
      insert.run({ ...key });
    },
    /** @returns false if there is a key */
    insertFirst(key: NewKey): boolean {
      if (any.get() !== undefined) return false;
      insert.run({ ...key });
      return true;
    },
    findByHash: (hash: string): ApiKey | null => byHash.get({ hash }) ?? null,
    find: (keyId: string): ApiKey | null => byId.get({ id: keyId }) ?? null,
    list: (): ApiKey[] => all.all(),
    setLinksLimit: (keyId: string, limit: number | null): boolean => setLinksLimit.run({ id: keyId, linksLimit: limit }).changes === 1,
    /** Revokes a key. Revoking again keeps the time of the first revocation. */
    revoke(idOrPrefix: string, now: number): Awaited<ReturnType<KeyStore['revokeKey']>> {
      const [key, other] = matches.all({ text: idOrPrefix, hash: hashApiKey(idOrPrefix) });
      if (key === undefined) return { problem: 'not_found' };
      if (other !== undefined) return { problem: 'ambiguous' };
      revoke.run({ id: key.id, revokedAt: now });
      return { revoked: { ...key, revokedAt: key.revokedAt ?? now } };
    },
  };
}

/** Matches if the text is a prefix of the id or of the stored prefix, or begins with the stored prefix. */
function beginsWith() {
  const text = sql.placeholder('text');
  return sql`(length(${text}) >= ${REVOKE_PREFIX_MIN_CHARS} and (substr(${apiKeys.id}, 1, length(${text})) = ${text}
    or substr(${apiKeys.prefix}, 1, length(${text})) = substr(${text}, 1, length(${apiKeys.prefix}))))`;
}
