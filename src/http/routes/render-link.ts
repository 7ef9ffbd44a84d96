import type { Context, Handler } from 'hono';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { authenticateLink, type Principal, requireScope } from '../../account/authenticate.js';
import { LINKS_SCOPE } from '../../contract/api-key.js';
import { CaptureError } from '../../contract/capture-error.js';
import type { JobSnapshot } from '../../contract/job.js';
import { LINK_CACHE_TTL_MIN_S } from '../../contract/limits.js';
import {
  bodyOf,
  NO_LINK_FIELDS,
  type QueryPair,
  RENDER_LINK_PATH,
  readSignedQuery,
  type SignedQuery,
  singleValue,
} from '../../contract/render-link.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { invalidRequest, parseSubmission, type Submission } from '../../contract/submission.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { failureOf, keyLimited, RATE_HEADERS, takeToken } from '../guard.js';
import type { Description, Route } from '../route.js';
import { answerPicture, PICTURE_HEADERS } from '../send-artifact.js';
import { CAPTURE_FAILURES, failedAnswer, refuseWhenDraining, submitAndWait } from '../submit-and-wait.js';

/** `Retry-After` for a picture that is not ready: most captures take less. */
const RETRY_SECONDS = 3;
/** The time for which caches may keep a picture that is being renewed. */
const RENEWAL_SECONDS = 10;

/** All queries of links that are kept, in characters. What is kept of one takes about ten times as much. */
const KEPT_CHARS = 2_000_000;

interface Link {
  principal: Principal;
  submission: Submission;
  /** Unix ms. */
  expiresAt: number;
}

/** The parts of a link that stay the same: its query, and the submission that it stands for with this version of its template. */
interface KnownLink {
  signed: SignedQuery;
  body: Record<string, unknown>;
  templateId: string | null;
  submission: Submission;
}

interface LinkRender {
  link: Link;
  /** Starts a render of the link, or joins the one in flight. */
  start: AppServices['submit'];
}

/** The picture of a signed link (extensions.md, GET /v1/render). The signature takes the place of an API key. */
export const renderLink: Route = { method: 'GET', path: RENDER_LINK_PATH, access: null, describe, handle };

function handle(services: AppServices): Handler<AppEnv> {
  const starting = new Map<string, Promise<JobSnapshot>>();
  // By its query. Keys, secrets and templates are read from the store for each request.
  const kept = new LRUCache<string, KnownLink>({
    maxSize: KEPT_CHARS,
    sizeCalculation: (_, { length }) => length + 200,
  });
  return async (c) => {
    const { url = '' } = c.env.incoming;
    const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
    const known = kept.get(query);
    const signed = known?.signed ?? readSignedQuery(query);
    const principal = await authenticate(services, c, signed);
    if (!principal.scopes.includes(LINKS_SCOPE)) requireScope(principal, 'screenshot:write');
    const read = await readLink(services, principal, { signed, known });
    if (read !== known) kept.set(query, read);
    const link = {
      principal,
      submission: read.submission,
      expiresAt: Number(singleValue(signed.pairs, 'expires')) * 1000,
    };
    takeToken(services, c, { principal, meter: 'links', takes: false });
    const { picture, inFlight } = await services.findLinkPicture(link.submission, principal.accountId);
    const start: LinkRender['start'] = (submission, context) =>
      shared(starting, `${principal.keyId} ${submission.options.timeout} ${submission.cacheIdentity}`, () => {
        // Only a new render costs anything: neither a stored picture nor a render in flight takes a token.
        const verdict = takeToken(services, c, { principal, meter: 'links', takes: !inFlight });
        if (!inFlight && !verdict.allowed) throw keyLimited(verdict);
        return services.submit(submission, { ...context, link: true });
      });
    if (picture === null) return await answerRendered(services, c, { link, start });
    if (picture.ageMs > link.submission.cacheTtl * 1000 && !inFlight) await renew(services, c, { link, start });
    c.var.exchange.headers['x-job-id'] = picture.jobId;
    return await answerPicture(services, c, {
      data: picture.data,
      artifact: picture.artifact,
      cacheControl: cacheControlOf(link, picture.ageMs),
      conditional: true,
    });
  };
}

/** Waits for a render: the one in flight, or a new one. */
async function answerRendered(
  services: AppServices,
  c: Context<AppEnv>,
  { link, start }: LinkRender,
): Promise<Response> {
  refuseWhenDraining(services);
  const job = await submitAndWait(services, c, { submission: link.submission, idempotencyKey: null, submit: start });
  if (job.result === null) throw notReady();
  const { outcome } = job.result;
  if (!outcome.ok) return failedAnswer(services, c.var.exchange, { job, error: outcome.error });
  return await answerPicture(services, c, {
    data: outcome.data,
    cacheControl: cacheControlOf(link, 0),
    conditional: true,
  });
}

/** Nobody waits for the new picture. Whatever refuses it (the rate, the credits, a full queue), the stored one stays. */
async function renew(services: AppServices, c: Context<AppEnv>, { link, start }: LinkRender): Promise<void> {
  const { principal, submission } = link;
  const { requestId } = c.var.exchange;
  try {
    await start({ ...submission, mode: 'async' }, { principal, requestId, idempotencyKey: null, traceparent: null });
  } catch (thrown) {
    if (!(thrown instanceof CaptureError)) throw thrown;
    services.log.info(
      { request_id: requestId, key_id: principal.keyId, code: thrown.code },
      'the picture of a link is not renewed',
    );
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
async function authenticate(services: AppServices, c: Context<AppEnv>, signed: SignedQuery): Promise<Principal> {
  try {
    return await authenticateLink(services.store, signed, services.now());
  } catch (thrown) {
    throw failureOf(services, c, thrown, 'forbidden');
  }
}

/** Reads a link, unless it is known with the same version of its template. @throws CaptureError `invalid_request` */
async function readLink(
  services: AppServices,
  principal: Principal,
  { signed, known }: { signed: SignedQuery; known: KnownLink | undefined },
): Promise<KnownLink> {
  const body = known?.body ?? bodyOfLink(signed.pairs);
  const template = await services.templates.find(body, principal);
  if (known !== undefined && known.templateId === (template?.id ?? null)) return known;
  const submission = parseSubmission(body, { ...services.config, forceAsync: false, template });
  const cacheTtl = Math.max(LINK_CACHE_TTL_MIN_S, submission.cacheTtl);
  return { signed, body, templateId: template?.id ?? null, submission: { ...submission, cacheTtl } };
}

function bodyOfLink(pairs: readonly QueryPair[]): Record<string, unknown> {
  const { body, refused } = bodyOf(pairs);
  if (refused.length > 0) throw invalidRequest(refused.map((path) => ({ path, message: 'is not available in links' })));
  // The text of an inspected page is not in the answer, and would keep the picture out of the cache.
  return body.inspect_page === true ? { ...body, inspect_page: false } : body;
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

function describe(): Description {
  const fields = z.object({
    url: z.string().meta({ description: 'address to capture', example: 'https://example.com/' }),
    key: z
      .string()
      .meta({ description: 'id of the API key that signed the link', example: 'key_01K9Z8Y7X6W5V4T3S2R1Q0P9N8' }),
    expires: z.string().meta({ description: 'Unix seconds', example: '1893456000' }),
    signature: z.string().meta({
      description:
        'hex HMAC-SHA256 of the canonical query (sorted by name, RFC 3986 encoding, without `signature`), keyed with the signing secret',
      example: '5f0c…',
    }),
  });
  return {
    operationId: 'renderLink',
    tags: ['captures'],
    summary: 'The picture of a signed link',
    description: `For \`<img src>\` and Open Graph tags. Beside \`url\`, or \`template\` with its parameters, any field of a capture request in flat form (\`viewport.width=800\`, repeated names for lists), except ${NO_LINK_FIELDS.map((name) => `\`${name}\``).join(', ')}. \`stillframe sign\` makes such links. Only a render is charged: a stored picture answers for free, after \`cache_ttl\` (at least 60 s) as well, while one render renews it.`,
    query: fields,
    answers: {
      200: {
        description: 'The picture.',
        picture: true,
        headers: {
          ...RATE_HEADERS,
          'x-job-id': 'id of the job that rendered the picture',
          ...PICTURE_HEADERS,
          'cache-control': 'what is left of `cache_ttl`; 10 s for a picture that is being renewed',
        },
      },
      304: { description: "The client's copy is up to date." },
    },
    failures: {
      400: 'The fields are not valid.',
      403: 'The signature is missing, wrong or expired, or the key may not sign links.',
      503: 'Not ready yet, or not available: see `Retry-After`.',
      ...CAPTURE_FAILURES,
    },
    ...EXTENSION,
  };
}
