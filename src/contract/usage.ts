import { z } from 'zod';
import { STORED_JOB_STATES } from './job.js';

const count = z.int().min(0);
const inState = count.meta({ description: 'jobs in this state', example: 3 });

/** Data of GET /v1/usage (extensions.md). */
export const usageSchema = z
  .object({
    account: z.string().meta({ description: 'name of the account', example: 'default' }),
    period: z.string().meta({ description: 'billing period: a calendar month in UTC', example: '2026-11' }),
    credits: count.meta({ description: 'credits settled in this period', example: 1280 }),
    reserved: count.meta({ description: 'credits reserved by jobs that have not ended', example: 6 }),
    quota: count.nullable().meta({ description: 'credits per period; null for no limit', example: 5000 }),
    resets_at: z.number().meta({ description: 'start of the next period, Unix ms', example: 1_796_083_200_000 }),
    jobs: z
      .object(
        Object.fromEntries(STORED_JOB_STATES.map((state) => [state, inState])) as Record<(typeof STORED_JOB_STATES)[number], typeof count>,
      )
      .meta({ description: 'jobs by state: queued and running now, ended in this period' }),
    errors: z
      .record(z.string(), count.meta({ description: 'jobs that failed with the code', example: 2 }))
      .meta({ description: 'failed jobs of this period by code', example: { navigation_failed: 2 } }),
  })
  .meta({ id: 'Usage' });

export type WireUsage = z.output<typeof usageSchema>;
