/**
 * The console: pages for the operator, made on the server. It does nothing that a key or a command could not do: captures go through the
 * submission path of the API. Loaded at the start of a server that has a console.
 */
import type { Context } from 'hono';
import {
  endConsoleSession,
  findConsoleSession,
  formTokenOf,
  isFormToken,
  LINK_MINUTES,
  openConsoleSession,
  SESSION_HOURS,
} from '../../account/console-access.js';
import { CaptureError, notFound, type StoredError } from '../../contract/capture-error.js';
import type { AppEnv, AppServices, ConsoleServices } from '../app-services.js';
import { noteError } from '../exchange.js';
import { failureOf, refuseOtherMethods } from '../guard.js';
import { refuseForeignPage } from '../own-site.js';
import { ARTIFACT_NAME, openArtifact, sendArtifact } from '../send-artifact.js';
import { accountsPage, createAccount, setQuota } from './accounts.js';
import { batchesPage, batchPage, removeBatchOfForm } from './batches.js';
import { capturePage, previewPicture, showSnippets, takePicture } from './capture.js';
import { comparePage, compareTwo } from './compare.js';
import { ErrorNotice } from './components.js';
import { readForm } from './form.js';
import { source as islands } from './in-browser/islands.js?bundled';
import { jobPage, redeliverJob, removeJobOfForm } from './job.js';
import { jobsPage } from './jobs.js';
import { createKey, createSigningSecret, keysPage, revokeKey } from './keys.js';
import { renderDocument } from './layout.js';
import { ICON, placeholder, STYLE } from './style.js';
import { endSessions, setQueue, systemPage } from './system.js';
import type { Answer, FormVisit, Page, Visit } from './visit.js';
import { actOnWatch, sendWatchForm, watchesPage, watchFormPage, watchPage } from './watches.js';

interface Request {
  services: AppServices;
  console: ConsoleServices;
  c: Context<AppEnv>;
}

type Step = (request: Request) => Response | Promise<Response>;

/** The steps at each path below /console/. */
export const PLACES: Record<string, { GET?: Step; POST?: Step }> = {
  '': { GET: page(async ({ c }) => ({ to: c.req.path.endsWith('/') ? 'capture' : 'console/capture' })) },
  enter: { GET: showLink, POST: openSession },
  'sign-out': { POST: form(signOut) },
  capture: { GET: page(capturePage), POST: form(takePicture) },
  compare: { GET: page(comparePage), POST: form(compareTwo) },
  'pictures/:name': { GET: page(showPicture) },
  'thumbnails/:name': { GET: page(showThumbnail) },
  preview: { POST: form(previewPicture) },
  snippets: { POST: form(showSnippets) },
  watches: { GET: page(watchesPage) },
  watch: { GET: page((visit) => watchPage(visit)), POST: form(actOnWatch) },
  'watch-form': { GET: page(watchFormPage), POST: form(sendWatchForm) },
  batches: { GET: page(batchesPage) },
  batch: { GET: page(batchPage) },
  'remove-batch': { POST: form(removeBatchOfForm) },
  jobs: { GET: page(jobsPage) },
  job: { GET: page(jobPage) },
  redeliver: { POST: form(redeliverJob) },
  'remove-job': { POST: form(removeJobOfForm) },
  keys: { GET: page(keysPage), POST: form(createKey) },
  'signing-secret': { POST: form(createSigningSecret) },
  'revoke-key': { POST: form(revokeKey) },
  accounts: { GET: page(accountsPage), POST: form(createAccount) },
  quota: { POST: form(setQuota) },
  system: { GET: page(systemPage) },
  queue: { POST: form(setQueue) },
  'end-sessions': { POST: form(endSessions) },
  'console.css': { GET: file('text/css; charset=utf-8', STYLE) },
  'console.js': { GET: file('text/javascript; charset=utf-8', islands) },
  'icon.svg': { GET: file('image/svg+xml', ICON) },
};

/** Answers a request to a path of the console; its errors are pages, too. @throws CaptureError `invalid_request` (404, 405) */
export async function answerConsole(request: Request): Promise<Response> {
  const { exchange } = request.c.var;
  const { method } = request.c.req;
  const path = request.c.req.path.replace(/^\/console\/?/, '').replace(/^(pictures|thumbnails)\/[^/]+$/, '$1/:name');
  const steps = Object.hasOwn(PLACES, path) ? PLACES[path] : undefined;
  if (steps === undefined) throw notFound('No such path');
  exchange.route = path === '' ? '/console' : `/console/${path}`;
  refuseOtherMethods(request.c, Object.keys(steps));
  try {
    const step = method === 'POST' ? steps.POST : steps.GET;
    if (step === undefined) throw notFound('No such path');
    return await step(request);
  } catch (thrown) {
    return answerPage(request, errorPage(noteError(request.services, exchange, thrown), exchange.requestId), null);
  }
}

/** A page for somebody with a session. */
function page(show: (visit: Visit) => Promise<Answer>): Step {
  return async (request) => {
    const session = await sessionOf(request);
    if (session === null) return locked(request);
    return answer(request, await show({ ...request, ...session }), session.formToken);
  };
}

/** A form of a session. */
function form(act: (visit: FormVisit) => Promise<Answer>): Step {
  return async (request) => {
    const session = await sessionOf(request);
    if (session === null) return locked(request);
    refuseForeignForm(request);
    const sent = await readForm(request.c.env.incoming);
    if (!isFormToken(sent.value('token'), session.secret)) throw foreignForm();
    return answer(request, await act({ ...request, ...session, form: sent }), session.formToken);
  };
}

/** Pages name the version, so that an upgrade takes effect at once. */
const FILE_MAX_AGE_SECONDS = 3_600;

/** Serves a file that the pages load. It is the same for everybody, so no session is needed. */
function file(type: string, content: string): Step {
  return ({ c }) => {
    const { headers } = c.var.exchange;
    headers['content-type'] = type;
    headers['content-security-policy'] = "default-src 'none'";
    headers['cross-origin-resource-policy'] = 'same-origin';
    headers['cache-control'] = `public, max-age=${FILE_MAX_AGE_SECONDS}`;
    return new Response(content, { headers });
  };
}

/** Only resources of this server, nothing inline, no frames; forms are sent to this server only. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

function answer(request: Request, answered: Answer, formToken: string): Response {
  if ('to' in answered) return redirect(request, answered.to);
  // Not by `instanceof`: the adaptor's answer for what has been sent already is of another class.
  return 'title' in answered ? answerPage(request, answered, formToken) : answered;
}

function answerPage({ c, services }: Request, page: Page, formToken: string | null): Response {
  const { headers } = c.var.exchange;
  headers['content-type'] = 'text/html; charset=utf-8';
  headers['content-security-policy'] = POLICY;
  headers['x-frame-options'] = 'DENY';
  headers['cross-origin-opener-policy'] = 'same-origin';
  headers['cross-origin-resource-policy'] = 'same-origin';
  // With `no-referrer`, browsers would send forms with `Origin: null`.
  headers['referrer-policy'] = 'same-origin';
  const html = renderDocument({ page: page, version: services.config.version, formToken });
  return new Response(html, { status: page.status ?? 200, headers });
}

function redirect({ c }: Request, to: string): Response {
  const { headers } = c.var.exchange;
  headers.location = to;
  return new Response(null, { status: 303, headers });
}

/** A failed request, as the API would report it. */
function errorPage(error: StoredError, requestId: string): Page {
  return {
    title: 'That did not work',
    section: null,
    status: error.status,
    body: (
      <section class="card narrow">
        <ErrorNotice error={error} />
        <p class="hint">
          Request <code>{requestId}</code>
        </p>
        <p>
          <a href="capture">Back to the console</a>
        </p>
      </section>
    ),
  };
}

/** A picture through this server, also if it is in a bucket: the pages may load nothing from elsewhere. */
async function showPicture({ services, c }: Visit): Promise<Answer> {
  const name = c.req.path.split('/').at(-1) ?? '';
  const artifact = await openArtifact(services, name);
  return await sendArtifact(services, c, {
    name,
    artifact,
    cacheControl: 'private, max-age=600',
    conditional: true,
    mayRedirect: false,
  });
}

const THUMBNAIL_MAX_AGE_SECONDS = 600;

/** A small version of a picture, or a drawing that says why there is none: a list of pictures has no broken ones. */
async function showThumbnail({ console, c }: Visit): Promise<Answer> {
  const name = c.req.path.split('/').at(-1) ?? '';
  const found = ARTIFACT_NAME.test(name) ? await console.thumbnail(name) : null;
  if (found === null) throw notFound('No such artifact');
  const isPicture = typeof found !== 'string';
  const { headers } = c.var.exchange;
  headers['content-type'] = isPicture ? 'image/webp' : 'image/svg+xml';
  headers['content-security-policy'] = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
  headers['cache-control'] = found === 'busy' ? 'no-store' : `private, max-age=${THUMBNAIL_MAX_AGE_SECONDS}`;
  return new Response(
    isPicture ? new Uint8Array(found) : placeholder(found === 'busy' ? 'Not ready yet' : `Picture ${found}`),
    {
      headers,
    },
  );
}

const COOKIE = 'stillframe_console';
/** A browser sends several if a cookie of the same name was set for another path. */
const COOKIES_MAX = 3;

/** The secret of the session that a request belongs to, and what its forms contain; null without a session. */
async function sessionOf({ services, c }: Request): Promise<{ secret: string; formToken: string } | null> {
  const cookies = (c.env.incoming.headers.cookie ?? '').split(';').map((part) => part.trim().split('=', 2));
  const secrets = cookies.flatMap(([name, value]) => (name === COOKIE ? [value ?? ''] : []));
  for (const secret of secrets.slice(0, COOKIES_MAX)) {
    if ((await findConsoleSession(services.store, secret, services.now())) !== null)
      return { secret, formToken: formTokenOf(secret) };
  }
  return null;
}

/**
 * `Path` is left out: browsers take the directory of the page that sets the cookie, which is that of the console, also below the path
 * prefix of a proxy.
 */
function setCookie({ c }: Pick<Request, 'c'>, secret: string, maxAgeSeconds: number): void {
  const isSecure = c.env.incoming.headers.origin?.startsWith('https:') === true;
  c.var.exchange.headers['set-cookie'] =
    `${COOKIE}=${secret}; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${isSecure ? '; Secure' : ''}`;
}

/** @throws CaptureError `forbidden` for a form that a page of another origin sends, or no page */
function refuseForeignForm({ services, c }: Request): void {
  refuseForeignPage(services, c);
  if (c.env.incoming.headers.origin === undefined) throw foreignForm();
}

function foreignForm(): CaptureError {
  return new CaptureError({
    code: 'forbidden',
    message: 'This form was not sent by a page of this console. Open the page again.',
  });
}

/** Exchanges a link for a session. A wrong one counts as a failed authentication. */
async function openSession(request: Request): Promise<Response> {
  const { services, c } = request;
  refuseForeignForm(request);
  const sent = await readForm(c.env.incoming);
  const session = await openConsoleSession(services.store, sent.value('link'), services.now());
  if (session === null) {
    const refused = new CaptureError({
      code: 'unauthorized',
      message: 'This link is invalid, has expired, or has already been used.',
    });
    const failure = failureOf(services, c, refused, 'unauthorized');
    if (failure !== refused) throw failure;
    return answerPage(request, lockedPage(refused.message), null);
  }
  setCookie(request, session.secret, Math.floor((session.expiresAt - services.now()) / 1_000));
  return redirect(request, 'capture');
}

async function signOut(visit: FormVisit): Promise<Answer> {
  await endConsoleSession(visit.services.store, visit.secret);
  setCookie(visit, '', 0);
  return { to: 'enter' };
}

function locked(request: Request): Response {
  // A 401 names a scheme (RFC 9110, 11.6.1); no browser asks for a password for this one.
  request.c.var.exchange.headers['www-authenticate'] = 'StillframeConsole';
  return answerPage(request, lockedPage(), null);
}

/** The page of a link. Opening it uses nothing up, so that a preview of the link does not; its button does. */
function showLink(request: Request): Response {
  const link = request.c.req.query('token') ?? '';
  if (link === '') return answerPage(request, lockedPage(), null);
  const body = (
    <section class="card narrow">
      <p>
        This link can be used once. It opens the console in this browser for {SESSION_HOURS} hours, with access to all
        accounts, keys and jobs of this server.
      </p>
      <form method="post" action="enter">
        <input type="hidden" name="link" value={link} />
        <button type="submit" class="primary" autofocus>
          Open the console
        </button>
      </form>
    </section>
  );
  return answerPage(request, { title: 'Open the console', section: null, body }, null);
}

/** The page of everybody without a session. @param problem why a link did not work */
function lockedPage(problem: string | null = null): Page {
  return {
    title: 'The console is locked',
    section: null,
    status: 401,
    body: (
      <section class="card narrow">
        {problem === null ? null : (
          <p class="notice bad" role="alert">
            {problem}
          </p>
        )}
        <p>On the server, make a link and open it here:</p>
        <pre>
          <code>stillframe console</code>
        </pre>
        <p class="hint">
          A link works once, within {LINK_MINUTES} minutes. Give the command the same settings as the server, such as{' '}
          <code>--data-dir</code>.
        </p>
      </section>
    ),
  };
}
