/** The REST interface of browserless: `POST /screenshot`, `/pdf` and `/content`. */
import { STATUS_CODES } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Context } from 'hono';
import type { CaptureData } from '../../contract/capture-data.js';
import { notFound, type StoredError } from '../../contract/capture-error.js';
import { isObject } from '../../contract/field-rules.js';
import { BODY_LIMIT_BYTES, HTML_MAX_BYTES, PAGE_FILES_MAX_BYTES } from '../../contract/limits.js';
import { refusedBody } from '../../contract/request-json.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { clientOf, jsonResponse } from '../exchange.js';
import { principalOf } from '../guard.js';
import { readLargeJson } from '../large-json.js';
import { packFiles } from '../read-form.js';
import type { SubmittableForm } from '../receive-form.js';
import type { Route } from '../route.js';
import { answerPicture, openPictureOf } from '../send-artifact.js';
import { type Endpoint, readOptions } from './browserless-fields.js';
import { answerFailure, type CompatibleRoute, captureAs, compatibleRoute, type Draft } from './compatible-api.js';
import { LATE } from './page-scripts.js';

const ENDPOINTS: Endpoint[] = ['screenshot', 'pdf', 'content'];
const PREFIXES = ['', '/chromium', '/chrome'];
/** Routes of browserless that are not served, and the alternative to each. */
const REFUSED = {
  '/function':
    'Scripts that drive a browser are not run here: use `addScriptTag`, or the `steps` of POST /v1/screenshot.',
  '/download': 'Downloads are not kept here.',
  '/scrape': 'Elements are not listed here: use `extract` of POST /v1/screenshot, or read the answer of /content.',
  '/performance':
    'Pages are not audited here: use `inspect_page` of POST /v1/screenshot, which has the times of the page.',
};
const NO_SOCKETS =
  'No browser can be connected to here: use POST /screenshot, /pdf or /content, or the `steps` of POST /v1/screenshot.';
/** GET routes of browserless that are not served, and the alternative to each. */
const REFUSED_READS = {
  ...Object.fromEntries(
    ['/json', '/json/version', '/json/list', '/json/new', '/json/protocol'].map((path) => [path, NO_SOCKETS]),
  ),
  '/sessions': NO_SOCKETS,
  '/config': 'The settings are not told here: see the console of this server, or GET /v1/health.',
  '/meta': 'No browser versions are reported here: see GET /v1/health.',
};
const SOCKETS = [
  '/chromium',
  '/chrome',
  '/chromium/playwright',
  '/chrome/playwright',
  '/playwright/chromium',
  '/playwright/chrome',
];
const TEXT = 'text/plain; charset=UTF-8';
const RESPONSE_URL_CHARS = 1_000;
/** Fields of its requests by those of a capture. */
const NAMES: Record<string, string> = {
  http_credentials: 'authenticate',
  headers: 'setExtraHTTPHeaders',
  user_agent: 'userAgent',
  'storage_state.cookies': 'cookies',
  format: 'options.type',
  quality: 'options.quality',
  full_page: 'options.fullPage',
  clip: 'options.clip',
  omit_background: 'options.omitBackground',
  'pdf.paper.width': 'options.width',
  'pdf.paper.height': 'options.height',
  'pdf.paper': 'options.format',
  'pdf.header_template': 'options.headerTemplate',
  'pdf.footer_template': 'options.footerTemplate',
  'pdf.page_ranges': 'options.pageRanges',
  pdf: 'options',
  referer: 'gotoOptions.referer',
  wait_for_function: 'waitForFunction',
  steps: 'waitForFunction',
  custom_js: 'addScriptTag',
  block_requests: 'rejectRequestPattern',
  proxy: 'launch.args',
  locale: 'launch.args',
  ignore_https_errors: 'launch.acceptInsecureCerts',
};

export const BROWSERLESS_ROUTES: readonly Route[] = [
  ...PREFIXES.flatMap((prefix) =>
    ENDPOINTS.flatMap((endpoint) => ['', '/'].map((end) => route(`${prefix}/${endpoint}${end}`, endpoint))),
  ),
  ...PREFIXES.flatMap((prefix) =>
    Object.entries(REFUSED).map(([path, instead]) => refusedRoute('POST', `${prefix}${path}`, instead)),
  ),
  ...SOCKETS.map((path) => refusedRoute('GET', path, NO_SOCKETS)),
  ...Object.entries(REFUSED_READS).map(([path, instead]) => refusedRoute('GET', path, instead)),
  readRoute('/active', async (_services, c) => new Response(null, { status: 204, headers: c.var.exchange.headers })),
  readRoute('/pressure', answerPressure),
];

function route(path: string, endpoint: Endpoint): Route {
  const handle = async (services: AppServices, c: Context<AppEnv>) => {
    await using request = await requestOf(services, c, endpoint);
    const data = await captureAs(services, c, { ...request, names: NAMES });
    return await answer(services, c, { data, ...request });
  };
  return compatibleRoute({ method: 'POST', path, keyOf, handle, refuse });
}

function refusedRoute(method: 'GET' | 'POST', path: string, instead: string): Route {
  return compatibleRoute({ method, path, keyOf, handle: () => Promise.reject(notFound(instead)), refuse });
}

/** A route that costs a read, not a submission. */
function readRoute(path: string, handle: CompatibleRoute['handle']): Route {
  return compatibleRoute({ method: 'GET', path, keyOf, handle, refuse, protection: { scope: null, meter: 'reads' } });
}

async function answerPressure(services: AppServices, c: Context<AppEnv>): Promise<Response> {
  const { ready, data } = await services.health();
  const { concurrency, maxQueue } = services.config;
  const queued = data.queue.total_pending - data.queue.active;
  const isFull = queued >= maxQueue;
  const isAvailable = ready && !services.draining() && !isFull;
  const message = isFull ? 'The queue is full' : isAvailable ? '' : (data.problem ?? 'No capture can be accepted');
  if (c.req.header('accept') === 'text/plain')
    return new Response(`${message}\n`, {
      status: isAvailable ? 200 : 503,
      headers: { ...c.var.exchange.headers, 'content-type': TEXT },
    });
  const pressure = {
    cpu: null,
    memory: null,
    date: services.now(),
    isAvailable,
    maxConcurrent: concurrency,
    maxQueued: maxQueue,
    message,
    queued,
    reason: isFull ? 'full' : '',
    recentlyRejected: 0,
    running: data.queue.active,
  };
  return jsonResponse(200, { pressure }, c.var.exchange.headers);
}

/** The key of `?token=`, or of the header `Authorization`: a Bearer token, or the name of Basic. */
function keyOf(c: Context<AppEnv>): string | null {
  const token = c.req.query('token') ?? '';
  if (token !== '') return token;
  const [scheme = '', given = ''] = (c.req.header('authorization') ?? '').split(/ +/, 2);
  if (/^bearer$/i.test(scheme)) return given;
  return /^basic$/i.test(scheme) ? Buffer.from(given, 'base64').toString().replace(':', '') : null;
}

/** @throws CaptureError `invalid_request`, `rate_limited` */
async function requestOf(services: AppServices, c: Context<AppEnv>, endpoint: Endpoint) {
  using body = await readCompatibleBody(services, c);
  const { html: htmlFile, ...others } = body.fields;
  const bytes = htmlFile instanceof Uint8Array && htmlFile.length > 0 ? htmlFile : null;
  const fields = bytes === null ? body.fields : { ...others, html: 'x' };
  const { draft, html, base64 } = readOptions(endpoint, new URL(c.req.url).searchParams, fields);
  const content = bytes ?? html;
  const isLarge = content !== null && Buffer.byteLength(content) > HTML_MAX_BYTES;
  if (content !== null && !isLarge) draft.html = Buffer.from(content).toString();
  const form = isLarge ? await documentForm(services, content) : undefined;
  return {
    endpoint,
    draft,
    base64,
    set: { document: endpoint === 'content' ? ('html' as const) : ('response' as const) },
    ...(form === undefined ? {} : { form }),
    [Symbol.asyncDispose]: async () => await form?.[Symbol.asyncDispose](),
  };
}

async function answer(
  services: AppServices,
  c: Context<AppEnv>,
  { data, endpoint, base64, draft }: { data: CaptureData; endpoint: Endpoint; base64: boolean; draft: Draft },
): Promise<Response> {
  const { headers } = c.var.exchange;
  if (draft.url !== undefined) {
    const { status } = data.response ?? { status: null };
    headers['x-response-url'] = data.finalUrl.slice(0, RESPONSE_URL_CHARS);
    if (status !== null)
      Object.assign(headers, { 'x-response-code': String(status), 'x-response-status': STATUS_CODES[status] ?? '' });
  }
  if (base64) {
    const artifact = await openPictureOf(services, data);
    const text = (await buffer(await artifact.read())).toString('base64');
    return new Response(text, { headers: { ...headers, 'content-type': TEXT } });
  }
  const caching = { cacheControl: 'no-store', conditional: false };
  return await answerPicture(services, c, {
    data,
    ...caching,
    ...(endpoint === 'content' ? { contentType: 'text/html; charset=UTF-8' } : {}),
  });
}

function refuse(error: StoredError, c: Context<AppEnv>): Response {
  if (error.status === 405) return answerFailure({ ...error, status: 404 }, c);
  const late = LATE.exec(error.message)?.[0];
  if (late !== undefined) return answerFailure({ ...error, message: late, status: 408 }, c);
  // It answers so when nothing matches `selector`.
  return answerFailure(error.details?.check === 'selector' ? { ...error, status: 400 } : error, c);
}

/** A JSON object, whose `html` may be bytes. Disposal gives up the place among the uploads. */
interface CompatibleBody extends Disposable {
  fields: Record<string, unknown>;
}

/**
 * Reads a JSON object, whose member `html` may be large.
 * @throws CaptureError `invalid_request`; `rate_limited` when too many large requests wait
 */
async function readCompatibleBody(services: AppServices, c: Context<AppEnv>): Promise<CompatibleBody> {
  const isSmall = Number(c.env.incoming.headers['content-length']) <= BODY_LIMIT_BYTES;
  const place = isSmall ? null : await services.uploads.places.wait(principalOf(c).accountId, clientOf(c));
  const dispose = () => place?.[Symbol.dispose]();
  try {
    const fields = await readLargeJson(services, c, { limitBytes: PAGE_FILES_MAX_BYTES, long: { html: 'text' } });
    if (!isObject(fields)) throw refusedBody('The body must be a JSON object.');
    return { fields, [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

/** A document as the file of a capture. Disposal is repeatable. */
async function documentForm({ uploads, submit }: AppServices, html: string | Uint8Array): Promise<SubmittableForm> {
  const form = await packFiles(uploads.dir, (files) =>
    files.addDocument(typeof html === 'string' ? Buffer.from(html) : html),
  );
  const dispose = () => form[Symbol.asyncDispose]();
  return {
    ...form,
    submit: (submission, context) => submit(submission, { ...context, pack: form.pack }).finally(dispose),
  };
}
