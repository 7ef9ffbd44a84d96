import { type Deadline, pause } from './deadline.js';
import { readAnswer, retryAfterOf } from './read-answer.js';
import { reportedError, StillframeError } from './stillframe-error.js';
import type { Transport } from './transport.js';
import type { CaptureData, JobSnapshot } from './wire.js';

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
    const asked = retryAfterOf(headers);
    await pause(asked === undefined ? ms : Math.max(asked * 1000, FIRST_PAUSE_MS), deadline.signal);
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
