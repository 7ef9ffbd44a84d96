import type { CaptureOptions } from './capture-request.js';

/** Credits of a successful capture (interface.md, Limits): viewport image 1, full-page image 2, PDF 3. */
export function priceOf(options: Pick<CaptureOptions, 'format' | 'fullPage'>): number {
  if (options.format === 'pdf') return 3;
  return options.fullPage ? 2 : 1;
}

/** The billing period of a time: its calendar month in UTC, such as `2026-11`. */
export function periodOf(now: number): string {
  return new Date(now).toISOString().slice(0, 7);
}

/** Start (Unix ms) of the next billing period. */
export function periodEnd(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
