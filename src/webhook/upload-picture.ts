/**
 * Sends the picture of a finished capture to the address that its caller gave, such as a presigned one of a bucket. The address is a secret:
 * results have it without its query, and the log has its origin only.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { UploadResult } from '../contract/capture-data.js';
import type { CallbackMethod } from '../contract/capture-request.js';
import { webhookUrlProblem } from '../contract/read-url.js';
import type { Egress } from '../egress/egress.js';
import type { Log } from '../log.js';
import { answerProblem, isWorthRetrying, retryAfterMs, transportProblem } from './deliver.js';

/** Time limit of one attempt. */
const ATTEMPT_MS = 20_000;
/** Time limit of all attempts together, since the job ends only after them. */
const UPLOAD_MS = 45_000;
/** Pauses between the attempts. */
const PAUSES_MS = [500, 3_000];

export interface UploadDeps {
  egress: Pick<Egress, 'fetch'>;
  /** Value of STILLFRAME_WEBHOOK_ALLOW. */
  allowedOrigins: readonly string[];
  /** The program's version, for `user-agent`. */
  version: string;
  /** Default: PAUSES_MS. */
  pausesMs?: readonly number[];
  /** Default: UPLOAD_MS. */
  totalMs?: number;
  log: Log;
}

export interface UploadTask {
  jobId: string;
  accountId: string;
  url: string;
  content: Uint8Array;
  contentType: string;
  /** Default: PUT. */
  method?: CallbackMethod;
  /** Further headers. */
  headers?: Readonly<Record<string, string>>;
}

/**
 * Uploads a picture, with at most three attempts in 45 s. A failure is a result.
 * @param signal its reason is thrown when it ends the upload
 */
export async function uploadPicture(deps: UploadDeps, task: UploadTask, signal: AbortSignal): Promise<UploadResult> {
  const began = performance.now();
  const leftMs = () => Math.max(1, Math.round((deps.totalMs ?? UPLOAD_MS) - (performance.now() - began)));
  const pauses = deps.pausesMs ?? PAUSES_MS;
  const { jobId, url, content } = task;
  // The operator may have removed an allowed origin since the submission.
  const problem = webhookUrlProblem(url, deps.allowedOrigins);
  let last: Attempt = { status: null, error: problem === null ? null : `The address ${problem}.`, retryMs: null };
  let attempts = 0;
  while (problem === null) {
    last = await attempt(deps, task, { signal, timeoutMs: Math.min(ATTEMPT_MS, leftMs()) });
    const waitMs = Math.max(last.retryMs ?? 0, pauses[attempts] ?? 0);
    attempts++;
    if (last.retryMs === null || attempts > pauses.length || waitMs >= leftMs()) break;
    await pause(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
  const { status, error } = last;
  const state = error === null ? 'uploaded' : 'failed';
  const facts = { job_id: jobId, state, status, error, attempts, bytes: content.byteLength };
  deps.log.info({ ...facts, receiver: new URL(url).origin, ms: Math.round(performance.now() - began) }, 'upload');
  return { state, url: url.split('?', 1)[0] ?? '', bytes: content.byteLength, attempts, status, error };
}

interface Attempt {
  status: number | null;
  /** null if the receiver has the picture. */
  error: string | null;
  /** The time that the receiver asks to wait before another attempt, 0 if it names none; null if there is to be none. */
  retryMs: number | null;
}

async function attempt(
  { egress, allowedOrigins, version, log }: UploadDeps,
  { jobId, accountId, url, content, contentType, method = 'PUT', headers: further = {} }: UploadTask,
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
): Promise<Attempt> {
  const requester = { job_id: jobId, account: accountId };
  try {
    const { status, headers } = await egress.fetch({
      url,
      method,
      headers: {
        'user-agent': `stillframe/${version}`,
        ...further,
        'content-type': contentType,
        'accept-encoding': 'identity',
      },
      body: content,
      timeoutMs,
      // The status says everything: a receiver whose answer drags on has the picture.
      maxBytes: 0,
      via: null,
      allowedOrigins,
      signal,
      requester,
    });
    if (status >= 200 && status <= 299) return { status, error: null, retryMs: null };
    const retryMs = isWorthRetrying(status) ? retryAfterMs(headers.get('retry-after'), Date.now()) : null;
    return { status, error: answerProblem(status), retryMs };
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ err: error, ...requester }, 'upload attempt failed');
    return { status: null, error: transportProblem(error, url), retryMs: 0 };
  }
}
