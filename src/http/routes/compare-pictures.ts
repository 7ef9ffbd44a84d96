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
import { anyHeaders, captureFailures, failures, rateHeaders, success } from '../docs/operation-parts.js';
import { answerData } from '../envelope.js';
import { principalOf } from '../guard.js';
import { readJson } from '../read-json.js';
import type { Description, Route } from '../route.js';
import { refuseWhenDraining, submitAndSettle } from '../submit-and-settle.js';

/** How often a capture of a comparison may be waited for, each time for as long as a synchronous capture. */
const WAITS_MAX = 10;

/** Two pictures, which may be captured for it, and what has changed between them (extensions.md, Comparing pictures). */
export const comparePictures: Route = {
  method: 'POST',
  path: '/v1/compare',
  access: { scope: 'screenshot:write', meter: 'submissions' },
  describe,
  handle: (services) => async (c) => {
    refuseWhenDraining(services);
    const order = parseComparison(await readJson(c.env.incoming, COMPARE_BODY_MAX_BYTES), services.config);
    const [before, after] = await Promise.all([stored(services, c, 'before', order.before), stored(services, c, 'after', order.after)]);
    const { comparison, artifact } = await services.compare({ before, after, options: order.options }, principalOf(c));
    const answer: WireComparison = {
      ...comparison,
      passed: comparison.share <= order.failAbove,
      picture_url: artifact === null ? null : `${services.places.baseUrl}/artifacts/${artifact}`,
    };
    return answerData(c, answer);
  },
};

/** Makes the capture if the picture is one. @throws CaptureError as the capture, with `details.picture` and `details.job_id` */
async function stored(
  services: AppServices,
  c: Context<AppEnv>,
  picture: 'before' | 'after',
  source: PictureSource,
): Promise<StoredSource> {
  if (source.kind !== 'capture') return source;
  const accepted = await submitAndSettle(services, c, { submission: source.submission, idempotencyKey: null });
  let job = accepted;
  for (let waits = 0; !isTerminal(job.state) && waits < WAITS_MAX && !c.req.raw.signal.aborted; waits++) {
    job = await services.settle(job, c.req.raw.signal);
  }
  const details = { picture, job_id: job.id };
  if (job.result === null)
    throw new CaptureError({ code: 'render_timeout', message: `The capture of \`${picture}\` has not ended yet.`, details });
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
    request: {
      headers: anyHeaders,
      body: {
        required: true,
        description: 'At most 22 MB.',
        content: {
          'application/json': {
            schema: compareRequestSchema,
            example: { before: 'job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8', after: { url: 'https://example.com/' }, fail_above: 0.001 },
          },
        },
      },
    },
    responses: {
      200: success('The comparison.', comparisonSchema, rateHeaders()),
      ...failures({
        400: 'The request is not valid, or one of the pictures cannot be compared.',
        404: 'One of the pictures does not exist.',
        ...captureFailures(),
      }),
    },
    ...EXTENSION,
  };
}
