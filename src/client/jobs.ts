/** Captures, their jobs, and the deliveries of their webhooks. */
import { type CaptureRequest, checkedObject } from './call-options.js';
import { type Deadline, pause } from './deadline.js';
import { type Answer, readAnswer, retryAfterOf } from './read-answer.js';
import { reportedError, StillframeError } from './stillframe-error.js';
import type { Transport } from './transport.js';
import type { AcceptedJob, CaptureData, JobSnapshot, WebhookDelivery } from './wire.js';

/** Seconds until the first check of a job that is still running after a synchronous submission. */
const FIRST_CHECK_S = 1;

export interface Submission {
  request: CaptureRequest;
  idempotencyKey: string;
}

type SubmissionAnswer = Answer<CaptureData | AcceptedJob>;

/**
 * Captures and waits for the end, whether the server answers with the capture or with a job.
 * @throws StillframeError
 */
export async function captureAndWait(
  transport: Transport,
  submission: Submission,
  deadline: Deadline,
): Promise<Picture> {
  let jobId: string | null = null;
  try {
    const answer = await post(transport, { submission, query: '' }, deadline);
    jobId = jobIdOf(answer);
    if (!isJob(answer.data)) return toPicture(answer.data, jobId);
    return await waitForJob(
      transport,
      { jobId: answer.data.job_id, after: retryAfterOf(answer.headers) ?? FIRST_CHECK_S },
      deadline,
    );
  } catch (thrown) {
    throw withIds(thrown, { jobId, idempotencyKey: submission.idempotencyKey });
  }
}

/**
 * Submits without waiting. The job of a repeated submission, or of one that the cache answers, may be `completed` already.
 * @throws StillframeError
 */
export async function submitOnly(
  transport: Transport,
  submission: Submission,
  deadline: Deadline,
): Promise<AcceptedJob> {
  try {
    const answer = await post(transport, { submission, query: '?mode=async' }, deadline);
    if (isJob(answer.data)) return answer.data;
    const { job_id: id } = toPicture(answer.data, jobIdOf(answer));
    return { job_id: id, state: 'completed', poll_url: `/v1/jobs/${id}` };
  } catch (thrown) {
    throw withIds(thrown, { jobId: null, idempotencyKey: submission.idempotencyKey });
  }
}

function post(
  transport: Transport,
  { submission, query }: { submission: Submission; query: string },
  deadline: Deadline,
) {
  return transport.send<SubmissionAnswer>(
    {
      method: 'POST',
      to: `/v1/screenshot${query}`,
      headers: { 'idempotency-key': submission.idempotencyKey },
      body: bodyOf(submission.request),
      repeatable: true,
      read: readAnswer,
    },
    deadline,
  );
}

/** Files are sent as a form, with the other fields as its part `request`. */
function bodyOf(request: CaptureRequest): string | FormData {
  if (!('files' in request) || request.files === undefined) return JSON.stringify(request);
  const { files, ...fields } = request;
  const form = new FormData();
  form.append('request', JSON.stringify(fields));
  for (const [name, content] of Object.entries(checkedObject(files, 'files')))
    form.append('files', new Blob([content]), name);
  return form;
}

function isJob(data: CaptureData | AcceptedJob): data is AcceptedJob {
  return 'job_id' in data && 'poll_url' in data;
}

function jobIdOf({ data, headers }: SubmissionAnswer): string | null {
  return isJob(data) ? data.job_id : headers.get('x-job-id');
}

/** Adds to an error the ids with which the caller can resume the call. */
function withIds(
  thrown: unknown,
  { jobId, idempotencyKey }: { jobId: string | null; idempotencyKey: string },
): unknown {
  if (thrown instanceof StillframeError) {
    thrown.jobId ??= jobId;
    thrown.idempotencyKey = idempotencyKey;
  }
  return thrown;
}

/** Delays between checks: about once per second initially, then slower (interface.md, Limits). */
const FIRST_PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 5_000;
const GROWTH = 1.3;

/** A finished capture. */
export interface Picture extends CaptureData {
  /** Location of the picture; it needs no API key. */
  cdn_url: string;
  job_id: string;
}

export interface Wait {
  jobId: string;
  /** Seconds before the first check. */
  after: number;
}

/**
 * Polls a job until it has ended, as often as the server's `Retry-After` says, or else less and less often.
 * @throws StillframeError of the capture, if it failed
 */
export async function waitForJob(transport: Transport, { jobId, after }: Wait, deadline: Deadline): Promise<Picture> {
  let ms = FIRST_PAUSE_MS;
  if (after > 0) await pause(after * 1000, deadline.signal);
  for (;;) {
    const { data: job, headers } = await transport.send(jobCall(`/v1/jobs/${encodeURIComponent(jobId)}`), deadline);
    if (job.result !== undefined) return pictureOf(job);
    const retryAfter = retryAfterOf(headers);
    await pause(retryAfter === undefined ? ms : Math.max(retryAfter * 1000, FIRST_PAUSE_MS), deadline.signal);
    ms = Math.min(PAUSE_MAX_MS, ms * GROWTH);
  }
}

export function jobCall(to: string) {
  return { method: 'GET', to, repeatable: true, read: readAnswer<JobSnapshot> } as const;
}

/**
 * Returns the picture of a job that has ended.
 * @throws StillframeError of the capture, if it failed
 */
function pictureOf({ id, result }: JobSnapshot): Picture {
  if (result?.ok === true && result.data !== undefined) return toPicture(result.data, id);
  if (result?.error !== undefined) throw reportedError(result.error, { jobId: id });
  throw incomplete('The job has ended without a result.');
}

/** @throws StillframeError `unexpected_response` */
export function toPicture(data: CaptureData, jobId: string | null): Picture {
  const { cdn_url: cdnUrl } = data;
  if (cdnUrl === undefined || jobId === null) throw incomplete('The capture has no `cdn_url`, or no job.');
  return { ...data, cdn_url: cdnUrl, job_id: jobId };
}

function incomplete(message: string): StillframeError {
  return new StillframeError({ code: 'unexpected_response', message, retriable: false });
}

/** The delivery status of a job's webhook, with the ETag of its generation. */
export interface Delivery extends WebhookDelivery {
  etag: string;
}

/** @throws StillframeError `invalid_request` with status 404 if the job has no webhook */
export async function readDelivery(transport: Transport, jobId: string, deadline: Deadline): Promise<Delivery> {
  const read = readAnswer<WebhookDelivery>;
  return withEtag(await transport.send({ method: 'GET', to: pathOf(jobId), repeatable: true, read }, deadline));
}

/**
 * Sends the result again, at most once per ETag.
 * @throws StillframeError `invalid_request` with status 409 and `details.reason`
 */
export async function redeliver(
  transport: Transport,
  { jobId, etag }: { jobId: string; etag: string },
  deadline: Deadline,
): Promise<Delivery> {
  const call = {
    method: 'POST',
    to: `${pathOf(jobId)}/redeliver`,
    headers: { 'if-match': etag },
    // A second request with the same ETag would be refused, although the first one has arrived.
    repeatable: false,
    read: readAnswer<WebhookDelivery>,
  } as const;
  return withEtag(await transport.send(call, deadline));
}

function withEtag({ data, headers }: Answer<WebhookDelivery>): Delivery {
  return { ...data, etag: headers.get('etag') ?? '' };
}

function pathOf(jobId: string): string {
  return `/v1/jobs/${encodeURIComponent(jobId)}/webhook`;
}
