/** Batches of captures (extensions.md, Batches). */
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from 'hono';
import { z } from 'zod';
import type { OpenArtifact } from '../../artifacts/artifacts.js';
import {
  type BatchCapture,
  type BatchSnapshot,
  batchIdSchema,
  batchPageSchema,
  batchQuery,
  batchRequestSchema,
  batchSchema,
  cursorOf,
  parseBatch,
  placeOfCursor,
  toWireBatch,
  toWireBatchCapture,
} from '../../contract/batch.js';
import { notFound } from '../../contract/capture-error.js';
import { isId } from '../../contract/ids.js';
import { BATCH_BODY_MAX_BYTES, BATCH_PAGE, BATCH_VALUES_MAX, IDEMPOTENCY_KEY_PATTERN } from '../../contract/limits.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { parseFields } from '../../contract/submission.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { answerData, readIdempotencyKey } from '../exchange.js';
import { principalOf, READS, SUBMISSIONS, WRITES } from '../guard.js';
import { readLargeJson } from '../large-json.js';
import type { Route } from '../route.js';
import { dispositionOf, sendStream } from '../send-artifact.js';
import { refuseWhenDraining } from '../submit-and-wait.js';
import { type ZippedFile, zipOf } from '../zip.js';

const NO_BATCH = { 404: 'No such batch for this API key.' };

async function batchOfPath({ store }: AppServices, c: Context<AppEnv>): Promise<BatchSnapshot> {
  const id = c.req.param('id') ?? '';
  const batch = isId('batch', id) ? await store.findBatch(id) : null;
  if (batch === null || batch.keyId !== principalOf(c).keyId) throw noSuchBatch();
  return batch;
}

function noSuchBatch() {
  return notFound('No such batch for this API key');
}

export const BATCH_ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/batches',
    access: SUBMISSIONS,
    describe: () => ({
      operationId: 'submitBatch',
      tags: ['batches'],
      summary: 'Capture many pages',
      description:
        'All captures are accepted in one transaction, or none. They run after other captures of the account. One request counts once for the rate limit.',
      headers: z.object({
        'Idempotency-Key': z.string().regex(IDEMPOTENCY_KEY_PATTERN).optional().meta({
          description: 'identifies a logical batch: a repeated request returns the original batch',
        }),
      }),
      body: {
        description: `At most ${BATCH_BODY_MAX_BYTES} bytes and ${BATCH_VALUES_MAX} values.`,
        schema: batchRequestSchema,
        example: { requests: [{ url: 'https://example.com/' }, { url: 'https://example.org/', full_page: true }] },
      },
      answers: {
        200: {
          description: 'All captures have ended: pictures in the cache have answered them, or it is repeated.',
          data: batchSchema,
        },
        202: {
          description: 'The batch is accepted; poll `data.poll_url`.',
          data: batchSchema,
          headers: { location: 'the same as `data.poll_url`' },
        },
      },
      failures: {
        400: 'A request is not valid: `details.issues` names its index. Nothing is accepted.',
        409: 'The idempotency key belongs to another API key or to another batch.',
        429: 'Rate limit exceeded, or the quota does not cover all captures.',
        503: 'Shutting down, or too many captures of batches are waiting.',
      },
      ...EXTENSION,
    }),
    handle: (services) => async (c) => {
      const { exchange } = c.var;
      const idempotencyKey = readIdempotencyKey(c);
      refuseWhenDraining(services);
      const body = await readLargeJson(services, c, {
        limitBytes: BATCH_BODY_MAX_BYTES,
        long: null,
        valuesMax: BATCH_VALUES_MAX,
      });
      const templateOf = (request: unknown) => services.templates.find(request, principalOf(c));
      const submission = await parseBatch(body, { ...services.config, templateOf }, () => nextTurn());
      const context = { principal: principalOf(c), requestId: exchange.requestId, idempotencyKey };
      const batch = toWireBatch(await services.batches.submit(submission, context));
      exchange.headers.location = batch.poll_url;
      return answerData(c, batch, batch.state === 'completed' ? 200 : 202);
    },
  },
  {
    method: 'GET',
    path: '/v1/batches/:id',
    access: READS,
    describe: () => ({
      operationId: 'readBatch',
      tags: ['batches'],
      summary: 'Read a batch, with a page of its captures',
      params: batchIdSchema,
      query: batchQuery,
      answers: { 200: { description: 'The batch.', data: batchPageSchema } },
      failures: { 400: 'The query is not valid.', ...NO_BATCH },
      ...EXTENSION,
    }),
    handle: (services) => async (c) => {
      const batch = await batchOfPath(services, c);
      const { limit: limitText, cursor } = c.req.query();
      const page = parseFields(batchQuery, {
        ...(limitText === undefined ? {} : { limit: /^\d{1,4}$/.test(limitText) ? Number(limitText) : limitText }),
        ...(cursor === undefined ? {} : { cursor }),
      });
      const after = page.cursor === undefined ? null : placeOfCursor(page.cursor);
      const captures = await services.store.batchCaptures(batch.id, { after, limit: page.limit });
      const last = captures.at(-1);
      return answerData(c, {
        ...toWireBatch(batch),
        captures: captures.map((capture) => toWireBatchCapture(capture, services.places)),
        next_cursor: last === undefined || captures.length < page.limit ? null : cursorOf(last),
      });
    },
  },
  {
    method: 'DELETE',
    path: '/v1/batches/:id',
    access: WRITES,
    describe: () => ({
      operationId: 'removeBatch',
      tags: ['batches'],
      summary: 'Cancel or delete a batch',
      description:
        'Its captures that have not ended are canceled, and cost nothing; the pictures of the others are deleted. If it had not ended, its webhook gets `batch.canceled`.',
      params: batchIdSchema,
      answers: {
        200: {
          description: 'It is removed.',
          data: batchIdSchema.extend({ removed: z.literal(true).meta({ description: 'always true', example: true }) }),
        },
      },
      failures: NO_BATCH,
      ...EXTENSION,
    }),
    handle: (services) => async (c) => {
      const id = c.req.param('id') ?? '';
      if (!isId('batch', id) || !(await services.batches.remove(id, principalOf(c).keyId))) throw noSuchBatch();
      return answerData(c, { id, removed: true });
    },
  },
  {
    method: 'GET',
    path: '/v1/batches/:id/pictures.zip',
    access: READS,
    describe: () => ({
      operationId: 'readBatchPictures',
      tags: ['batches'],
      summary: 'Download the pictures of a batch',
      description: 'Those of the captures that have succeeded so far, each named after its index and its page.',
      params: batchIdSchema,
      answers: { 200: { description: 'The pictures.', types: ['application/zip'] } },
      failures: NO_BATCH,
      ...EXTENSION,
    }),
    handle: (services) => async (c) => {
      const batch = await batchOfPath(services, c);
      Object.assign(c.var.exchange.headers, {
        'content-type': 'application/zip',
        'content-disposition': dispositionOf(batch.id, 'zip'),
      });
      return sendStream(services, c, { status: 200, stream: zipOf(await picturesOf(services, batch.id)) });
    },
  },
];

/** The stored pictures of a batch. Each is opened when it is its turn. */
async function picturesOf(services: AppServices, id: string): Promise<ZippedFile[]> {
  const files: ZippedFile[] = [];
  for (let after: BatchCapture | null = null; ; ) {
    const page: BatchCapture[] = await services.store.batchCaptures(id, { after, limit: BATCH_PAGE.max });
    const opened = page.flatMap(namesOf).map(async ({ name, artifact }): Promise<ZippedFile[]> => {
      const picture = await services.openPicture(artifact);
      // Pictures that have been deleted since are left out.
      if (picture === null || picture === 'deleted') return [];
      return [{ name, bytes: picture.bytes, read: () => Readable.from(chunksOf(picture), { objectMode: false }) }];
    });
    files.push(...(await Promise.all(opened)).flat());
    after = page.at(-1) ?? null;
    if (page.length < BATCH_PAGE.max) return files;
  }
}

async function* chunksOf(picture: OpenArtifact): AsyncGenerator<Uint8Array> {
  yield* await picture.read();
}

/** The longest part of an address in the name of a file. */
const PLACE_MAX_CHARS = 80;

/** The pictures of a capture, under names such as `0007-example.com-pricing.webp` and `0008-example.com-hero.png`. */
function namesOf({ index, job }: BatchCapture): { name: string; artifact: string }[] {
  const outcome = job.result?.outcome;
  if (outcome?.ok !== true) return [];
  const { artifact, captures } = outcome.data;
  const place = job.url
    .replace(/^https?:\/\//, '')
    .replaceAll(/[^A-Za-z0-9.]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, PLACE_MAX_CHARS);
  const pictures = captures ?? [{ name: null, artifact }];
  return pictures.map((picture) => {
    const parts = [String(index + 1).padStart(4, '0'), place, ...(picture.name === null ? [] : [picture.name])];
    return { name: `${parts.join('-')}${extname(picture.artifact)}`, artifact: picture.artifact };
  });
}
