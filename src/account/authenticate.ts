/**
 * Authentication and authorisation: keys, scopes and rate limits. Uses the store's keys; must not know HTTP, jobs or captures.
 */
import { hashApiKey, isApiKey, type Scope } from '../contract/api-key.js';
import { CaptureError } from '../contract/capture-error.js';
import type { KeyStore } from '../store/store.js';

/** The authenticated caller: an active key, and the account that it belongs to. */
export interface Principal {
  keyId: string;
  accountId: string;
  scopes: readonly Scope[];
}

/** The `Authorization` value (interface.md, Authentication). The scheme's name is case-insensitive (RFC 9110, 11.1). */
const BEARER = /^Bearer +([^\s,]{1,200}) *$/i;

/**
 * Authenticates the key of an `Authorization` header by its hash, so that the look-up's duration reveals nothing about stored keys. The
 * database is queried for well-formed keys only, but every time, so that a revocation by another process takes effect at once.
 * @throws CaptureError `unauthorized`, the same for a missing, malformed, unknown or revoked key
 */
export async function authenticate(store: Pick<KeyStore, 'findKeyByHash'>, authorization: string | undefined): Promise<Principal> {
  const secret = BEARER.exec(authorization ?? '')?.[1];
  if (secret === undefined || !isApiKey(secret)) throw unauthorized();
  const key = await store.findKeyByHash(hashApiKey(secret));
  if (key === null || key.revokedAt !== null) throw unauthorized();
  return { keyId: key.id, accountId: key.accountId, scopes: key.scopes };
}

function unauthorized(): CaptureError {
  return new CaptureError({
    code: 'unauthorized',
    message: 'A valid API key is required: send it as `Authorization: Bearer sf_live_…`.',
  });
}
