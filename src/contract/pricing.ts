import { z } from 'zod';
import type { CaptureOptions } from './capture-request.js';
import { count, number, text } from './described.js';
import { findField } from './field-list.js';
import { STORED_JOB_STATES } from './job.js';
import { pageLoadsOf } from './page-loads.js';

/**
 * Credits of a successful capture (interface.md, Limits): viewport image 1, full-page image 2, PDF 3, animated picture 5. Each load of a page costs the sum of its
 * pictures, less one viewport image for each further one (extensions.md, Several pictures).
 */
export function priceOf(options: CaptureOptions): number {
  return pageLoadsOf(options).reduce(
    (sum, { pictures }) =>
      sum + pictures.reduce((credits, picture) => credits + pictureCredits(picture.options) - 1, 1),
    0,
  );
}

function pictureCredits({
  format,
  fullPage,
  animate,
}: Pick<CaptureOptions, 'format' | 'fullPage' | 'animate'>): number {
  const priceIn = (name: string, value: string) => findField(name.split('.'))?.price?.[value] ?? 1;
  if (animate !== null) return priceIn('animate.format', animate.format);
  return Math.max(priceIn('format', format), priceIn('full_page', String(fullPage)));
}

/** Credits of a request that another service answered (STILLFRAME_GOTENBERG_UPSTREAM): those of a PDF. */
export function forwardedPrice(): number {
  return pictureCredits({ format: 'pdf', fullPage: false, animate: null });
}

/** Credits of a request of POST /v1/pdf, whatever it does. */
export const PDF_WORK_PRICE = 1;

/** The billing period of a time: its calendar month in UTC, such as `2026-11`. */
export function periodOf(now: number): string {
  return new Date(now).toISOString().slice(0, 7);
}

/** Start (Unix ms) of the next billing period. */
export function periodEnd(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** The names of accounts that commands and pages accept, as a pattern and in words. */
export const ACCOUNT_NAME_PATTERN = /^[A-Za-z0-9._-]{1,64}$/;
export const ACCOUNT_NAME_RULE = '1 to 64 letters, digits, dots, underscores or hyphens';
/** Credits of a quota. */
export const CREDITS_PATTERN = /^\d{1,12}$/;

const inState = count('jobs in this state', 3);

/** Data of GET /v1/usage (extensions.md). */
export const usageSchema = z
  .object({
    account: text('name of the account', 'default'),
    period: text('billing period: a calendar month in UTC', '2026-11'),
    credits: count('credits settled in this period', 1280),
    reserved: count('credits reserved by jobs that have not ended', 6),
    quota: count('credits per period; null for no limit', 5000).nullable(),
    resets_at: number('start of the next period, Unix ms', 1_796_083_200_000),
    jobs: z
      .object(
        Object.fromEntries(STORED_JOB_STATES.map((state) => [state, inState])) as Record<
          (typeof STORED_JOB_STATES)[number],
          typeof inState
        >,
      )
      .meta({ description: 'jobs by state: queued and running now, ended in this period' }),
    errors: z
      .record(z.string(), count('jobs that failed with the code', 2))
      .meta({ description: 'failed jobs of this period by code', example: { navigation_failed: 2 } }),
  })
  .meta({ id: 'Usage' });

export type WireUsage = z.output<typeof usageSchema>;
