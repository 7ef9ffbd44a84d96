import type { Context, Handler } from 'hono';
import type { Principal } from '../../account/authenticate.js';
import { requireScope } from '../../account/require-scope.js';
import { LINKS_SCOPE } from '../../contract/api-key.js';
import { CaptureError } from '../../contract/capture-error.js';
import type { JobSnapshot } from '../../contract/job.js';
import { LINK_CACHE_TTL_MIN_S } from '../../contract/limits.js';
import { bodyOf, type QueryPair, readQuery, singleValue } from '../../contract/render-link.js';
import { invalidRequest, parseSubmission, type Submission } from '../../contract/submission.js';
import { answerPicture } from '../answer-picture.js';
import type { Edge, EdgeEnv } from '../edge.js';
import { failureOf, keyLimited, takeToken } from '../guard.js';
import { failedAnswer, refuseWhenDraining, submitAndSettle } from '../submit-and-settle.js';

/** `Retry-After` for a picture that is not ready: most captures take less. */
const RETRY_SECONDS = 3;
/** How long caches may keep a picture that is being renewed. */
const RENEWAL_SECONDS = 10;

interface Link {
  principal: Principal;
  submission: Submission;
  /** Unix ms. */
  expiresAt: number;
}

/** Starts a render of a link, or joins the one in flight. */
type Start = Edge['submit'];

/** GET and HEAD /v1/render: the picture of a signed link (extensions.md, GET /v1/render). */
export function renderLink(edge: Edge): Handler<EdgeEnv> {
  const starting = new Map<string, Promise<JobSnapshot>>();
  return async (c) => {
    const { url = '' } = c.env.incoming;
    const pairs = readQuery(url.includes('?') ? url.slice(url.indexOf('?') + 1) : '');
    const principal = await authenticate(edge, c, pairs);
    if (!principal.scopes.includes(LINKS_SCOPE)) requireScope(principal, 'screenshot:write');
    const link = {
      principal,
      submission: readSubmission(edge, pairs ?? []),
      expiresAt: Number(singleValue(pairs ?? [], 'expires')) * 1000,
    };
    takeToken(edge, c, { principal, meter: 'links', takes: false });
    const { picture, inFlight } = await edge.findLinkPicture(link.submission, principal);
    const start: Start = (submission, context) =>
      shared(starting, `${principal.keyId} ${submission.options.timeout} ${submission.cacheIdentity}`, () => {
        // Only a new render costs anything: neither a stored picture nor a render in flight takes a token.
        const verdict = takeToken(edge, c, { principal, meter: 'links', takes: !inFlight });
        if (!inFlight && !verdict.allowed) throw keyLimited(verdict);
        return edge.submit(submission, { ...context, link: true });
      });
    if (picture === null) return await answerRendered(edge, c, { link, start });
    if (picture.ageMs > link.submission.cacheTtl * 1000 && !inFlight) await renew(edge, c, { link, start });
    c.var.exchange.headers['x-job-id'] = picture.jobId;
    return await answerPicture(edge, c, { data: picture.data, cacheControl: cacheControlOf(link, picture.ageMs), conditional: true });
  };
}

/** Waits for a render: the one in flight, or a new one. */
async function answerRendered(edge: Edge, c: Context<EdgeEnv>, { link, start }: { link: Link; start: Start }): Promise<Response> {
  refuseWhenDraining(edge);
  const job = await submitAndSettle(edge, c, { submission: link.submission, idempotencyKey: null, submit: start });
  if (job.result === null) throw notReady();
  const { outcome } = job.result;
  if (!outcome.ok) return failedAnswer(edge, c.var.exchange, { job, error: outcome.error });
  return await answerPicture(edge, c, { data: outcome.data, cacheControl: cacheControlOf(link, 0), conditional: true });
}

/** Nobody waits for the new picture. Whatever refuses it (the rate, the credits, a full queue), the stored one stays. */
async function renew(edge: Edge, c: Context<EdgeEnv>, { link, start }: { link: Link; start: Start }): Promise<void> {
  const { principal, submission } = link;
  const { requestId } = c.var.exchange;
  try {
    await start({ ...submission, mode: 'async' }, { principal, requestId, idempotencyKey: null, traceparent: null });
  } catch (thrown) {
    if (!(thrown instanceof CaptureError)) throw thrown;
    edge.log.info({ request_id: requestId, key_id: principal.keyId, code: thrown.code }, 'the picture of a link is not renewed');
  }
}

/** Requests that arrive at the same moment share one step, and its result. */
async function shared<T>(running: Map<string, Promise<T>>, key: string, step: () => Promise<T>): Promise<T> {
  const known = running.get(key);
  if (known !== undefined) return await known;
  const own = Promise.resolve()
    .then(step)
    .finally(() => running.delete(key));
  running.set(key, own);
  return await own;
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
  // The text of an inspected page is not in the answer, and would keep the picture out of the cache.
  const asked = body.inspect_page === true ? { ...body, inspect_page: false } : body;
  const submission = parseSubmission(asked, { ...edge.config, forceAsync: false });
  return { ...submission, cacheTtl: Math.max(LINK_CACHE_TTL_MIN_S, submission.cacheTtl) };
}

/** Caches may keep the picture only while it is fresh, or for a moment while it is renewed, and while the link is valid. */
function cacheControlOf({ submission, expiresAt }: Link, ageMs: number): string {
  const freshSeconds = Math.max(RENEWAL_SECONDS, Math.floor(submission.cacheTtl - ageMs / 1000));
  const validSeconds = Math.floor((expiresAt - Date.now()) / 1000);
  return `public, max-age=${Math.max(0, Math.min(freshSeconds, validSeconds))}`;
}

function notReady(): CaptureError {
  return new CaptureError({
    code: 'internal_error',
    status: 503,
    message: 'The picture is not ready yet. The capture continues: request it again.',
    retryAfterSeconds: RETRY_SECONDS,
  });
}
