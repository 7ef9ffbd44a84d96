import { z } from 'zod';

const partState = z.enum(['ready', 'unavailable']);

/** Health data of interface.md; numbers are counts unless the name has a unit. */
export const healthSchema = z
  .object({
    redis: partState.meta({ description: 'state of the job queue; the contract calls it so, although no Redis is used' }),
    worker_ready: z.boolean(),
    database: partState,
    problem: z.string().optional(),
    storage: partState.meta({ description: 'where the pictures are kept: the data directory or a bucket' }),
    ready_workers: z.number(),
    sandboxed: z.boolean().meta({ description: "whether the renderers run in Chromium's sandbox, as the kernel reports it" }),
    descriptors: z
      .object({ open: z.number(), limit: z.number() })
      .optional()
      .meta({ description: 'file descriptors of this server, on Linux; it is not ready above nine tenths of the limit' }),
    queue: z.object({
      waiting: z.number(),
      active: z.number(),
      prioritized: z.number(),
      delayed: z.number(),
      completed: z.number(),
      failed: z.number(),
      paused: z.boolean(),
      total_pending: z.number(),
    }),
    settlement: z.object({
      pending: z.number(),
      settled: z.number(),
      released: z.number(),
      oldest_pending_ms: z.number(),
    }),
    webhooks: z.object({ delivered: z.number(), failed: z.number(), errors: z.number(), active: z.boolean() }),
  })
  .meta({ id: 'Health' });

export type WireHealth = z.output<typeof healthSchema>;

/** Above nine tenths of the limit, a capture may find none for its connections. */
const DESCRIPTORS_SHARE = 0.9;

export function isShortOfDescriptors({ descriptors }: Pick<WireHealth, 'descriptors'>): boolean {
  return descriptors !== undefined && descriptors.open > descriptors.limit * DESCRIPTORS_SHARE;
}
