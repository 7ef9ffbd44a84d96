import type { Context } from 'hono';
import type { StoredSource } from '../../capture/compare.js';
import { CaptureError } from '../../contract/capture-error.js';
import {
  COMPARE_BODY_MAX_BYTES,
  compareRequestSchema,
  comparisonSchema,
  type PictureSource,
  parseComparison,
  type WireComparison,
} from '../../contract/comparison.js';
import { isTerminal } from '../../contract/job.js';
import { EXTENSION } from '../../contract/request-fields.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { answerData } from '../envelope.js';
import { principalOf, SUBMISSIONS } from '../guard.js';
import { readJson } from '../read-body.js';
import type { Description, Route } from '../route.js';
import { CAPTURE_FAILURES, refuseWhenDraining, submitAndWait } from '../submit-and-wait.js';

/** How often a capture is waited for, each time for as long as for a synchronous one, so that clients with a limit of 60 s have an answer. */
const WAITS_MAX = 2;

/** Compares two pictures, which may be captured for it (extensions.md, POST /v1/compare). */
export const comparePictures: Route = {
  method: 'POST',
  path: '/v1/compare',
  access: SUBMISSIONS,
  describe,
  handle: (services) => async (c) => {
    refuseWhenDraining(services);
    return answerData(c, await compareFor(services, c, await readJson(c.env.incoming, COMPARE_BODY_MAX_BYTES)));
  },
};

/** Makes a comparison for the caller of a request. @throws CaptureError */
export async function compareFor(services: AppServices, c: Context<AppEnv>, body: unknown): Promise<WireComparison> {
  const order = parseComparison(body, services.config);
  const [before, after] = await Promise.all([
    captureIfAsked(services, c, { side: 'before', source: order.before }),
    captureIfAsked(services, c, { side: 'after', source: order.after }),
  ]);
  const { comparison, artifact } = await services.compare({ before, after, options: order.options }, principalOf(c));
  return {
    ...comparison,
    passed: comparison.share <= order.failAbove,
    picture_url: artifact === null ? null : `${services.places.baseUrl}/artifacts/${artifact}`,
  };
}

/** @throws CaptureError as the capture, with `details.picture` and `details.job_id` */
async function captureIfAsked(
  services: AppServices,
  c: Context<AppEnv>,
  { side, source }: { side: 'before' | 'after'; source: PictureSource },
): Promise<StoredSource> {
  if (source.kind !== 'capture') return source;
  let job = await submitAndWait(services, c, { submission: source.submission, idempotencyKey: null });
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
    body: {
      description: 'At most 22 MB.',
      schema: compareRequestSchema,
      example: { before: 'job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8', after: { url: 'https://example.com/' }, fail_above: 0.001 },
    },
    ...EXTENSION,
  };
}
