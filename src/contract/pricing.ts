import type { CaptureOptions } from './capture-request.js';
import { findField } from './field-list.js';

/** Credits of a successful capture (interface.md, Limits): viewport image 1, full-page image 2, PDF 3. */
export function priceOf({ format, fullPage }: Pick<CaptureOptions, 'format' | 'fullPage'>): number {
  const priceIn = (name: string, value: string) => findField([name])?.price?.[value] ?? 1;
  return Math.max(priceIn('format', format), priceIn('full_page', String(fullPage)));
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
