import { CaptureError } from '../../contract/capture-error.js';
import type { AppServices, Exchange } from '../app-services.js';

/** Logs what is behind an error that a page shows, and says when to try again. */
export function noteFailure({ log }: Pick<AppServices, 'log'>, exchange: Exchange, thrown: unknown): void {
  const cause = thrown instanceof CaptureError ? thrown.cause : thrown;
  if (cause !== undefined) log.error({ request_id: exchange.requestId, route: exchange.route, err: cause }, 'request failed');
  if (thrown instanceof CaptureError && thrown.retryAfterSeconds !== undefined) {
    exchange.headers['retry-after'] = String(Math.max(1, Math.ceil(thrown.retryAfterSeconds)));
  }
}
