import type { Scope } from '../contract/api-key.js';
import { CaptureError } from '../contract/capture-error.js';
import type { Principal } from './authenticate.js';

/** @throws CaptureError `forbidden` when the key lacks the scope */
export function requireScope(principal: Pick<Principal, 'scopes'>, scope: Scope): void {
  if (principal.scopes.includes(scope)) return;
  throw new CaptureError({ code: 'forbidden', message: `This API key lacks the scope \`${scope}\`.` });
}
