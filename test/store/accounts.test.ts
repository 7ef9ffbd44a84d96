import pg from 'pg';
import { expect, test } from 'vitest';
import { issueFirstKey } from '../../src/account/issue-key.js';
import { hashApiKey } from '../../src/contract/api-key.js';
import { aKey, aStore, IS_POSTGRES, NOON, openAt, withCaller } from './factories.js';

test('account names are unique, and quotas can be set and removed', async () => {
  await using it = await aStore();
  const account = await it.store.createAccount('acme', NOON);
  expect(account).toMatchObject({ name: 'acme', quota: null, createdAt: NOON });
  expect(await it.store.createAccount('acme', NOON)).toBeNull();
  expect(await it.store.setQuota('acme', 500)).toBe(true);
  expect(await it.store.setQuota('nobody', 500)).toBe(false);
  expect(await it.store.findAccount('acme')).toEqual({ ...account, quota: 500 });
  expect(await it.store.findAccount('nobody')).toBeNull();
  await it.store.createAccount('aaa', NOON);
  expect((await it.store.listAccounts()).map(({ name }) => name)).toEqual(['aaa', 'acme']);
  await expect(it.store.setQuota('acme', -1)).rejects.toThrow();
});

test.skipIf(!IS_POSTGRES)('an account is not made without its turn, and can be made later', async () => {
  await using it = await aStore();
  await alter(it.dataDir, 'TABLE turns ADD CONSTRAINT refused CHECK (false)');
  await expect(it.store.createAccount('acme', NOON)).rejects.toThrow('refused');
  expect(await it.store.findAccount('acme')).toBeNull();
  await alter(it.dataDir, 'TABLE turns DROP CONSTRAINT refused');
  expect(await it.store.createAccount('acme', NOON)).toMatchObject({ name: 'acme' });
});

async function alter(url: string, change: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`ALTER ${change}`);
  await client.end();
}

test('only one of several processes that open an empty store makes the first key', async () => {
  await using it = await aStore();
  await it.store.createAccount('default', NOON);
  const others = await Promise.all(Array.from({ length: 3 }, () => openAt(it.dataDir)));
  const secrets = await Promise.all([it.store, ...others].map((store) => issueFirstKey({ ...store, listKeys: async () => [] }, NOON)));
  await Promise.all(others.map((other) => other[Symbol.asyncDispose]()));
  expect(secrets.filter((secret) => secret !== null)).toHaveLength(1);
  expect(await it.store.listKeys()).toHaveLength(1);
});

test('a revocation by another process takes effect at once', async () => {
  await using it = await withCaller();
  await using command = await openAt(it.dataDir);
  const hash = hashApiKey(it.caller.secret);
  expect(await it.store.findKeyByHash(hash)).toMatchObject({ id: it.caller.keyId, accountName: it.caller.accountName, revokedAt: null });
  expect(await command.revokeKey(it.caller.keyId, NOON + 5)).toMatchObject({ revoked: { id: it.caller.keyId, revokedAt: NOON + 5 } });
  expect(await it.store.findKeyByHash(hash)).toMatchObject({ revokedAt: NOON + 5 });
  expect(await it.store.revokeKey(it.caller.keyId, NOON + 9)).toMatchObject({ revoked: { revokedAt: NOON + 5 } });
});

test('a key is revoked by its id or its secret, or by 12 or more of their first characters', async () => {
  await using it = await withCaller();
  const other = await aKey(it.store, it.caller.accountId);
  expect(await it.store.revokeKey('sf_live_', NOON)).toEqual({ problem: 'not_found' });
  expect(await it.store.revokeKey(it.caller.secret.slice(0, 11), NOON)).toEqual({ problem: 'not_found' });
  expect(await it.store.revokeKey(it.caller.secret.slice(0, 12), NOON)).toMatchObject({ revoked: { id: it.caller.keyId } });
  expect(await it.store.revokeKey(other.secret, NOON)).toMatchObject({ revoked: { id: other.keyId } });
  expect(await it.store.revokeKey(it.caller.secret.slice(0, 24), NOON)).toMatchObject({ revoked: { id: it.caller.keyId } });
  expect(await it.store.revokeKey(other.keyId.slice(0, 26), NOON)).toMatchObject({ revoked: { id: other.keyId } });
  expect(await it.store.revokeKey(other.keyId.slice(0, 12), NOON)).toEqual({ problem: 'ambiguous' });
  expect(await it.store.revokeKey('key_unknown_to_all', NOON)).toEqual({ problem: 'not_found' });
});
