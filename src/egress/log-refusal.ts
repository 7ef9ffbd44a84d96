import type { Log } from '../log.js';
import type { Refusal } from './egress.js';

/** The client is told nothing; the operator which it was, and how to allow it (decisions.md, Destinations). */
export function logRefusal(log: Log, refusal: Refusal, why: string | undefined): void {
  const { host, port, reason } = refusal;
  if (reason === 'unresolvable') log.info({ host, port, reason, why }, 'destination refused: it could not be resolved');
  else
    log.warn(
      { host, port, reason, why, allow: `${host}:${port}` },
      'destination refused; to allow it, add it to STILLFRAME_ALLOW_DESTINATIONS',
    );
}
