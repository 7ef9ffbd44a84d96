import { z } from 'zod';
import { type CaptureData, captureDataSchema, durationMsSchema, toWireCaptureData } from './capture-data.js';
import { ERROR_CODES, type StoredError, toWireError } from './capture-error.js';
import type { ExecutionMode } from './capture-request.js';
import { snakeNames } from './field-rules.js';
import { EXTENSION } from './request-fields.js';

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
  /** `jobUrl` of its options. */
  url: string;
  /** The id of the request that submitted the job. */
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

const EXAMPLE_JOB_ID = 'job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8';
const EXAMPLE_REQUEST_ID = 'req_01K9Z8Y7X6W5V4T3S2R1Q0P9N8';
export const EXAMPLE_TIME_MS = 1_767_225_600_000;

/** Fields of jobs that responses and webhooks have, too. */
export const jobFields = {
  job_id: z.string().meta({ description: 'id of the job', example: EXAMPLE_JOB_ID }),
  request_id: z.string().meta({ description: 'id of the request', example: EXAMPLE_REQUEST_ID }),
  state: z.enum(JOB_STATES).meta({ description: 'state of the job' }),
  mode: z.enum(['sync', 'async']).meta({ description: 'whether the submission waited for the capture' }),
  duration_ms: durationMsSchema,
  enqueued_at: z.number().meta({ description: 'time of the submission, Unix milliseconds', example: EXAMPLE_TIME_MS }),
  completed_at: z
    .number()
    .meta({ description: 'end of the capture, Unix milliseconds', example: EXAMPLE_TIME_MS + 900 }),
};
const attemptsMade = z.number().meta({ description: 'attempts so far', example: 1 });

const wireErrorSchema = z
  .object({
    code: z.enum(ERROR_CODES).meta({ description: 'what went wrong; decide by this and `retriable`' }),
    message: z.string().meta({
      description: 'for people; may change',
      example: 'The host name "nowhere.example" could not be resolved to a public address.',
    }),
    retriable: z.boolean().meta({ description: 'whether the same request may succeed later', example: false }),
    request_id: jobFields.request_id,
    docs_url: z.string().optional().meta({
      description: 'what this code means',
      example: 'https://shots.example.com/docs/errors#navigation_failed',
    }),
    details: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'free-form; may contain `job_id`', example: { job_id: EXAMPLE_JOB_ID } }),
  })
  .meta({ id: 'CaptureError' });

/** A response's `ok`, `request_id`, and its `data` or `error`. */
export function envelopeOf<Ok extends boolean, Rest extends z.ZodRawShape>(ok: Ok, rest: Rest) {
  return z.object({
    ok: z.literal(ok).meta({ description: 'whether the request succeeded' }),
    request_id: jobFields.request_id,
    ...rest,
  });
}

export const errorEnvelopeSchema = envelopeOf(false, { error: wireErrorSchema }).meta({ id: 'ErrorEnvelope' });

export const acceptedJobSchema = z
  .object({
    job_id: jobFields.job_id,
    state: jobFields.state,
    poll_url: z
      .string()
      .meta({ description: 'relative API path on the same origin', example: `/v1/jobs/${EXAMPLE_JOB_ID}` }),
  })
  .meta({ id: 'AcceptedJob' });

export const jobSnapshotSchema = z
  .object({
    id: jobFields.job_id,
    state: jobFields.state,
    mode: jobFields.mode,
    url: z.string().meta({
      description: 'the captured URL without its query and fragment, `about:html` for `html`',
      example: 'https://example.com/reports/q3',
      ...EXTENSION,
    }),
    request_id: jobFields.request_id.meta({ description: 'of the capture submission' }),
    progress: z
      .union([z.number(), z.string(), z.null()])
      .meta({ description: '0 to 100, informational; see `state` for completion', example: 40 }),
    attempts_made: attemptsMade,
    attempt_budget: z.number().meta({ description: 'attempts that the job may take', example: 2 }),
    enqueued_at: jobFields.enqueued_at.meta({ description: 'Unix ms' }),
    webhook: z
      .object({
        url: z.string().meta({ description: 'address of the receiver', example: 'https://hooks.example.com/done' }),
        event: z
          .enum(WEBHOOK_EVENTS)
          .nullable()
          .meta({ description: 'the event that was sent; null until the job has ended' }),
      })
      .nullable()
      .meta({ description: 'where the result is sent; null without a webhook' }),
    result: z
      .object({
        request_id: jobFields.request_id,
        mode: jobFields.mode,
        ok: z.boolean().meta({
          description: 'whether the capture succeeded; `data` is present if true, `error` if false',
          example: true,
        }),
        duration_ms: jobFields.duration_ms,
        attempts_made: attemptsMade,
        enqueued_at: jobFields.enqueued_at,
        completed_at: jobFields.completed_at,
        data: captureDataSchema.optional(),
        error: wireErrorSchema.optional(),
        worker_id: z
          .string()
          .meta({ description: 'which worker made the capture: host, process, slot', example: 'shots-4711-0' }),
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
    url: job.url,
    request_id: job.requestId,
    progress: job.progress,
    attempts_made: job.attemptsMade,
    attempt_budget: job.attemptBudget,
    enqueued_at: job.enqueuedAt,
    webhook:
      job.webhookUrl === null
        ? null
        : { url: job.webhookUrl, event: isTerminal(job.state) ? eventOf(job.state) : null },
    ...(job.result === null ? {} : { result: toWireResult(job, job.result, places) }),
  };
}

/** `result` of a terminal job. */
export function toWireResult(job: JobSnapshot, { outcome, workerId, ...times }: JobResult, { baseUrl }: PublicPlaces) {
  return {
    request_id: job.requestId,
    mode: job.mode,
    ok: outcome.ok,
    attempts_made: job.attemptsMade,
    enqueued_at: job.enqueuedAt,
    ...snakeNames(times),
    ...(outcome.ok
      ? { data: toWireCaptureData(outcome.data, baseUrl) }
      : { error: toWireError(outcome.error, job.requestId, baseUrl) }),
    worker_id: workerId,
  };
}
