/** Batches: captures that are submitted, followed and canceled together (extensions.md, Batches). */
import { z } from 'zod';
import { CaptureError } from './capture-error.js';
import { captureRequestSchema, type WebhookOptions } from './capture-request.js';
import { deliveryFields } from './delivery.js';
import { isObject, snakeNames } from './field-rules.js';
import {
  EXAMPLE_TIME_MS,
  type JobSnapshot,
  jobFields,
  jobSnapshotSchema,
  type PublicPlaces,
  toWireJobSnapshot,
} from './job.js';
import { BATCH_MAX, BATCH_PAGE } from './limits.js';
import { webhookUrlProblem } from './read-url.js';
import { EXTENSION, requestFields } from './request-fields.js';
import {
  ISSUES_MAX,
  inField,
  invalidField,
  invalidRequest,
  parseFields,
  parseSubmission,
  type RequestIssue,
  type Submission,
  type SubmissionRules,
} from './submission.js';
import type { Template } from './template.js';

const EXAMPLE_BATCH_ID = 'bat_01K9Z8Y7X6W5V4T3S2R1Q0P9N8';

export const batchRequestSchema = z
  .strictObject({
    requests: z
      .array(captureRequestSchema)
      .min(1)
      .max(BATCH_MAX)
      .meta({
        description: 'what to capture, each as in POST /v1/screenshot, without `webhook`; `sync` has no effect',
        example: [{ url: 'https://example.com/' }, { url: 'https://example.org/', full_page: true }],
      }),
    webhook: requestFields.webhook,
  })
  .meta({ id: 'BatchRequest', ...EXTENSION });

/** The requests are read one by one, so that the server goes on in between. */
const envelopeSchema = z.strictObject({
  requests: z.array(z.unknown()).min(1).max(BATCH_MAX),
  webhook: requestFields.webhook,
});

const count = (description: string, example: number) => z.int().meta({ description, example });

export const batchSchema = z
  .object({
    id: z.string().meta({ description: 'id of the batch', example: EXAMPLE_BATCH_ID }),
    state: z.enum(['active', 'completed']).meta({ description: '`completed` once all of its captures have ended' }),
    counts: z
      .object({
        total: count('captures of the batch', 1_000),
        waiting: count('captures that have not begun', 640),
        active: count('captures that are running', 8),
        completed: count('captures that have succeeded', 349),
        failed: count('captures that have failed', 3),
        canceled: count('captures that were canceled', 0),
      })
      .meta({ description: 'captures by state' }),
    created_at: z.number().meta({ description: 'Unix milliseconds', example: EXAMPLE_TIME_MS }),
    completed_at: z
      .number()
      .nullable()
      .meta({ description: 'Unix milliseconds; null until all captures have ended', example: null }),
    webhook: z
      .object({
        url: z.string().meta({ description: 'address of the receiver', example: 'https://hooks.example.com/done' }),
      })
      .nullable()
      .meta({ description: 'the URL that is notified of its end; null without a webhook' }),
    poll_url: z.string().meta({ description: 'relative API path', example: `/v1/batches/${EXAMPLE_BATCH_ID}` }),
    pictures_url: z.string().meta({
      description: 'relative API path of a zip file of the pictures so far',
      example: `/v1/batches/${EXAMPLE_BATCH_ID}/pictures.zip`,
    }),
  })
  .meta({ id: 'Batch', ...EXTENSION });

export const batchPageSchema = batchSchema
  .extend({
    captures: z
      .array(
        jobSnapshotSchema.extend({
          index: z.int().meta({ description: 'place of its request among `requests`, from 0 on', example: 0 }),
        }),
      )
      .meta({
        description: 'a page of its jobs: failed ones first, then the others, in the order of the requests',
        example: [],
      }),
    next_cursor: z.string().nullable().meta({ description: 'null on the last page', example: null }),
  })
  .meta({ id: 'BatchPage', ...EXTENSION });

const CURSOR = /^([01])\.(\d{1,4})$/;

export const batchQuery = z.object({
  limit: z
    .int()
    .min(BATCH_PAGE.min)
    .max(BATCH_PAGE.max)
    .default(BATCH_PAGE.default)
    .meta({ description: 'captures per page', example: 20 }),
  cursor: z
    .string()
    .regex(CURSOR, 'must be a `next_cursor` of an earlier page')
    .optional()
    .meta({ description: '`next_cursor` of the previous page', example: '1.99' }),
});

const BATCH_EVENTS = ['batch.completed', 'batch.canceled'] as const;
export type BatchEvent = (typeof BATCH_EVENTS)[number];

/** The public state of a batch. Times are Unix ms. */
export interface BatchSnapshot {
  id: string;
  accountId: string;
  keyId: string;
  requestId: string;
  total: number;
  counts: Record<'waiting' | 'active' | 'completed' | 'failed' | 'canceled', number>;
  webhookUrl: string | null;
  createdAt: number;
  completedAt: number | null;
}

/** A place in the order of a batch: failures come first. */
export interface BatchPlace {
  isFailed: boolean;
  index: number;
}

export interface BatchCapture extends BatchPlace {
  job: JobSnapshot;
}

export interface BatchSubmission {
  captures: Submission[];
  webhook: WebhookOptions | null;
}

type BatchRules = Omit<SubmissionRules, 'forceAsync' | 'template'> & {
  /** Finds the template that a request names. Default: there is none. */
  templateOf?(request: unknown): Promise<Template | null>;
};

/**
 * Reads the body of a batch.
 * @param pause awaited between some requests, so that others are answered in between
 * @throws CaptureError as `parseSubmission`, with the problems of all requests, and the index of the request in each path
 */
export async function parseBatch(
  body: unknown,
  { templateOf = async () => null, ...rules }: BatchRules,
  pause: () => Promise<void>,
): Promise<BatchSubmission> {
  const { requests, webhook = null } = parseFields(envelopeSchema, body);
  const problem = webhook === null ? null : webhookUrlProblem(webhook.url, rules.webhookAllow);
  if (problem !== null) throw invalidField('webhook.url', problem);
  const captures: Submission[] = [];
  const problems: CaptureError[] = [];
  const issues: RequestIssue[] = [];
  for (const [index, request] of requests.entries()) {
    try {
      captures.push(await parseOne(request, `requests.${index}`, { templateOf, ...rules }));
    } catch (error) {
      if (!(error instanceof CaptureError) || !Array.isArray(error.details?.issues)) throw error;
      problems.push(error);
      issues.push(...(error.details.issues as RequestIssue[]));
      if (issues.length >= ISSUES_MAX) break;
    }
    if (index % PARSED_AT_ONCE === PARSED_AT_ONCE - 1) await pause();
  }
  const [first] = problems;
  if (first === undefined) return { captures, webhook };
  if (problems.some(({ code }) => code === 'invalid_request')) throw invalidRequest(issues.slice(0, ISSUES_MAX));
  throw new CaptureError({
    code: first.code,
    message: first.message,
    details: { issues: issues.slice(0, ISSUES_MAX) },
  });
}

async function parseOne(
  request: unknown,
  at: string,
  { templateOf, ...rules }: Required<Pick<BatchRules, 'templateOf'>> & BatchRules,
) {
  if (isObject(request) && 'webhook' in request)
    throw invalidField(`${at}.webhook`, 'is not for a capture of a batch: give the batch one, beside `requests`');
  const template = await templateOf(request).catch((error: unknown) =>
    inField(at, () => {
      throw error;
    }),
  );
  return inField(at, () => parseSubmission(request, { ...rules, template, forceAsync: true }));
}

const PARSED_AT_ONCE = 10;

/** An error that concerns one capture of a batch. */
export function inCapture(index: number, error: unknown): unknown {
  if (!(error instanceof CaptureError)) return error;
  const path = `requests.${index}`;
  const { message } = error;
  return error.with({ message: `\`${path}\`: ${message}`, details: { issues: [{ path, message }] } });
}

export function cursorOf({ isFailed, index }: BatchPlace): string {
  return `${isFailed ? 0 : 1}.${index}`;
}

/** @param cursor that the query schema has accepted */
export function placeOfCursor(cursor: string): BatchPlace {
  const [, rank, index] = CURSOR.exec(cursor) ?? [];
  return { isFailed: rank === '0', index: Number(index) };
}

export function toWireBatch(batch: BatchSnapshot): z.output<typeof batchSchema> {
  const { id, counts, total, webhookUrl, createdAt, completedAt } = batch;
  return {
    id,
    state: completedAt === null ? 'active' : 'completed',
    counts: { total, ...counts },
    ...snakeNames({ createdAt, completedAt }),
    webhook: webhookUrl === null ? null : { url: webhookUrl },
    poll_url: `/v1/batches/${id}`,
    pictures_url: `/v1/batches/${id}/pictures.zip`,
  };
}

export function toWireBatchCapture({ index, job }: BatchCapture, places: PublicPlaces) {
  return { index, ...toWireJobSnapshot(job, places) };
}

/** The schema of the payload of a batch's webhook. */
export const batchPayloadSchema = z.object({
  event: z.enum(BATCH_EVENTS).meta({ description: 'name of the event' }),
  batch: batchSchema
    .omit({ webhook: true })
    .extend({ state: z.enum(['completed', 'canceled']).meta({ description: 'how the batch ended' }) })
    .partial({ poll_url: true, pictures_url: true })
    .meta({ description: 'the batch at its end; without its addresses if it was canceled', id: undefined }),
  request_id: jobFields.request_id,
  ...deliveryFields,
});

/** The payload of a batch's webhook. */
export function toBatchPayload(
  batch: BatchSnapshot,
  { event, deliveryId, generation }: { event: BatchEvent; deliveryId: string; generation: number },
) {
  const { webhook: _, ...shown } = toWireBatch(batch);
  return {
    event,
    batch: event === 'batch.canceled' ? canceledBatch(shown) : shown,
    request_id: batch.requestId,
    delivery_id: deliveryId,
    delivery_generation: generation,
  };
}

/** A canceled batch is gone, and its captures are canceled one after the other, perhaps after the webhook is sent. */
function canceledBatch(shown: Omit<z.output<typeof batchSchema>, 'webhook'>) {
  const { poll_url: _, pictures_url: __, counts, ...batch } = shown;
  const canceled = counts.waiting + counts.active + counts.canceled;
  return { ...batch, state: 'canceled' as const, counts: { ...counts, waiting: 0, active: 0, canceled } };
}

export const batchIdSchema = z.object({
  id: z.string().meta({ description: 'id of the batch', example: EXAMPLE_BATCH_ID }),
});
