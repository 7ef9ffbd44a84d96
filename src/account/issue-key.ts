import { randomBytes } from 'node:crypto';
import { hashApiKey, newApiKey, SCOPES, type Scope } from '../contract/api-key.js';
import { newId } from '../contract/ids.js';
import type { AccountStore, ApiKey, KeyStore, NewKey } from '../store/store.js';

/** Length of the stored prefix: `sf_live_` and 8 more characters, which tell keys apart; 24 random characters stay secret. */
const SHOWN_CHARS = 16;

export interface KeyRequest {
  accountName: string;
  label: string;
  scopes: readonly Scope[];
  /** Unix ms. */
  now: number;
}

/** A key with its secret, which is stored nowhere and cannot be shown again. */
export interface IssuedKey extends ApiKey {
  secret: string;
}

/** Creates a key for an account. @returns null if there is no such account */
export async function issueKey(
  store: Pick<AccountStore, 'findAccount'> & Pick<KeyStore, 'insertKey'>,
  request: KeyRequest,
): Promise<IssuedKey | null> {
  const account = await store.findAccount(request.accountName);
  if (account === null) return null;
  const { key, secret } = makeKey(account.id, request);
  await store.insertKey(key);
  const { hash: _, ...shown } = key;
  return { ...shown, accountName: account.name, revokedAt: null, linksLimit: null, secret };
}

/**
 * Creates a store's first key, with all scopes, for the account `default`.
 * @returns its secret; null if a key exists or the account does not
 */
export async function issueFirstKey(
  store: Pick<AccountStore, 'findAccount'> & Pick<KeyStore, 'insertFirstKey' | 'listKeys'>,
  now: number,
): Promise<string | null> {
  if ((await store.listKeys()).length > 0) return null;
  const account = await store.findAccount('default');
  if (account === null) return null;
  const { key, secret } = makeKey(account.id, { label: 'first key', scopes: SCOPES, now });
  return (await store.insertFirstKey(key)) ? secret : null;
}

function makeKey(
  accountId: string,
  { label, scopes, now }: Omit<KeyRequest, 'accountName'>,
): { key: NewKey; secret: string } {
  const secret = newApiKey();
  const prefix = secret.slice(0, SHOWN_CHARS);
  const key = {
    id: newId('key', now),
    accountId,
    label,
    scopes: [...scopes],
    prefix,
    createdAt: now,
    hash: hashApiKey(secret),
  };
  return { key, secret };
}

const SECRET_BYTES = 32;

/** Generates a secret that signs a key's render links. It is shown once. */
export function newSigningSecret(): string {
  return `sf_sign_${randomBytes(SECRET_BYTES).toString('base64url')}`;
}
