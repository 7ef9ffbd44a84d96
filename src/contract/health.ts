import { z } from 'zod';
import { flag, number, object, text } from './described.js';

const partState = z.enum(['ready', 'unavailable']);

/** Health data of interface.md; numbers are counts unless the name has a unit. */
export const healthSchema = z
  .object({
    redis: partState.meta({
      description: 'state of the job queue; the contract calls it so, although no Redis is used',
    }),
    worker_ready: flag('whether a browser has responded within the last 30 seconds', true),
    database: partState.meta({ description: 'whether the database responds' }),
    problem: text(
      'why the database or the storage is unavailable, and what the operator can do',
      'The database cannot be written to at the moment. Try again shortly.',
    ).optional(),
    storage: partState.meta({ description: 'where the pictures are kept: the data directory or a bucket' }),
    ready_workers: number('browsers that are ready to capture', 2),
    sandboxed: z
      .boolean()
      .meta({ description: "whether the renderers run in Chromium's sandbox, as the kernel reports it" }),
    descriptors: object('file descriptors of this server, on Linux; it is not ready above nine tenths of the limit', {
      open: number('file descriptors that are open', 212),
      limit: number('how many may be open', 65_536),
    }).optional(),
    queue: object('job counts by state', {
      waiting: number('queued asynchronous jobs', 0),
      active: number('running jobs', 1),
      prioritized: number('queued synchronous jobs', 0),
      delayed: number('jobs waiting for a retry', 0),
      completed: number('jobs that succeeded and are still stored', 120),
      failed: number('jobs that failed and are still stored', 3),
      paused: flag('whether the queue is paused', false),
      total_pending: number('jobs that have not ended', 1),
    }),
    settlement: object('credit reservations', {
      pending: number('reservations of jobs that have not ended', 1),
      settled: number('reservations that were charged', 120),
      released: number('reservations that were released', 3),
      oldest_pending_ms: number('age of the oldest pending reservation in milliseconds', 450),
    }),
    webhooks: object('webhook deliveries', {
      delivered: number('deliveries that succeeded', 12),
      failed: number('deliveries that failed for good', 0),
      errors: number('attempts that failed', 1),
      active: flag('whether deliveries are being sent', true),
    }),
  })
  .meta({ id: 'Health' });

export type WireHealth = z.output<typeof healthSchema>;

/** The message about a full disk, for clients and operators. */
export const DISK_FULL =
  "The server's disk is full. The operator has to free some space, or lower STILLFRAME_MAX_STORAGE_MB.";

/** Above nine tenths of the limit, a capture may find none for its connections. */
const DESCRIPTORS_SHARE = 0.9;

export function isShortOfDescriptors({ descriptors }: Pick<WireHealth, 'descriptors'>): boolean {
  return descriptors !== undefined && descriptors.open > descriptors.limit * DESCRIPTORS_SHARE;
}
