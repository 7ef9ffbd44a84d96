import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { z } from 'zod';
import type { FoundPicture, Side } from '../../capture/compare.js';
import { CaptureError } from '../../contract/capture-error.js';
import {
  COMPARE_BODY_MAX_BYTES,
  compareRequestSchema,
  comparisonSchema,
  parseComparison,
  type WireComparison,
} from '../../contract/comparison.js';
import { isTerminal } from '../../contract/job.js';
import { IDEMPOTENCY_KEY_PATTERN } from '../../contract/limits.js';
import { EXTENSION } from '../../contract/request-fields.js';
import type { Submission } from '../../contract/submission.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { answerData, clientOf, readIdempotencyKey } from '../exchange.js';
import { principalOf, SUBMISSIONS } from '../guard.js';
import { readLargeJson } from '../large-json.js';
import type { Description, Route } from '../route.js';
import { CAPTURE_FAILURES, refuseWhenDraining, submitAndWait } from '../submit-and-wait.js';

/** The number of times that a capture is waited for, each time for as long as a synchronous one, so that clients with a limit of 60 s have an answer. */
const WAITS_MAX = 2;

/** Compares two pictures, which may be captured for it (extensions.md, POST /v1/compare). */
export const comparePictures: Route = {
  method: 'POST',
  path: '/v1/compare',
  access: SUBMISSIONS,
  describe,
  handle: (services) => async (c) => {
    const idempotencyKey = readIdempotencyKey(c);
    refuseWhenDraining(services);
    using _place = services.comparisons.enter(principalOf(c).accountId);
    const body = await readLargeJson(services, c, {
      limitBytes: COMPARE_BODY_MAX_BYTES,
      long: { before: 'picture', after: 'picture' },
    });
    const { comparison } = await compareFor(services, c, { body, idempotencyKey });
    return answerData(c, comparison);
  },
};

interface CompareRequest {
  body: unknown;
  idempotencyKey: string | null;
}

interface Compared {
  comparison: WireComparison;
  pictures: Record<Side, FoundPicture>;
}

/**
 * Makes a comparison for the caller of a request, who has a place among the comparisons.
 * @throws CaptureError; once there are captures, with their ids in `details.job_ids`
 */
export async function compareFor(
  services: AppServices,
  c: Context<AppEnv>,
  { body, idempotencyKey }: CompareRequest,
): Promise<Compared> {
  const parsed = parseComparison(body, services.config);
  const principal = principalOf(c);
  const jobIds: Partial<Record<Side, string>> = {};
  const sides: Side[] = ['before', 'after'];
  const found: Partial<Record<Side, FoundPicture>> = {};
  for (const side of sides) {
    const source = parsed[side];
    if (source.kind !== 'capture') found[side] = await services.comparisons.find({ side, source }, principal);
  }
  try {
    const capturing = sides.map(async (side): Promise<FoundPicture> => {
      const source = parsed[side];
      if (source.kind !== 'capture') return found[side] as FoundPicture;
      const key = idempotencyKey === null ? null : sideKey(idempotencyKey, side);
      return await capture(services, c, { side, submission: source.submission, idempotencyKey: key, jobIds });
    });
    const [before, after] = (await settled(capturing)) as [FoundPicture, FoundPicture];
    const { comparison, artifact } = await services.comparisons.compare(
      { before, after, options: parsed.options },
      { principal, signal: clientOf(c) },
    );
    const passed = comparison.share <= parsed.failAbove;
    const url = artifact === null ? null : `${services.places.baseUrl}/artifacts/${artifact}`;
    return { comparison: { ...comparison, passed, picture_url: url }, pictures: { before, after } };
  } catch (thrown) {
    if (!(thrown instanceof CaptureError) || Object.keys(jobIds).length === 0) throw thrown;
    throw thrown.with({ details: { job_ids: jobIds } });
  }
}

/** Waits for all, so that the ids of all jobs are known when one of them has failed. */
async function settled<Value>(all: readonly Promise<Value>[]): Promise<Value[]> {
  await Promise.allSettled(all);
  return await Promise.all(all);
}

interface SideCapture {
  side: Side;
  submission: Submission;
  idempotencyKey: string | null;
  jobIds: Partial<Record<Side, string>>;
}

async function capture(
  services: AppServices,
  c: Context<AppEnv>,
  { side, submission, idempotencyKey, jobIds }: SideCapture,
): Promise<FoundPicture> {
  let job = await submitAndWait(services, c, { submission, idempotencyKey });
  jobIds[side] = job.id;
  for (let waits = 1; !isTerminal(job.state) && waits < WAITS_MAX && !c.req.raw.signal.aborted; waits++) {
    job = await services.waitForJob(job, c.req.raw.signal);
  }
  const details = { picture: side, job_id: job.id };
  if (job.result === null) {
    const message = `The capture of \`${side}\` has not ended yet. Compare the pictures again with its job id.`;
    throw new CaptureError({ code: 'render_timeout', message, details });
  }
  const { outcome } = job.result;
  if (!outcome.ok) throw new CaptureError({ ...outcome.error, details: { ...outcome.error.details, ...details } });
  return { kind: 'artifact', name: outcome.data.artifact };
}

/** The idempotency key of one capture of a comparison. */
function sideKey(key: string, side: Side): string {
  return `compare.${side}.${createHash('sha256').update(key).digest('hex').slice(0, 40)}`;
}

function describe(): Description {
  return {
    operationId: 'comparePictures',
    tags: ['captures'],
    summary: 'Compare two pictures',
    description:
      'Returns how much has changed, where, and a picture of the differences. A comparison costs only the captures that are made for it.',
    answers: { 200: { description: 'The comparison.', data: comparisonSchema } },
    failures: {
      400: 'The request is not valid, or one of the pictures cannot be compared.',
      404: 'One of the pictures does not exist.',
      503: 'Shutting down, overloaded, without a browser, or egress is unavailable.',
      ...CAPTURE_FAILURES,
      410: 'One of the pictures has been deleted.',
    },
    headers: z.object({
      'Idempotency-Key': z
        .string()
        .regex(IDEMPOTENCY_KEY_PATTERN)
        .optional()
        .meta({ description: 'identifies the comparison: a repeated request does not capture again' }),
    }),
    body: {
      description: 'At most 22 MB.',
      schema: compareRequestSchema,
      example: { before: 'job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8', after: { url: 'https://example.com/' }, fail_above: 0.001 },
    },
    ...EXTENSION,
  };
}
