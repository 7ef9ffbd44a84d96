import { CaptureError } from '../contract/capture-error.js';
import { isId } from '../contract/ids.js';
import { isSignedBy, type QueryPair, singleValue } from '../contract/render-link.js';
import type { KeyStore } from '../store/store.js';
import type { Principal } from './authenticate.js';

/** Compared for keys without secrets, so that the response takes the same time for them. */
const NO_SECRETS = [''];

/**
 * Finds the key that signed a render link (extensions.md, GET /v1/render). The database is queried for well-formed key ids only.
 * @param pairs of the query; null when it cannot be read
 * @throws CaptureError `forbidden`, the same for a wrong, missing or expired signature and for an unknown or revoked key
 */
export async function authenticateLink(
  store: Pick<KeyStore, 'findKey' | 'signingSecrets'>,
  pairs: readonly QueryPair[] | null,
  now: number,
): Promise<Principal> {
  const keyId = singleValue(pairs ?? [], 'key');
  if (pairs === null || keyId === null || !isId('key', keyId)) throw notSigned();
  const [key, secrets] = await Promise.all([store.findKey(keyId), store.signingSecrets(keyId, now)]);
  const isSigned = isSignedBy(pairs, secrets.length === 0 ? NO_SECRETS : secrets);
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
