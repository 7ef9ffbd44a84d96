import type { Principal } from '../../account/authenticate.js';
import type { ApiKey } from '../../capture/app-store.js';
import { CaptureError, type StoredError } from '../../contract/capture-error.js';
import type { JobSnapshot } from '../../contract/job.js';
import { printedOnPaper } from '../../contract/pdf-schema.js';
import { readRequestJson } from '../../contract/request-json.js';
import { invalidRequest, parseSubmission } from '../../contract/submission.js';
import type { AppServices } from '../app-services.js';
import { noteError } from '../envelope.js';
import { enforceLimits, SUBMISSIONS } from '../guard.js';
import { refuseWhenDraining, submitAndWait } from '../submit-and-wait.js';
import { CaptureForm } from './capture-form.js';
import { Copyable, LiveStatus } from './components.js';
import { type Form, formOf } from './form.js';
import { curlLine, readCaptureForm } from './form-fields.js';
import { JobResult } from './job-result.js';
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
  const { form, services, c } = visit;
  // Browsers name the reader's own language first.
  const language = c.req.header('accept-language')?.split(/[,;]/, 1)[0]?.trim() ?? '';
  const body = printedOnPaper(readCaptureForm(form), language);
  const curl = curlLine(body, services.places.baseUrl);
  try {
    return await show(visit, { form, curl, job: await capture(visit, body) });
  } catch (thrown) {
    if (!(thrown instanceof CaptureError)) throw thrown;
    return await show(visit, { form, curl, error: noteError(services, c.var.exchange, thrown) });
  }
}

/** Charges a submission to the key that the operator has picked. @throws CaptureError as a submission with that key */
export async function chargeToKey({ services, c, form }: FormVisit): Promise<Principal> {
  const key = await services.store.findKey(form.value('key'));
  if (key === null || key.revokedAt !== null) throw invalidRequest([{ path: 'key', message: 'must be a key that has not been revoked' }]);
  const principal = { keyId: key.id, accountId: key.accountId, scopes: key.scopes };
  enforceLimits(services, c, { principal, protection: SUBMISSIONS });
  refuseWhenDraining(services);
  return principal;
}

/** The keys that submissions can be charged to. */
export async function capturingKeys({ store }: AppServices): Promise<ApiKey[]> {
  return (await store.listKeys()).filter((key) => key.revokedAt === null && key.scopes.includes('screenshot:write'));
}

async function capture(visit: FormVisit, body: Record<string, unknown>): Promise<JobSnapshot> {
  const { services, c } = visit;
  await chargeToKey(visit);
  const submission = parseSubmission(readRequestJson(Buffer.from(JSON.stringify(body))), { ...services.config, forceAsync: false });
  return await submitAndWait(services, c, { submission, idempotencyKey: null });
}

interface Shown {
  form: Form | null;
  curl?: string;
  job?: JobSnapshot;
  error?: StoredError;
}

async function show({ services, formToken }: Visit, { form, curl, job, error }: Shown): Promise<Answer> {
  const keys = await capturingKeys(services);
  return {
    title: 'Capture',
    section: 'capture',
    status: error?.status,
    body: (
      <>
        {job?.result === null ? <LiveStatus /> : null}
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
      <Copyable id="curl" text={line} />
    </section>
  );
}
