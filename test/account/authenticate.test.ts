import { expect, vi } from 'vitest';
import { authenticate } from '../../src/account/authenticate.js';
import { issueKey } from '../../src/account/issue-key.js';
import { newApiKey } from '../../src/contract/api-key.js';
import { CaptureError } from '../../src/contract/capture-error.js';
import type { Store } from '../../src/store/store.js';
import { NOON } from '../store/factories.js';
import { test } from '../store/store-test.js';

async function anIssuedKey(store: Store) {
  await store.createAccount('acme', NOON);
  const key = await issueKey(store, { accountName: 'acme', label: 'website', scopes: ['jobs:read'], now: NOON });
  if (key === null) throw new Error('no account');
  return key;
}

async function refusal(store: Pick<Store, 'findKeyByHash'>, header: string | undefined): Promise<CaptureError> {
  const thrown = await authenticate(store, header).catch((error: unknown) => error);
  if (!(thrown instanceof CaptureError)) throw new Error('was let in');
  return thrown;
}

test('an issued key authenticates as its account with its scopes', async ({ store }) => {
  const key = await anIssuedKey(store);
  expect(key).toMatchObject({
    accountName: 'acme',
    label: 'website',
    scopes: ['jobs:read'],
    createdAt: NOON,
    revokedAt: null,
  });
  expect(key.secret.startsWith(key.prefix)).toBe(true);
  expect(key.prefix).toHaveLength(16);
  const principal = { keyId: key.id, accountId: key.accountId, scopes: ['jobs:read'] };
  expect(await authenticate(store, `Bearer ${key.secret}`)).toEqual(principal);
  expect(await authenticate(store, `bearer  ${key.secret} `)).toEqual(principal);
});

test('missing, malformed, unknown and revoked keys are refused in the same words', async ({ store }) => {
  const key = await anIssuedKey(store);
  await store.revokeKey(key.id, NOON);
  const headers = [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    key.secret,
    `Basic ${key.secret}`,
    `Bearer ${key.secret},x`,
    `Bearer ${'x'.repeat(10_000)}`,
    `Bearer ${newApiKey()}`,
    `Bearer ${key.secret}`,
  ];
  const refusals = await Promise.all(headers.map((header) => refusal(store, header)));
  expect(
    new Set(refusals.map(({ code, status, message, details }) => JSON.stringify({ code, status, message, details })))
      .size,
  ).toBe(1);
  expect(refusals[0]).toMatchObject({ code: 'unauthorized', status: 401, retriable: false });
});

test('a malformed key is refused without a database read', async ({ store }) => {
  const { secret } = await anIssuedKey(store);
  const reads = vi.spyOn(store, 'findKeyByHash');
  const typo = secret.slice(0, 20) + (secret[20] === 'a' ? 'b' : 'a') + secret.slice(21);
  await refusal(store, `Bearer ${typo}`);
  await refusal(store, 'Bearer sf_live_short');
  expect(reads).not.toHaveBeenCalled();
  await authenticate(store, `Bearer ${secret}`);
  expect(reads).toHaveBeenCalledOnce();
});
