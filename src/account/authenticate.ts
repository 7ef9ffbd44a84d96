/**
 * Authentication and authorization: keys, scopes and signed links. Uses the store's keys; must not know HTTP, jobs or captures.
 */
import { hashApiKey, isApiKey, type Scope } from '../contract/api-key.js';
import { CaptureError } from '../contract/capture-error.js';
import { isId } from '../contract/ids.js';
import { isSignedBy, type QueryPair, type SignedQuery, singleValue } from '../contract/render-link.js';
import type { KeyStore } from '../store/store.js';

/** The authenticated caller: an active key, and the account that it belongs to. */
export interface Principal {
  keyId: string;
  accountId: string;
  scopes: readonly Scope[];
}

/** The `Authorization` value (interface.md, Authentication). The scheme's name is case-insensitive (RFC 9110, 11.1). */
const BEARER = /^Bearer +([^\s,]{1,200}) *$/i;

/** Authenticates the key of an `Authorization` header, as `authenticateKey`. */
export async function authenticate(
  store: Pick<KeyStore, 'findKeyByHash'>,
  authorization: string | undefined,
): Promise<Principal> {
  return await authenticateKey(store, BEARER.exec(authorization ?? '')?.[1] ?? null);
}

/**
 * Authenticates a key by its hash, so that the look-up's duration reveals nothing about stored keys. The database is queried for
 * well-formed keys only, but every time, so that a revocation by another process takes effect at once.
 * @throws CaptureError `unauthorized`, the same for a missing, malformed, unknown or revoked key
 */
export async function authenticateKey(
  store: Pick<KeyStore, 'findKeyByHash'>,
  secret: string | null,
): Promise<Principal> {
  if (secret === null || !isApiKey(secret)) throw unauthorized();
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

/** @throws CaptureError `forbidden` when the key lacks the scope */
export function requireScope(principal: Pick<Principal, 'scopes'>, scope: Scope): void {
  if (principal.scopes.includes(scope)) return;
  throw new CaptureError({ code: 'forbidden', message: `This API key lacks the scope \`${scope}\`.` });
}

/** Compared for keys without secrets, so that the response takes the same time for them. */
const NO_SECRETS = [''];

/**
 * Finds the key that signed a render link (extensions.md, GET /v1/render). The database is queried for well-formed key ids only.
 * @throws CaptureError `forbidden`, the same for a wrong, missing or expired signature and for an unknown or revoked key
 */
export async function authenticateLink(
  store: Pick<KeyStore, 'findKey' | 'signingSecrets'>,
  signed: SignedQuery,
  now: number,
): Promise<Principal> {
  const { pairs } = signed;
  const keyId = singleValue(pairs, 'key');
  if (keyId === null || !isId('key', keyId)) throw notSigned();
  const [key, secrets] = await Promise.all([store.findKey(keyId), store.signingSecrets(keyId, now)]);
  const isSigned = isSignedBy(signed, secrets.length === 0 ? NO_SECRETS : secrets);
  if (!isSigned || secrets.length === 0 || key === null || key.revokedAt !== null) throw notSigned();
  if (expiryOf(pairs) <= now) throw notSigned();
  return { keyId: key.id, accountId: key.accountId, scopes: key.scopes };
}

/** Returns the expiry in Unix ms; 0 if it is missing or malformed. */
function expiryOf(pairs: readonly QueryPair[]): number {
  const seconds = singleValue(pairs, 'expires') ?? '';
  return /^\d{1,12}$/.test(seconds) ? Number(seconds) * 1000 : 0;
}

function notSigned(): CaptureError {
  return new CaptureError({
    code: 'forbidden',
    message: 'The link is not signed, its signature is wrong, or it has expired. Make a new one with: stillframe sign',
  });
}
