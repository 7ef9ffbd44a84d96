import type { JobSnapshot } from '../../src/contract/job.js';
import type { AttemptOutcome, DueDelivery } from '../../src/store/store.js';
import { aCompletedJob } from '../http/fake-services.js';

export const SECRET = 'whsec_0123456789abcdef';

/** A delivery that is due for the first time. */
export function aDueDelivery(given: Partial<DueDelivery> & { job?: JobSnapshot } = {}) {
  const { job = aCompletedJob(), url = 'https://example.com/hook' } = given;
  const ended = { kind: 'job' as const, job };
  const place = { deliveryId: 'dlv_1', jobId: job.id, url, secret: SECRET, job, ended, traceparent: null };
  return { ...place, generation: 1, attempt: 1, maxAttempts: 5, ...given };
}

/** A store that records the outcomes of attempts, and when they were. */
export function recordingStore() {
  const outcomes: { outcome: AttemptOutcome; at: number }[] = [];
  const recordAttempt = async (_delivery: unknown, outcome: AttemptOutcome, at: number) =>
    outcomes.push({ outcome, at }) > 0;
  return { outcomes, recordAttempt };
}
