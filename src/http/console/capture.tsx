import { CaptureError, type StoredError, toStoredError } from '../../contract/capture-error.js';
import type { JobSnapshot } from '../../contract/job.js';
import { printedOnPaper } from '../../contract/paper-default.js';
import { readRequestJson } from '../../contract/request-json.js';
import { invalidRequest, parseSubmission, type RequestIssue, type Submission } from '../../contract/submission.js';
import type { AppServices } from '../app-services.js';
import { enforceLimits } from '../guard.js';
import { refuseWhenDraining, submitAndSettle } from '../submit-and-settle.js';
import { CaptureForm } from './capture-form.js';
import { curlLine } from './curl-line.js';
import { type Form, formOf } from './form.js';
import { JobResult } from './job-result.js';
import { LiveStatus } from './live.js';
import { noteFailure } from './note-failure.js';
import { readCaptureForm } from './read-capture-form.js';
import type { Answer, FormVisit, Visit } from './visit.js';

/** The form; `?url=` fills in the address. */
export async function capturePage(visit: Visit): Promise<Answer> {
  const url = visit.c.req.query('url') ?? '';
  return await show(visit, { form: url === '' ? null : formOf([['url', url]]) });
}

/**
 * Takes a picture as POST /v1/screenshot does, with a key that the operator picks: its scope, rate limit and credits count. A failure is
 * shown with the form, at the fields that it is about.
 */
export async function takePicture(visit: FormVisit): Promise<Answer> {
  const { form, services } = visit;
  const { body: given, issues } = readCaptureForm(form);
  const body = printedOnPaper(given, firstLanguage(visit.c.req.header('accept-language')));
  const curl = curlLine(body, services.places.baseUrl);
  try {
    return await show(visit, { form, curl, job: await capture(visit, body, issues) });
  } catch (thrown) {
    if (!(thrown instanceof CaptureError)) throw thrown;
    noteFailure(services, visit.c.var.exchange, thrown);
    return await show(visit, { form, curl, error: toStoredError(thrown) });
  }
}

/** Browsers name the reader's own language first. */
function firstLanguage(acceptLanguage = ''): string {
  return acceptLanguage.split(/[,;]/, 1)[0]?.trim() ?? '';
}

async function capture(visit: FormVisit, body: Record<string, unknown>, issues: RequestIssue[]): Promise<JobSnapshot> {
  const { services, c, form } = visit;
  const key = await services.store.findKey(form.value('key'));
  if (key === null || key.revokedAt !== null) throw invalidRequest([{ path: 'key', message: 'must be a key that has not been revoked' }]);
  const principal = { keyId: key.id, accountId: key.accountId, scopes: key.scopes };
  enforceLimits(services, c, { principal, protection: { scope: 'screenshot:write', meter: 'submissions' } });
  refuseWhenDraining(services);
  const submission = readSubmission(services, body, issues);
  return await submitAndSettle(services, c, { submission, idempotencyKey: null });
}

/** By the rules of the API, and with all problems at once. @throws CaptureError as `parseSubmission` */
function readSubmission(services: AppServices, body: Record<string, unknown>, issues: readonly RequestIssue[]): Submission {
  try {
    const submission = parseSubmission(readRequestJson(Buffer.from(JSON.stringify(body))), { ...services.config, forceAsync: false });
    if (issues.length > 0) throw invalidRequest([...issues]);
    return submission;
  } catch (thrown) {
    if (issues.length === 0 || !(thrown instanceof CaptureError)) throw thrown;
    const others = (thrown.details?.issues ?? []) as RequestIssue[];
    throw invalidRequest([...issues, ...others.filter((other) => !issues.includes(other))]);
  }
}

interface Shown {
  form: Form | null;
  curl?: string;
  job?: JobSnapshot;
  error?: StoredError;
}

async function show({ services, formToken }: Visit, { form, curl, job, error }: Shown): Promise<Answer> {
  const keys = (await services.store.listKeys()).filter((key) => key.revokedAt === null && key.scopes.includes('screenshot:write'));
  return {
    title: 'Capture',
    section: 'capture',
    ...(error === undefined ? {} : { status: error.status }),
    body: (
      <>
        {job === undefined || job.result !== null ? null : <LiveStatus />}
        {job === undefined ? null : (
          <section class="taken" aria-label="Result">
            <JobResult job={job} baseUrl={services.places.baseUrl} aboveForm />
            <Curl line={curl ?? ''} />
          </section>
        )}
        <CaptureForm {...{ formToken, keys, form, error: error ?? null }} />
        {job === undefined && curl !== undefined ? <Curl line={curl} /> : null}
      </>
    ),
  };
}

function Curl({ line }: { line: string }) {
  return (
    <section class="card curl">
      <h2>The same request</h2>
      <pre>
        <code id="curl">{line}</code>
      </pre>
      <button type="button" class="quiet" data-copy="curl" hidden>
        Copy
      </button>
    </section>
  );
}
