/** The Chromium routes of Gotenberg 8 (gotenberg.dev), its health and its version. Other routes are passed on to a Gotenberg. */
import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import { CaptureError, notFound, type StoredError, toStoredError } from '../../contract/capture-error.js';
import { HTML_DOCUMENT_URL } from '../../contract/capture-request.js';
import { gotenbergError, statusText } from '../../contract/gotenberg-error.js';
import type { PageFacts } from '../../contract/page-facts.js';
import { readUrl } from '../../contract/read-url.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { clientOf, jsonResponse, noteError } from '../exchange.js';
import { principalOf } from '../guard.js';
import { isForm } from '../read-form.js';
import { receiveForm, type SubmittableForm } from '../receive-form.js';
import type { Route } from '../route.js';
import { answerPicture, dispositionOf, openPictureOf } from '../send-artifact.js';
import { submitAndWait } from '../submit-and-wait.js';
import { type CompatibleRoute, capture, compatibleRoute, submissionOf } from './compatible-api.js';
import { answerChanged, answerEngine, answerReader, ENGINE_READERS, ENGINES } from './gotenberg-engines.js';
import { type Checks, type GotenbergRequest, needsFacts, type Output, readGotenberg } from './gotenberg-fields.js';
import { convertMarkdown, GotenbergParts, type Source } from './gotenberg-form.js';
import { outputName, readTrace, readWebhook, type Webhook } from './gotenberg-headers.js';
import { convertAtUpstream, passOn } from './gotenberg-upstream.js';
import type { MarkdownForm } from './markdown-form-thread.js';

/** The newest version whose fields are known here. */
const GOTENBERG_VERSION = '8.36.0';
const TRACE = 'gotenberg-trace';
/** Plain names only, so that no server on the way reads the path of another route, such as one of Chromium, in it. */
const PASSED_ON = /^\/forms(?!\/chromium(\/|$))(\/[a-z0-9_-]+)+$/;
const LISTED_MAX = 10;

const NO_ROUTE =
  'There is no such route here. The operator can pass other routes than those of Chromium on to a Gotenberg with STILLFRAME_GOTENBERG_UPSTREAM.';
const NOT_WITH_WEBHOOK =
  'Gotenberg-Webhook-Url cannot be combined with fields that change the finished PDF, such as pdfa, metadata and splitMode, failOnResourceHttpStatusCodes, failOnResourceLoadingFailed, failOnConsoleExceptions, and other failOnHttpStatusCodes than [499,599] and []: wait for the answer instead.';

const OUTPUTS: readonly Output[] = ['convert', 'screenshot'];
const SOURCES: readonly Source[] = ['url', 'html', 'markdown'];

export const GOTENBERG_ROUTES: readonly Route[] = [
  ...OUTPUTS.flatMap((output) => SOURCES.map((source) => chromiumRoute(output, source))),
  ...Object.entries(ENGINES).map(([name, rules]) =>
    compatibleRoute({
      ...common(`/forms/pdfengines/${name}`),
      handle: (services, c) => {
        repeatTrace(c);
        return answerEngine(services, c, rules);
      },
    }),
  ),
  ...Object.entries(ENGINE_READERS).map(([name, read]) =>
    compatibleRoute({
      ...common(`/forms/pdfengines/${name}`),
      handle: (services, c) => {
        repeatTrace(c);
        return answerReader(services, c, read);
      },
    }),
  ),
  compatibleRoute({ ...common('/forms/*'), handle: passOnForm }),
  openRoute('/health', answerHealth),
  openRoute('/version', (_services, c) => answerText(c, 200, GOTENBERG_VERSION)),
];

function chromiumRoute(output: Output, source: Source): Route {
  const handle: CompatibleRoute['handle'] = async (services, c) => {
    const { gotenbergUpstream: upstream } = services.config;
    const { headers } = c.env.incoming;
    const trace = repeatTrace(c);
    const name = outputName(headers) ?? randomUUID();
    const webhook = readWebhook(headers, { allowed: services.config.webhookAllow, trace, name });
    if (!isForm(c.env.incoming))
      throw new CaptureError({
        code: 'invalid_request',
        status: 415,
        message: 'The content type must be multipart/form-data.',
      });
    const convert = (markdown: MarkdownForm) => convertMarkdown(services, c, markdown);
    using _place =
      webhook === null ? await services.uploads.conversions.wait(principalOf(c).accountId, clientOf(c)) : null;
    await using form = await receiveForm(services, c, (files) => new GotenbergParts(files, { source, convert }));
    const request = readGotenberg(form.body, { output, source, archives: upstream !== null });
    if (webhook !== null) return await submitForWebhook(services, c, { request, form, webhook });
    const data = await capture(services, c, { draft: request.draft, form }).catch((thrown: unknown) => {
      const error = toStoredError(thrown);
      if (error.details?.reason === 'blocked_destination')
        services.log.warn({ request_id: c.var.exchange.requestId, reason: error.message }, 'a destination was refused');
      // The error of a request that was not captured is about the value itself.
      if (error.details?.job_id === undefined) throw thrown;
      const { status, message } = gotenbergError(error, request.problems);
      throw new CaptureError({ code: error.code, status, message, cause: (thrown as Error).cause });
    });
    checkFacts(data.inspection?.facts, request.checks);
    const disposition = dispositionOf(name, data.format);
    if (upstream !== null && Object.keys(request.archive).length > 0) {
      const pdf = await openPictureOf(services, data);
      return await convertAtUpstream(services, c, { upstream, pdf, fields: request.archive, disposition });
    }
    if (request.work !== null) {
      const artifact = await openPictureOf(services, data);
      return await answerChanged(services, c, { artifact, work: request.work, name });
    }
    return await answerPicture(services, c, { data, cacheControl: 'no-store', conditional: false, disposition });
  };
  return compatibleRoute({ ...common(`/forms/chromium/${output}/${source}`), handle });
}

/** A route without a key. */
function openRoute(
  path: string,
  answer: (services: AppServices, c: Context<AppEnv>) => Response | Promise<Response>,
): Route {
  const handle = (services: AppServices) => async (c: Context<AppEnv>) => {
    try {
      repeatTrace(c);
      return await answer(services, c);
    } catch (thrown) {
      return answerFailure(noteError(services, c.var.exchange, thrown), c);
    }
  };
  return { method: 'GET', path, access: null, handle };
}

/** Answers with the trace of the request, or with a new one. @throws CaptureError `invalid_request` */
function repeatTrace(c: Context<AppEnv>): string {
  const trace = readTrace(c.env.incoming.headers) ?? randomUUID();
  c.var.exchange.headers[TRACE] = trace;
  return trace;
}

function common(path: string): Omit<CompatibleRoute, 'handle'> {
  return { method: 'POST', path, keyOf: readKey, refuse: answerFailure };
}

/** The password of Basic authentication, with any user name, or a bearer token. One that is not readable is no key, but a wrong one. */
function readKey(c: Context<AppEnv>): string | null {
  const authorization = c.env.incoming.headers.authorization ?? '';
  if (authorization === '') return null;
  const [, scheme = '', credentials = ''] = /^(basic|bearer) +([^\s,]{1,400}) *$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== 'basic') return credentials;
  const decoded = Buffer.from(credentials, 'base64').toString();
  return decoded.slice(decoded.indexOf(':') + 1);
}

/** Answers 204 once the capture is accepted; the job sends its file, or its error. */
async function submitForWebhook(
  services: AppServices,
  c: Context<AppEnv>,
  { request, form, webhook }: { request: GotenbergRequest; form: SubmittableForm; webhook: Webhook },
): Promise<Response> {
  if (needsFacts(request.checks) || Object.keys(request.archive).length > 0 || request.work !== null)
    throw new CaptureError({ code: 'invalid_request', message: NOT_WITH_WEBHOOK });
  const draft = { ...request.draft, upload: { url: webhook.url } };
  const sending = webhook.sending(String(request.draft.format), request.problems);
  const submission = submissionOf(
    services,
    { draft, form, set: { upload: { url: webhook.url, artifact: null, sending } } },
    true,
  );
  await submitAndWait(services, c, { submission, idempotencyKey: null, submit: form.submit });
  return new Response(null, { status: 204, headers: c.var.exchange.headers });
}

type FailedRequest = PageFacts['requests']['failed'][number];

/**
 * Checks what a page has loaded (`failOn…`). The facts name the first 20 requests that failed, and 20 errors.
 * @throws CaptureError `target_error`; `internal_error` (503) if the page did not tell its facts
 */
function checkFacts(facts: PageFacts | undefined, checks: Checks): void {
  if (!needsFacts(checks)) return;
  if (facts === undefined)
    throw new CaptureError({
      code: 'internal_error',
      status: 503,
      message: 'The page did not report its resources in time. Try again.',
    });
  const { status } = facts;
  if (status !== undefined && checks.statuses?.includes(status) === true)
    refuseIfAny('Invalid HTTP status code from the main page: ', [statusText(status)]);
  const resources = facts.requests.failed.filter(({ type }) => type !== 'document');
  const answered = resources.filter(
    (one) =>
      !isMissingFile(one) &&
      checks.resourceStatuses.includes(one.status ?? 0) &&
      !isIgnored(one, checks.ignoredDomains),
  );
  const statuses = answered.map(({ url, status: code }) => `${url} - ${statusText(code ?? 0)}`);
  refuseIfAny('Invalid HTTP status code from resources:\n', statuses);
  const unloaded = resources.filter(
    (one) => isMissingFile(one) || (one.status === undefined && one.error !== undefined),
  );
  const failures = unloaded.map(({ url, type, error = 'net::ERR_FILE_NOT_FOUND' }) => {
    return `resource ${RESOURCE_TYPES[type] ?? titleCase(type)}: ${UNREACHED.has(error) ? 'net::ERR_CONNECTION_REFUSED' : error} (${url})`;
  });
  if (checks.failedResources) refuseIfAny('Chromium failed to load resources: ', failures);
  const exceptions = facts.console_errors.filter((one) => one.uncaught === true).map(({ text }) => text);
  if (checks.exceptions) refuseIfAny('Chromium console exceptions:\n', exceptions);
}

/** A file that did not come with the form, which Gotenberg would not find either. */
function isMissingFile({ url, status }: FailedRequest): boolean {
  return url.startsWith(HTML_DOCUMENT_URL) && status === 404;
}

function isIgnored({ url }: FailedRequest, domains: readonly string[]): boolean {
  const { hostname = '', host = '' } = readUrl(url) ?? {};
  return domains.some((domain) => [hostname, host].includes(domain) || hostname.endsWith(`.${domain}`));
}

/** The types of the DevTools protocol whose names have several capitals. */
const RESOURCE_TYPES: Record<string, string> = {
  xhr: 'XHR',
  eventsource: 'EventSource',
  websocket: 'WebSocket',
  texttrack: 'TextTrack',
};
/** The error by which Chromium reports a server that egress could not reach, or refused to. */
const UNREACHED = new Set(['net::ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH', 'net::ERR_TUNNEL_CONNECTION_FAILED']);

function titleCase(type: string): string {
  return type.slice(0, 1).toUpperCase() + type.slice(1);
}

function refuseIfAny(subject: string, found: readonly string[]): void {
  if (found.length > 0)
    throw new CaptureError({ code: 'target_error', message: subject + found.slice(0, LISTED_MAX).join('\n') });
}

async function passOnForm(services: AppServices, c: Context<AppEnv>): Promise<Response> {
  const { gotenbergUpstream } = services.config;
  if (gotenbergUpstream === null || !PASSED_ON.test(new URL(c.req.url).pathname)) throw notFound(NO_ROUTE);
  return await passOn(services, c, gotenbergUpstream);
}

async function answerHealth(services: AppServices, c: Context<AppEnv>): Promise<Response> {
  const { ready } = await services.health();
  const isUp = ready && !services.draining();
  const status = isUp ? 'up' : 'down';
  const details = { chromium: { status, timestamp: new Date().toISOString() } };
  const answer = jsonResponse(isUp ? 200 : 503, { status, details }, c.var.exchange.headers);
  answer.headers.set('content-type', 'application/json; charset=utf-8');
  return answer;
}

function answerFailure(error: StoredError, c: Context<AppEnv>): Response {
  const { status, message } = gotenbergError(error);
  if (status === 401) c.var.exchange.headers['www-authenticate'] = 'Basic realm="stillframe"';
  return answerText(c, status, message);
}

function answerText(c: Context<AppEnv>, status: number, text: string): Response {
  return new Response(text, {
    status,
    headers: { ...c.var.exchange.headers, 'content-type': 'text/plain; charset=UTF-8' },
  });
}
