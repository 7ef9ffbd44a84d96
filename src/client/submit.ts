import type { CaptureRequest } from './capture-request.js';
import type { Deadline } from './deadline.js';
import { type Answer, readAnswer, retryAfterOf } from './read-answer.js';
import { StillframeError } from './stillframe-error.js';
import type { Transport } from './transport.js';
import { type Picture, toPicture, waitForJob } from './wait-for-job.js';
import type { AcceptedJob, CaptureData } from './wire.js';

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
export async function captureAndWait(transport: Transport, submission: Submission, deadline: Deadline): Promise<Picture> {
  let jobId: string | null = null;
  try {
    const answer = await post(transport, { submission, query: '' }, deadline);
    jobId = jobIdOf(answer);
    if (!isJob(answer.data)) return toPicture(answer.data, jobId);
    return await waitForJob(transport, { jobId: answer.data.job_id, after: retryAfterOf(answer.headers) ?? FIRST_CHECK_S }, deadline);
  } catch (thrown) {
    throw withIds(thrown, { jobId, idempotencyKey: submission.idempotencyKey });
  }
}

/**
 * Submits without waiting. The job of a repeated submission, or of one that the cache answers, may be `completed` already.
 * @throws StillframeError
 */
export async function submitOnly(transport: Transport, submission: Submission, deadline: Deadline): Promise<AcceptedJob> {
  try {
    const answer = await post(transport, { submission, query: '?mode=async' }, deadline);
    if (isJob(answer.data)) return answer.data;
    const { job_id: id } = toPicture(answer.data, jobIdOf(answer));
    return { job_id: id, state: 'completed', poll_url: `/v1/jobs/${id}` };
  } catch (thrown) {
    throw withIds(thrown, { jobId: null, idempotencyKey: submission.idempotencyKey });
  }
}

function post(transport: Transport, { submission, query }: { submission: Submission; query: string }, deadline: Deadline) {
  return transport.send<SubmissionAnswer>(
    {
      method: 'POST',
      to: `/v1/screenshot${query}`,
      headers: { 'idempotency-key': submission.idempotencyKey },
      body: JSON.stringify(submission.request),
      repeatable: true,
      read: readAnswer,
    },
    deadline,
  );
}

function isJob(data: CaptureData | AcceptedJob): data is AcceptedJob {
  return 'job_id' in data && 'poll_url' in data;
}

function jobIdOf({ data, headers }: SubmissionAnswer): string | null {
  return isJob(data) ? data.job_id : headers.get('x-job-id');
}

/** Adds to an error the ids with which the caller can resume the call. */
function withIds(thrown: unknown, { jobId, idempotencyKey }: { jobId: string | null; idempotencyKey: string }): unknown {
  if (thrown instanceof StillframeError) {
    thrown.jobId ??= jobId;
    thrown.idempotencyKey = idempotencyKey;
  }
  return thrown;
}
