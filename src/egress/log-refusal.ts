import type { Log } from '../log.js';
import type { Refusal, Requester } from './egress.js';

/** Log messages with advice: captures and callbacks have separate settings. */
const ADVICE = {
  captures: 'destination refused; to allow it, add it to STILLFRAME_ALLOW_DESTINATIONS',
  callbacks: 'destination refused; to allow it for webhooks, add it to STILLFRAME_WEBHOOK_ALLOW',
};

export interface RefusalFacts {
  why: string | undefined;
  to: keyof typeof ADVICE;
  requester: Requester;
}

/** Logs a refused destination and how to allow it; the client learns neither (decisions.md, Destinations). */
export function logRefusal(log: Log, refusal: Refusal, told: RefusalFacts): void {
  const { host, port, reason } = refusal;
  const facts = { host, port, reason, why: told.why, ...told.requester };
  const allow = told.to === 'captures' ? `${host}:${port}` : `https://${host}:${port}`;
  if (reason === 'unresolvable') log.info(facts, 'destination refused: its name could not be resolved');
  else log.warn({ ...facts, allow }, ADVICE[told.to]);
}
