import type { CaptureOptions } from '../../contract/capture-request.js';
import { readUrl } from '../../contract/read-url.js';
import type { RequestTarget } from './child-targets.js';

/** The used parts of `Fetch.authRequired`. */
export interface AuthRequired {
  requestId: string;
  authChallenge: { source?: string; origin: string };
}

/** More requests than any ordinary page has waiting for credentials. */
const ATTEMPTS_KEPT = 1_000;

/** `http_credentials`: sent when the target's own origin asks for them, once for each request, and to nobody else. */
export function originCredentials({ url, httpCredentials }: Pick<CaptureOptions, 'url' | 'httpCredentials'>) {
  const target = new URL(url).origin;
  const attempted = new Set<string>();
  const responseTo = (requestId: string, { source, origin }: AuthRequired['authChallenge']) => {
    const isTarget = source === 'Server' && readUrl(origin)?.origin === target;
    if (httpCredentials === null || !isTarget) return { response: 'Default' };
    // They have been refused.
    if (attempted.has(requestId) || attempted.size >= ATTEMPTS_KEPT) return { response: 'CancelAuth' };
    attempted.add(requestId);
    return { response: 'ProvideCredentials', ...httpCredentials };
  };
  return ({ requestId, authChallenge }: AuthRequired, { send }: Pick<RequestTarget, 'send'>) =>
    send('Fetch.continueWithAuth', { requestId, authChallengeResponse: responseTo(requestId, authChallenge) });
}
