import { z } from 'zod';
import { eventOf, type JobSnapshot, type PublicPlaces, toWireOutcome, WEBHOOK_EVENTS, type WebhookEvent } from './job.js';

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The public state of a webhook delivery. Times are Unix ms. */
export interface DeliveryStatus {
  jobId: string;
  deliveryId: string;
  /** null until the job is terminal. */
  event: WebhookEvent | null;
  url: string;
  state: DeliveryState;
  attempts: number;
  maxAttempts: number;
  generation: number;
  lastStatus: number | null;
  lastError: string | null;
  lastAttemptAt: number | null;
  nextAttemptAt: number | null;
  deliveredAt: number | null;
}

export const deliveryStatusSchema = z
  .object({
    job_id: z.string(),
    delivery_id: z.string(),
    event: z.enum(WEBHOOK_EVENTS).nullable(),
    url: z.string(),
    state: z.enum(DELIVERY_STATES),
    attempts: z.int(),
    max_attempts: z.int(),
    generation: z.int(),
    last_status: z.int().nullable(),
    last_error: z.string().nullable(),
    last_attempt_at: z.number().nullable(),
    next_attempt_at: z.number().nullable(),
    delivered_at: z.number().nullable(),
  })
  .meta({ id: 'WebhookDelivery' });

export type WireDeliveryStatus = z.output<typeof deliveryStatusSchema>;

export function toWireDeliveryStatus(status: DeliveryStatus): WireDeliveryStatus {
  return {
    job_id: status.jobId,
    delivery_id: status.deliveryId,
    event: status.event,
    url: status.url,
    state: status.state,
    attempts: status.attempts,
    max_attempts: status.maxAttempts,
    generation: status.generation,
    last_status: status.lastStatus,
    last_error: status.lastError,
    last_attempt_at: status.lastAttemptAt,
    next_attempt_at: status.nextAttemptAt,
    delivered_at: status.deliveredAt,
  };
}

/** The strong ETag of a delivery: it changes with each redelivery (decisions.md, Webhooks). */
export function deliveryEtag(status: Pick<DeliveryStatus, 'deliveryId' | 'generation'>): string {
  return `"${status.deliveryId}.${status.generation}"`;
}

/** The payload of a webhook POST (decisions.md, Webhooks). */
export function toWebhookPayload(
  job: JobSnapshot,
  delivery: { deliveryId: string; generation: number },
  places: PublicPlaces,
): Record<string, unknown> {
  const { result } = job;
  if (result === null) throw new Error(`job ${job.id} is not terminal: nothing to announce`);
  return {
    event: eventOf(result.outcome.ok ? 'completed' : 'failed'),
    job_id: job.id,
    request_id: job.requestId,
    ok: result.outcome.ok,
    ...toWireOutcome(job, result.outcome, places),
    mode: job.mode,
    attempts_made: job.attemptsMade,
    duration_ms: result.durationMs,
    enqueued_at: job.enqueuedAt,
    completed_at: result.completedAt,
    delivery_id: delivery.deliveryId,
    delivery_generation: delivery.generation,
  };
}
