import { z } from 'zod';

const partState = z.enum(['ready', 'unavailable']);
const count = (description: string, example: number) => z.number().meta({ description, example });

/** Health data of interface.md; numbers are counts unless the name has a unit. */
export const healthSchema = z
  .object({
    redis: partState.meta({ description: 'state of the job queue; the contract calls it so, although no Redis is used' }),
    worker_ready: z.boolean().meta({ description: 'whether a browser has responded within the last 30 seconds', example: true }),
    database: partState.meta({ description: 'whether the database responds' }),
    problem: z.string().optional().meta({
      description: 'why the database or the storage is unavailable, and what the operator can do',
      example: 'The database cannot be written to at the moment. Try again shortly.',
    }),
    storage: partState.meta({ description: 'where the pictures are kept: the data directory or a bucket' }),
    ready_workers: count('browsers that are ready to capture', 2),
    sandboxed: z.boolean().meta({ description: "whether the renderers run in Chromium's sandbox, as the kernel reports it" }),
    descriptors: z
      .object({ open: count('file descriptors that are open', 212), limit: count('how many may be open', 65_536) })
      .optional()
      .meta({ description: 'file descriptors of this server, on Linux; it is not ready above nine tenths of the limit' }),
    queue: z
      .object({
        waiting: count('queued asynchronous jobs', 0),
        active: count('running jobs', 1),
        prioritized: count('queued synchronous jobs', 0),
        delayed: count('jobs waiting for a retry', 0),
        completed: count('jobs that succeeded and are still stored', 120),
        failed: count('jobs that failed and are still stored', 3),
        paused: z.boolean().meta({ description: 'whether the queue is paused', example: false }),
        total_pending: count('jobs that have not ended', 1),
      })
      .meta({ description: 'job counts by state' }),
    settlement: z
      .object({
        pending: count('reservations of jobs that have not ended', 1),
        settled: count('reservations that were charged', 120),
        released: count('reservations that were released', 3),
        oldest_pending_ms: count('age of the oldest pending reservation in milliseconds', 450),
      })
      .meta({ description: 'credit reservations' }),
    webhooks: z
      .object({
        delivered: count('deliveries that succeeded', 12),
        failed: count('deliveries that failed for good', 0),
        errors: count('attempts that failed', 1),
        active: z.boolean().meta({ description: 'whether deliveries are being sent', example: true }),
      })
      .meta({ description: 'webhook deliveries' }),
  })
  .meta({ id: 'Health' });

export type WireHealth = z.output<typeof healthSchema>;

/** Above nine tenths of the limit, a capture may find none for its connections. */
const DESCRIPTORS_SHARE = 0.9;

export function isShortOfDescriptors({ descriptors }: Pick<WireHealth, 'descriptors'>): boolean {
  return descriptors !== undefined && descriptors.open > descriptors.limit * DESCRIPTORS_SHARE;
}
