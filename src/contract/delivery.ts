import { z } from 'zod';
import { captureDataSchema } from './capture-data.js';
import { type CamelNames, snakeNames } from './field-rules.js';
import {
  EXAMPLE_TIME_MS,
  errorEnvelopeSchema,
  eventOf,
  type JobSnapshot,
  jobFields,
  type PublicPlaces,
  toWireResult,
  WEBHOOK_EVENTS,
  type WebhookEvent,
} from './job.js';

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;

export const deliveryFields = {
  delivery_id: z.string().meta({
    description: 'id of the delivery, the same for all attempts and redeliveries',
    example: 'dlv_01K9Z8Y7X6W5V4T3S2R1Q0P9N8',
  }),
  delivery_generation: z.int().meta({ description: 'starts at 1; each redelivery adds 1', example: 1 }),
};

export const deliveryStatusSchema = z
  .object({
    job_id: jobFields.job_id,
    delivery_id: deliveryFields.delivery_id,
    event: z.enum(WEBHOOK_EVENTS).nullable().meta({ description: 'the event; null until the job has ended' }),
    url: z.string().meta({ description: 'address of the receiver', example: 'https://hooks.example.com/done' }),
    state: z.enum(DELIVERY_STATES).meta({ description: 'state of the delivery' }),
    attempts: z.int().meta({ description: 'attempts of this generation so far', example: 1 }),
    max_attempts: z.int().meta({ description: 'attempts that a generation may take', example: 5 }),
    generation: deliveryFields.delivery_generation,
    last_status: z
      .int()
      .nullable()
      .meta({ description: 'HTTP status of the last attempt; null without a response', example: 200 }),
    last_error: z.string().nullable().meta({ description: 'why the last attempt did not succeed', example: null }),
    last_attempt_at: z
      .number()
      .nullable()
      .meta({ description: 'Unix milliseconds', example: EXAMPLE_TIME_MS + 950 }),
    next_attempt_at: z
      .number()
      .nullable()
      .meta({ description: 'Unix milliseconds; null when none is due', example: null }),
    delivered_at: z
      .number()
      .nullable()
      .meta({ description: 'Unix milliseconds; null until it is delivered', example: EXAMPLE_TIME_MS + 950 }),
  })
  .meta({ id: 'WebhookDelivery' });

type WireDeliveryStatus = z.output<typeof deliveryStatusSchema>;

/** The public state of a webhook delivery. Times are Unix ms. */
export interface DeliveryStatus extends CamelNames<WireDeliveryStatus> {}

export function toWireDeliveryStatus(status: DeliveryStatus): WireDeliveryStatus {
  return snakeNames(status);
}

/** The strong ETag of a delivery: it changes with each redelivery (decisions.md, Webhooks). */
export function deliveryEtag(status: Pick<DeliveryStatus, 'deliveryId' | 'generation'>): string {
  return `"${status.deliveryId}.${status.generation}"`;
}

/** The schema of a webhook's payload. */
export function webhookPayloadSchema(event: WebhookEvent) {
  const ok = event === 'capture.completed';
  return z.object({
    event: z.literal(event).meta({ description: 'name of the event' }),
    job_id: jobFields.job_id,
    request_id: jobFields.request_id,
    ok: z.literal(ok).meta({ description: 'whether the request succeeded' }),
    ...(ok ? { data: captureDataSchema } : { error: errorEnvelopeSchema.shape.error }),
    mode: jobFields.mode,
    attempts_made: z.int().meta({ description: 'attempts so far', example: 1 }),
    duration_ms: jobFields.duration_ms,
    enqueued_at: jobFields.enqueued_at,
    completed_at: jobFields.completed_at,
    ...deliveryFields,
  });
}

/** The payload of a webhook POST (decisions.md, Webhooks). */
export function toWebhookPayload(
  job: JobSnapshot,
  delivery: { deliveryId: string; generation: number },
  places: PublicPlaces,
): Record<string, unknown> {
  const { result } = job;
  if (result === null) throw new Error(`job ${job.id} is not terminal: nothing to announce`);
  const { worker_id: _, ...shared } = toWireResult(job, result, places);
  return {
    event: eventOf(result.outcome.ok ? 'completed' : 'failed'),
    job_id: job.id,
    ...shared,
    delivery_id: delivery.deliveryId,
    delivery_generation: delivery.generation,
  };
}
