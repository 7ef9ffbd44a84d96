import type { Child } from 'hono/jsx';
import type { Principal } from '../../account/authenticate.js';
import type { ApiKey } from '../../capture/app-store.js';
import { CaptureError, type StoredError } from '../../contract/capture-error.js';
import { FIELD_LIST } from '../../contract/field-list.js';
import type { JobSnapshot } from '../../contract/job.js';
import { printedOnPaper } from '../../contract/pdf-schema.js';
import { isLinkField } from '../../contract/render-link.js';
import { readRequestJson } from '../../contract/request-json.js';
import { invalidField, parseSubmission, type Submission, type SubmissionRules } from '../../contract/submission.js';
import type { AppServices } from '../app-services.js';
import { noteError } from '../exchange.js';
import { enforceLimits, SUBMISSIONS } from '../guard.js';
import { refuseWhenDraining, submitAndWait } from '../submit-and-wait.js';
import { CaptureForm } from './capture-form.js';
import { ErrorNotice, LiveStatus } from './components.js';
import { type Form, formOf } from './form.js';
import { readCaptureForm } from './form-fields.js';
import { JobResult } from './job-result.js';
import { duration } from './say.js';
import { Snippets } from './snippets.js';
import { pictureAt, pictureOf } from './viewer.js';
import type { Answer, FormVisit, Visit } from './visit.js';

const EXAMPLE_URL = 'https://example.com/';

/** The form; a query fills in options, but none that a link must not have. */
export async function capturePage(visit: Visit): Promise<Answer> {
  const fields = Object.entries(visit.c.req.query()).filter(([name]) => isLinkField(name));
  return await show(visit, { form: fields.length === 0 ? null : formOf(fields) });
}

/**
 * Takes a picture as POST /v1/screenshot does, with a key that the operator picks: its scope, rate limit and credits count. A failure is
 * shown with the form, at the fields that it is about.
 */
export async function takePicture(visit: FormVisit): Promise<Answer> {
  const { form, services, c } = visit;
  try {
    return await show(visit, { form, job: await capture(visit, bodyOf(form)) });
  } catch (thrown) {
    if (!(thrown instanceof CaptureError)) throw thrown;
    return await show(visit, { form, error: noteError(services, c.var.exchange, thrown) });
  }
}

/** The form as code, for the page while it is filled in. Nothing is captured, so nothing is charged. */
export async function showSnippets({ services, form }: FormVisit): Promise<Answer> {
  const body = bodyOf(form);
  const problem = ['url', 'html', 'template'].every((name) => form.value(name) === '')
    ? null
    : problemIn(services, body);
  const snippets = (
    <Snippets body={body} baseUrl={services.places.baseUrl} chosen={form.value('snippet')} problem={problem} />
  );
  return { title: 'The same request', section: 'capture', body: snippets };
}

function problemIn(services: AppServices, body: Record<string, unknown>): string | null {
  try {
    parse(services, body, 'elsewhere');
    return null;
  } catch (thrown) {
    if (thrown instanceof CaptureError) return thrown.message;
    throw thrown;
  }
}

/** A small picture of the view with the options of the form. It is charged like a capture of a view, or is taken from the cache. */
export async function previewPicture(visit: FormVisit): Promise<Answer> {
  const { services, form, c } = visit;
  try {
    const job = await capture(visit, asPreview(bodyOf(form)));
    return { title: 'Preview', section: 'capture', body: <Preview job={job} /> };
  } catch (thrown) {
    if (!(thrown instanceof CaptureError)) throw thrown;
    const error = noteError(services, c.var.exchange, thrown);
    return {
      title: 'Preview',
      section: 'capture',
      body: (
        <PreviewResult>
          <ErrorNotice error={error} />
        </PreviewResult>
      ),
    };
  }
}

function Preview({ job }: { job: JobSnapshot }) {
  const picture = pictureOf(job);
  const outcome = job.result?.outcome;
  return (
    <PreviewResult>
      {picture === null ? null : <img src={pictureAt(picture.artifact)} alt={`Preview of ${picture.finalUrl}`} />}
      {outcome?.ok === false ? <ErrorNotice error={outcome.error} /> : null}
      <p class="hint">
        {picture === null
          ? ''
          : picture.cached
            ? 'From the cache, not charged. '
            : `Taken in ${duration(picture.durationMs)}. `}
        <a href={`job?id=${job.id}`}>{job.result === null ? 'It takes longer: follow the job' : 'Show the job'}</a>
      </p>
    </PreviewResult>
  );
}

/** The part of the answer that the page inserts (in-browser/islands.ts). */
function PreviewResult({ children }: { children?: Child }) {
  return <div id="preview-result">{children}</div>;
}

const PREVIEW_WIDTH = 640;
/** A preview has nothing of the file, of paper, or of what happens to the result, such as an upload. */
const NOT_PREVIEWED = new Set(['Output', 'PDF', 'Motion', 'Result and callback']);
/** Fields that apply to the whole page, to the size of the picture or to several pictures; steps could send a form again and again. */
const NOT_OF_VIEW = new Set(
  'full_width max_height resize min_capture_bytes min_capture_height steps captures viewports color_schemes'.split(' '),
);

/** The request for a small picture of the view, which costs 1 credit. */
function asPreview(body: Record<string, unknown>): Record<string, unknown> {
  const kept = FIELD_LIST.filter(
    ({ name, group = 'Output', price }) =>
      name in body && price === undefined && !NOT_PREVIEWED.has(group) && !NOT_OF_VIEW.has(name),
  );
  return {
    ...Object.fromEntries(kept.map(({ name }) => [name, body[name]])),
    format: 'webp',
    resize: { width: PREVIEW_WIDTH },
  };
}

function bodyOf(form: Form): Record<string, unknown> {
  return printedOnPaper(readCaptureForm(form));
}

/** Charges a submission to the key that the operator has picked. @throws CaptureError as a submission with that key */
export async function chargeToKey({ services, c, form }: FormVisit): Promise<Principal> {
  const key = await services.store.findKey(form.value('key'));
  if (key === null || key.revokedAt !== null) throw invalidField('key', 'must be a key that has not been revoked');
  const principal = { keyId: key.id, accountId: key.accountId, scopes: key.scopes };
  enforceLimits(services, c, { principal, protection: SUBMISSIONS });
  refuseWhenDraining(services);
  return principal;
}

/** The keys that submissions can be charged to. */
export async function capturingKeys({ store }: AppServices): Promise<ApiKey[]> {
  return (await store.listKeys()).filter((key) => key.revokedAt === null && key.scopes.includes('screenshot:write'));
}

/** Captures with the key that the operator has picked. @throws CaptureError */
export async function capture(visit: FormVisit, body: Record<string, unknown>): Promise<JobSnapshot> {
  const { services, c } = visit;
  const template = await services.templates.find(body, await chargeToKey(visit));
  return await submitAndWait(services, c, { submission: parse(services, body, template), idempotencyKey: null });
}

/** @throws CaptureError as a submission */
function parse(
  { config }: AppServices,
  body: Record<string, unknown>,
  template: SubmissionRules['template'],
): Submission {
  return parseSubmission(readRequestJson(Buffer.from(JSON.stringify(body))), {
    ...config,
    forceAsync: false,
    template,
  });
}

interface Shown {
  form: Form | null;
  job?: JobSnapshot;
  error?: StoredError;
}

async function show(visit: Visit, { form, job, error }: Shown): Promise<Answer> {
  const { services, formToken } = visit;
  const keys = await capturingKeys(services);
  const body = form === null ? {} : bodyOf(form);
  const aside = (
    <>
      <PreviewCard />
      <Snippets
        body={form?.has('url') ? body : { url: EXAMPLE_URL, ...body }}
        baseUrl={services.places.baseUrl}
        chosen={form?.value('snippet') ?? ''}
      />
    </>
  );
  return {
    title: 'Capture',
    section: 'capture',
    status: error?.status,
    body: (
      <div class="stack">
        {job?.result === null ? <LiveStatus /> : null}
        {job === undefined ? null : <JobResult job={job} baseUrl={services.places.baseUrl} aboveForm />}
        <CaptureForm {...{ formToken, keys, form, aside, error: error ?? null }} />
      </div>
    ),
  };
}

/** Scripts show it (in-browser/islands.ts): without them, the picture itself is one click away. */
function PreviewCard() {
  return (
    <section class="card preview" data-preview hidden>
      <h2>Preview</h2>
      <div class="frame" data-preview-frame aria-live="polite">
        <p class="hint">No preview yet.</p>
      </div>
      <p class="row">
        <button type="button" data-preview-take>
          Preview
        </button>
        <button type="button" data-preview-cancel hidden>
          Cancel
        </button>
        <span class="choice">
          <input type="checkbox" id="live" aria-describedby="h-live" />
          <label for="live">Preview as I type</label>
        </span>
      </p>
      <p class="hint" id="h-live">
        A small picture of the view. Each one costs 1 credit of the chosen key; the same one again is taken from the
        cache and costs nothing.
      </p>
    </section>
  );
}
