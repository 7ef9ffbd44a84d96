import pg from 'pg';
import { expect } from 'vitest';
import { issueFirstKey } from '../../src/account/issue-key.js';
import { hashApiKey } from '../../src/contract/api-key.js';
import { aKey, IS_POSTGRES, NOON, openAt } from './factories.js';
import { test } from './store-test.js';

test('account names are unique, and quotas can be set and removed', async ({ store }) => {
  const account = await store.createAccount('acme', NOON);
  expect(account).toMatchObject({ name: 'acme', quota: null, createdAt: NOON });
  expect(await store.createAccount('acme', NOON)).toBeNull();
  expect(await store.setQuota('acme', 500)).toBe(true);
  expect(await store.setQuota('nobody', 500)).toBe(false);
  expect(await store.findAccount('acme')).toEqual({ ...account, quota: 500 });
  expect(await store.findAccount('nobody')).toBeNull();
  await store.createAccount('aaa', NOON);
  expect((await store.listAccounts()).map(({ name }) => name)).toEqual(['aaa', 'acme']);
  await expect(store.setQuota('acme', -1)).rejects.toThrow();
});

test('credits without a job are charged up to the quota, however many come at once, and can be refunded', async ({
  store,
  user,
}) => {
  const { accountId } = user;
  const credits = async () => (await store.usage(accountId, NOON)).credits;
  const charge = (price: number) => store.charge({ accountId, price, enqueuedAt: NOON });
  expect([await charge(3), await credits()]).toEqual([null, 3]);
  await store.setQuota(user.accountName, 10);
  const answers = await Promise.all(Array.from({ length: 8 }, () => charge(3)));
  expect(answers.filter((answer) => answer === null)).toHaveLength(2);
  expect(await charge(3)).toMatchObject({ kind: 'quota_exceeded', quota: 10, used: 9, reserved: 0 });
  await store.setQuota(user.accountName, 0);
  expect([await charge(-3), await credits()]).toEqual([null, 6]);
});

test.skipIf(!IS_POSTGRES)('an account is not made without its turn, and can be made later', async ({ it, store }) => {
  await alter(it.dataDir, 'TABLE turns ADD CONSTRAINT refused CHECK (false)');
  await expect(store.createAccount('acme', NOON)).rejects.toThrow('refused');
  expect(await store.findAccount('acme')).toBeNull();
  await alter(it.dataDir, 'TABLE turns DROP CONSTRAINT refused');
  expect(await store.createAccount('acme', NOON)).toMatchObject({ name: 'acme' });
});

async function alter(url: string, change: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`ALTER ${change}`);
  await client.end();
}

test('only one of several processes that open an empty store makes the first key', async ({ it, store }) => {
  await store.createAccount('default', NOON);
  const others = await Promise.all(Array.from({ length: 3 }, () => openAt(it.dataDir)));
  const secrets = await Promise.all(
    [store, ...others].map((store) => issueFirstKey({ ...store, listKeys: async () => [] }, NOON)),
  );
  await Promise.all(others.map((other) => other[Symbol.asyncDispose]()));
  expect(secrets.filter((secret) => secret !== null)).toHaveLength(1);
  expect(await store.listKeys()).toHaveLength(1);
});

test('a revocation by another process takes effect at once', async ({ it, store, user }) => {
  await using command = await openAt(it.dataDir);
  const hash = hashApiKey(user.secret);
  expect(await store.findKeyByHash(hash)).toMatchObject({
    id: user.keyId,
    accountName: user.accountName,
    revokedAt: null,
  });
  expect(await command.revokeKey(user.keyId, NOON + 5)).toMatchObject({
    revoked: { id: user.keyId, revokedAt: NOON + 5 },
  });
  expect(await store.findKeyByHash(hash)).toMatchObject({ revokedAt: NOON + 5 });
  expect(await store.revokeKey(user.keyId, NOON + 9)).toMatchObject({ revoked: { revokedAt: NOON + 5 } });
});

test('a key is revoked by its id or its secret, or by 12 or more of their first characters', async ({
  store,
  user,
}) => {
  const other = await aKey(store, user.accountId);
  expect(await store.revokeKey('sf_live_', NOON)).toEqual({ problem: 'not_found' });
  expect(await store.revokeKey(user.secret.slice(0, 11), NOON)).toEqual({ problem: 'not_found' });
  expect(await store.revokeKey(user.secret.slice(0, 12), NOON)).toMatchObject({ revoked: { id: user.keyId } });
  expect(await store.revokeKey(other.secret, NOON)).toMatchObject({ revoked: { id: other.keyId } });
  expect(await store.revokeKey(user.secret.slice(0, 24), NOON)).toMatchObject({ revoked: { id: user.keyId } });
  expect(await store.revokeKey(other.keyId.slice(0, 26), NOON)).toMatchObject({ revoked: { id: other.keyId } });
  expect(await store.revokeKey(other.keyId.slice(0, 12), NOON)).toEqual({ problem: 'ambiguous' });
  expect(await store.revokeKey('key_unknown_to_all', NOON)).toEqual({ problem: 'not_found' });
});
