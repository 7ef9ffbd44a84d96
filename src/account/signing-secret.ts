import { randomBytes } from 'node:crypto';

const SECRET_BYTES = 32;

/** Generates a secret that signs a key's render links. It is shown once. */
export function newSigningSecret(): string {
  return `sf_sign_${randomBytes(SECRET_BYTES).toString('base64url')}`;
}
