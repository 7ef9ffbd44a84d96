import { CaptureError } from '../contract/capture-error.js';
import { TIMEOUT_MS } from '../contract/limits.js';

/** Delay before a second attempt. */
export const RETRY_DELAY_MS = 500;

/**
 * Returns whether a failure is retried within the same time budget (decisions.md, Jobs).
 * @param leftMs of the budget, at the second attempt
 */
export function shouldRetry(error: unknown, leftMs: number): boolean {
  if (!(error instanceof CaptureError) || !error.retriable || error.details?.own_browser === true) return false;
  const again = error.code === 'render_crashed' || error.code === 'navigation_failed' || error.code === 'egress_unavailable';
  return again && leftMs >= TIMEOUT_MS.min;
}
