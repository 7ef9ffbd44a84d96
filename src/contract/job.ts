import { z } from 'zod';
import { type CaptureData, captureDataSchema, toWireCaptureData, type WireCaptureData } from './capture-data.js';
import { ERROR_CODES, type StoredError, toWireError, type WireError } from './capture-error.js';
import { EXTENSION } from './capture-extensions.js';
import type { ExecutionMode } from './capture-request.js';

/** States that a job row can have; `paused` and `unknown` exist only in responses. */
export const STORED_JOB_STATES = ['waiting', 'prioritized', 'active', 'delayed', 'completed', 'failed'] as const;
export const JOB_STATES = [...STORED_JOB_STATES, 'paused', 'unknown'] as const;

export type StoredJobState = (typeof STORED_JOB_STATES)[number];
export type JobState = (typeof JOB_STATES)[number];

export function isTerminal(state: JobState): state is 'completed' | 'failed' {
  return state === 'completed' || state === 'failed';
}

export const WEBHOOK_EVENTS = ['capture.completed', 'capture.failed'] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

export function eventOf(state: 'completed' | 'failed'): WebhookEvent {
  return state === 'completed' ? 'capture.completed' : 'capture.failed';
}

/** The public state of a job. Times are Unix ms. */
export interface JobSnapshot {
  id: string;
  accountId: string;
  keyId: string;
  state: JobState;
  mode: ExecutionMode;
  /** `jobUrl` of its options; null if an older version accepted the job. */
  url: string | null;
  /** Of the submission. */
  requestId: string;
  /** 0–100, informational. */
  progress: number;
  attemptsMade: number;
  attemptBudget: number;
  enqueuedAt: number;
  webhookUrl: string | null;
  /** Present if and only if the state is terminal. */
  result: JobResult | null;
}

export interface JobResult {
  outcome: { ok: true; data: CaptureData } | { ok: false; error: StoredError };
  durationMs: number;
  completedAt: number;
  workerId: string;
}

/** Public URLs of this server, without a trailing slash. */
export interface PublicPlaces {
  /** `cdn_url` and `docs_url` begin with it. */
  baseUrl: string;
}

const wireErrorSchema = z
  .object({
    code: z.enum(ERROR_CODES),
    message: z.string(),
    retriable: z.boolean(),
    request_id: z.string(),
    docs_url: z.string().optional(),
    details: z.record(z.string(), z.unknown()).optional().meta({ description: 'free-form; may contain `job_id`' }),
  })
  .meta({ id: 'CaptureError' });

export const errorEnvelopeSchema = z
  .object({ ok: z.literal(false), request_id: z.string(), error: wireErrorSchema })
  .meta({ id: 'ErrorEnvelope' });

export const acceptedJobSchema = z
  .object({
    job_id: z.string(),
    state: z.enum(JOB_STATES),
    poll_url: z.string().meta({ description: 'relative API path on the same origin' }),
  })
  .meta({ id: 'AcceptedJob' });

export const jobSnapshotSchema = z
  .object({
    id: z.string(),
    state: z.enum(JOB_STATES),
    mode: z.enum(['sync', 'async']),
    url: z
      .string()
      .optional()
      .meta({
        description:
          'the captured URL without its query and fragment, `about:html` for `html`; absent if an older version accepted the job',
        example: 'https://example.com/reports/q3',
        ...EXTENSION,
      }),
    request_id: z.string().meta({ description: 'of the capture submission' }),
    progress: z.union([z.number(), z.string(), z.null()]),
    attempts_made: z.number(),
    attempt_budget: z.number(),
    enqueued_at: z.number().meta({ description: 'Unix ms' }),
    webhook: z.object({ url: z.string(), event: z.enum(WEBHOOK_EVENTS).nullable() }).nullable(),
    result: z
      .object({
        request_id: z.string(),
        mode: z.enum(['sync', 'async']),
        ok: z.boolean(),
        duration_ms: z.number(),
        attempts_made: z.number(),
        enqueued_at: z.number(),
        completed_at: z.number(),
        data: captureDataSchema.optional(),
        error: wireErrorSchema.optional(),
        worker_id: z.string(),
      })
      .optional()
      .meta({ description: 'present for terminal jobs' }),
  })
  .meta({ id: 'JobSnapshot' });

export type WireJobSnapshot = z.output<typeof jobSnapshotSchema>;
export type WireAcceptedJob = z.output<typeof acceptedJobSchema>;

export function toWireAcceptedJob(job: Pick<JobSnapshot, 'id' | 'state'>): WireAcceptedJob {
  return { job_id: job.id, state: job.state, poll_url: `/v1/jobs/${job.id}` };
}

export function toWireJobSnapshot(job: JobSnapshot, places: PublicPlaces): WireJobSnapshot {
  return {
    id: job.id,
    state: job.state,
    mode: job.mode,
    ...(job.url === null ? {} : { url: job.url }),
    request_id: job.requestId,
    progress: job.progress,
    attempts_made: job.attemptsMade,
    attempt_budget: job.attemptBudget,
    enqueued_at: job.enqueuedAt,
    webhook: job.webhookUrl === null ? null : { url: job.webhookUrl, event: isTerminal(job.state) ? eventOf(job.state) : null },
    ...(job.result === null ? {} : { result: toWireResult(job, job.result, places) }),
  };
}

function toWireResult(job: JobSnapshot, result: JobResult, places: PublicPlaces) {
  return {
    request_id: job.requestId,
    mode: job.mode,
    ok: result.outcome.ok,
    duration_ms: result.durationMs,
    attempts_made: job.attemptsMade,
    enqueued_at: job.enqueuedAt,
    completed_at: result.completedAt,
    ...toWireOutcome(job, result.outcome, places),
    worker_id: result.workerId,
  };
}

/** `data` or `error` of a terminal job, as in look-ups, responses and webhooks. */
export function toWireOutcome(
  job: Pick<JobSnapshot, 'requestId'>,
  outcome: JobResult['outcome'],
  places: PublicPlaces,
): { data: WireCaptureData } | { error: WireError } {
  return outcome.ok
    ? { data: toWireCaptureData(outcome.data, places.baseUrl) }
    : { error: toWireError(outcome.error, job.requestId, places.baseUrl) };
}
