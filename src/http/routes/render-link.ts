import type { Context, Handler } from 'hono';
import type { Principal } from '../../account/authenticate.js';
import { CaptureError } from '../../contract/capture-error.js';
import { bodyOf, type QueryPair, readQuery, singleValue } from '../../contract/render-link.js';
import { invalidRequest, parseSubmission, type Submission } from '../../contract/submission.js';
import { answerPicture } from '../answer-picture.js';
import type { Edge, EdgeEnv } from '../edge.js';
import { enforceLimits, failureOf } from '../guard.js';
import { failedAnswer, refuseWhenDraining, submitAndSettle } from '../submit-and-settle.js';

/** `Retry-After` for a picture that is not ready: most captures take less. */
const RETRY_SECONDS = 3;

/** GET and HEAD /v1/render: the picture of a signed link (extensions.md, GET /v1/render). */
export function renderLink(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const { url = '' } = c.env.incoming;
    const pairs = readQuery(url.includes('?') ? url.slice(url.indexOf('?') + 1) : '');
    const principal = await authenticate(edge, c, pairs);
    enforceLimits(edge, c, { principal, protection: { scope: 'screenshot:write', meter: 'submissions' } });
    refuseWhenDraining(edge);
    const submission = readSubmission(edge, pairs ?? []);
    const job = await submitAndSettle(edge, c, { submission, idempotencyKey: null });
    if (job.result === null) throw notReady();
    const { outcome } = job.result;
    if (!outcome.ok) return failedAnswer(edge, c.var.exchange, { job, error: outcome.error });
    return await answerPicture(edge, c, {
      data: outcome.data,
      cacheControl: cacheControlOf(submission, pairs ?? []),
      conditional: true,
    });
  };
}

/** A wrong signature counts as a failed authentication. */
async function authenticate(edge: Edge, c: Context<EdgeEnv>, pairs: QueryPair[] | null): Promise<Principal> {
  try {
    return await edge.authenticateLink(pairs);
  } catch (thrown) {
    throw failureOf(edge, c, thrown, 'forbidden');
  }
}

function readSubmission(edge: Edge, pairs: readonly QueryPair[]): Submission {
  const { body, refused } = bodyOf(pairs);
  if (refused.length > 0) throw invalidRequest(refused.map((path) => ({ path, message: 'is not available in links' })));
  return parseSubmission(body, { ...edge.config, forceAsync: false });
}

/** Caches may keep the picture only while the link is valid. */
function cacheControlOf({ cacheTtl }: Submission, pairs: readonly QueryPair[]): string {
  const leftSeconds = Math.floor(Number(singleValue(pairs, 'expires')) - Date.now() / 1000);
  return `public, max-age=${Math.max(0, Math.min(cacheTtl, leftSeconds))}`;
}

function notReady(): CaptureError {
  return new CaptureError({
    code: 'internal_error',
    status: 503,
    message: 'The picture is not ready yet. The capture continues: request it again.',
    retryAfterSeconds: RETRY_SECONDS,
  });
}
