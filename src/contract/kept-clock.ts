/** Between two runs, a machine may have been off for this long without a doubt about its clock. */
export const GAP_MS = 24 * 3_600_000;

/** The record of a server's clock, by which the next run judges its own clock. */
export interface KeptClock {
  /** Unix ms. */
  trusted: number;
  /** By how much the machine's clock differs from the trusted time, and for how long it has done so evenly; null if it is trusted. */
  doubt: { aheadMs: number; forMs: number } | null;
}

/** For the log and the operator: how far the machine's clock is from the last run, in words. */
export function describeLead(aheadMs: number): string {
  const days = (Math.abs(aheadMs) / 86_400_000).toFixed(1);
  return `the clock is ${days} days ${aheadMs > 0 ? 'ahead of' : 'behind'} the last run`;
}

export const CLOCK_ADVICE =
  'Nothing is deleted because of its age until the clock has run evenly for a day. If it is right, run: stillframe clock accept. If not, set it (timedatectl).';
