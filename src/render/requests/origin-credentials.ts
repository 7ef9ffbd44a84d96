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
export class OriginCredentials {
  readonly #origin: string;
  readonly #attempted = new Set<string>();

  constructor(private readonly options: Pick<CaptureOptions, 'url' | 'httpCredentials'>) {
    this.#origin = new URL(options.url).origin;
  }

  answer({ requestId, authChallenge }: AuthRequired, target: Pick<RequestTarget, 'send'>): void {
    target.send('Fetch.continueWithAuth', { requestId, authChallengeResponse: this.#responseTo(requestId, authChallenge) });
  }

  #responseTo(requestId: string, { source, origin }: AuthRequired['authChallenge']): Record<string, string> {
    const { httpCredentials } = this.options;
    const isTarget = source === 'Server' && readUrl(origin)?.origin === this.#origin;
    if (httpCredentials === null || !isTarget) return { response: 'Default' };
    // They have been refused.
    if (this.#attempted.has(requestId) || this.#attempted.size >= ATTEMPTS_KEPT) return { response: 'CancelAuth' };
    this.#attempted.add(requestId);
    return { response: 'ProvideCredentials', ...httpCredentials };
  }
}
