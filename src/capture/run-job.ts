import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { type Artifacts, requireStorage, type StoredArtifact } from '../artifacts/artifacts.js';
import { unpack } from '../artifacts/page-pack.js';
import { contentTypeOf, type UploadResult } from '../contract/capture-data.js';
import { CaptureError, type StoredError, toStoredError } from '../contract/capture-error.js';
import { type CaptureOptions, jobUrl } from '../contract/capture-request.js';
import { gotenbergError } from '../contract/gotenberg-error.js';
import { TIMEOUT_MS } from '../contract/limits.js';
import type { PageFile, PageFilesOption } from '../contract/page-files.js';
import type { Log } from '../log.js';
import type { Rendering, RenderTask } from '../render/capture.js';
import type { FileContents } from '../render/guard/own-files.js';
import type { Claim, ClaimedJob, EndedJob, JobStore, RetentionStore } from '../store/store.js';
import type { AttemptTrace, Traces } from '../tracing/traces.js';
import type { UploadTask } from '../webhook/upload-picture.js';
import { type ForcedEnd, forcedEnd, shouldRetry, toCaptureData } from './attempt.js';
import type { Templates } from './templates.js';

/** Delay between two tries of a step while the database or the storage is unavailable, doubled each time up to the longest. */
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 2_000;
/** The time for which a picture is kept in memory while the storage is unavailable, before the job returns to the queue. */
const HOLD_MS = 300_000;
/** The number of times that a job may return to the queue because this machine has no browser or no disk space for it, before it fails. */
const RELEASES_MAX = 60;
const RELEASES_KNOWN = 1_000;
/** Number of retry delays that such a job waits before it returns to the queue. */
const RELEASE_DELAYS = 4;
/** Interval at which a job's progress is written; shorter captures write none. */
const PROGRESS_EVERY_MS = 500;
/** Number of pictures of one capture that are stored at the same time. */
const PUT_AT_ONCE = 4;

export interface RunJobDeps {
  store: Pick<
    JobStore,
    'renewLease' | 'announceArtifact' | 'complete' | 'fail' | 'endFollowers' | 'retryLater' | 'release'
  > &
    Pick<RetentionStore, 'keptArtifacts' | 'keepArtifact'>;
  artifacts: Pick<Artifacts, 'put' | 'remove' | 'isFailing' | 'isReady' | 'refusal' | 'openPack'>;
  templates: Pick<Templates, 'open'>;
  render(task: RenderTask, signal: AbortSignal): Promise<Rendering>;
  uploads: {
    open: Artifacts['open'];
    /** Uploads a picture. Rejects only if the signal ends it. */
    send(task: UploadTask, signal: AbortSignal): Promise<UploadResult>;
  };
  /** Stops a running job that somebody cancels, by the job's id. */
  running?: Map<string, () => void>;
  /** Called for each job that ended, after its commit. */
  onEnded(job: EndedJob, timings: Record<string, number>): void;
  /** Absent or null if captures are not traced. */
  traces?: Pick<Traces, 'attempt'> | null;
  leaseMs: number;
  retryDelayMs: number;
  /** Default: five minutes. */
  holdMs?: number;
  /** The number of times that each job has returned to the queue for lack of a browser or disk space. If absent, such a lack fails the job. */
  releases?: Map<string, number>;
  log: Log;
  now(): number;
  /** The number of ms that have passed since a time of `now`, whatever jumps it has made. */
  since(time: number): number;
}

/**
 * Renders one claimed job and commits its result. Never rejects because the capture failed, which is a result as well. An unavailable
 * database or storage is waited for and fails no job, except a storage that refuses the picture for the whole `holdMs`.
 * @param shutdown aborted when the server can wait no longer: the job returns to the queue as if it had not been claimed
 */
export async function runJob(deps: RunJobDeps, job: ClaimedJob, shutdown: AbortSignal): Promise<void> {
  const canceled = new AbortController();
  const stop = AbortSignal.any([shutdown, canceled.signal]);
  deps.running?.set(job.id, () => canceled.abort(new LostClaim()));
  let startedAt = performance.now();
  const queuedMs = deps.since(job.enqueuedAt);
  const claim = claimOf(job);
  const options = { ...job.options, timeout: remainingTimeout(job) };
  using limit = forcedEnd(options);
  const lease = maintainLease(deps, claim, limit);
  let resolveKept = (): void => {};
  const kept = new Promise<void>((resolve) => {
    resolveKept = resolve;
  });
  const trace = beginTrace(deps, job);
  let conclusion: Conclusion = { state: 'unknown', code: null };
  try {
    const onStages: RenderTask['onStages'] = (stages) => trace?.stages(stages);
    const onBegin = () => {
      startedAt = performance.now();
      limit.begin();
    };
    const stored = await readStored(deps, job);
    if (stored !== null) conclusion = await uploadStored(deps, job, { ...stored, stop });
    else {
      const signal = AbortSignal.any([limit.signal, stop]);
      const opened = options.files === null ? null : await openFiles(deps, options.files, signal);
      const page = opened === null ? { options } : { options: withList(options, opened.list), files: opened.contents };
      const progress = { onBegin, onProgress: lease.progress, onStages };
      const { id, accountId: account, isOfBatch: inBackground } = job;
      const task: RenderTask = { id, account, inBackground, ...page, ...progress, kept };
      const rendering = await deps.render(task, signal);
      conclusion = await traceStore(
        trace,
        storeRendering(deps, job, { rendering, startedAt, queuedMs, stop, onStored: resolveKept }),
      );
    }
  } catch (error) {
    conclusion = await recordFailure(deps, job, {
      error,
      stop,
      spentMs: performance.now() - startedAt,
      timeoutMs: options.timeout,
    });
  } finally {
    deps.running?.delete(job.id);
    lease.end();
    resolveKept();
    trace?.end(conclusion);
  }
}

/** The end of an attempt, for its trace. */
interface Conclusion {
  state: 'completed' | 'failed' | 'delayed' | 'released' | 'lost' | 'unknown';
  /** null unless the attempt failed. */
  code: string | null;
}

const LOST: Conclusion = { state: 'lost', code: null };

function beginTrace({ traces, since }: RunJobDeps, job: ClaimedJob): AttemptTrace | null {
  const { id, mode, attempt, options, traceparent } = job;
  return (
    traces?.attempt({ jobId: id, mode, attempt, queuedMs: since(job.dueAt ?? job.enqueuedAt), options, traceparent }) ??
    null
  );
}

async function traceStore(trace: AttemptTrace | null, storing: Promise<Conclusion>): Promise<Conclusion> {
  const began = performance.now();
  let failed = true;
  try {
    const conclusion = await storing;
    failed = false;
    return conclusion;
  } finally {
    trace?.stages([{ name: 'store', began, ended: performance.now(), failed }]);
  }
}

function claimOf({ id, workerId, attempt }: ClaimedJob): Claim {
  return { id, workerId, attempt };
}

/**
 * A second attempt gets the time that the first one left. The whole timeout applies again to a job that a restart returned to the queue,
 * and to one with a clock jump between its times.
 */
function remainingTimeout({ options, dueAt, firstClaimedAt }: ClaimedJob): number {
  if (dueAt === null) return options.timeout;
  const spentMs = dueAt - firstClaimedAt;
  const isMeasured = spentMs >= 0 && spentMs <= options.timeout;
  return isMeasured ? Math.max(TIMEOUT_MS.min, options.timeout - spentMs) : options.timeout;
}

interface Lease {
  progress(value: number): void;
  end(): void;
}

function maintainLease(deps: RunJobDeps, claim: Claim, limit: ForcedEnd): Lease {
  const renewMs = deps.leaseMs / 3;
  let progress = 0;
  let written = { progress, at: performance.now() };
  const renew = async () => {
    const kept = await deps.store.renewLease(claim, { now: deps.now(), leaseMs: deps.leaseMs, progress });
    if (!kept) limit.abort(new LostClaim());
  };
  const timer = setInterval(
    () => {
      const now = performance.now();
      if (progress === written.progress && now - written.at < renewMs) return;
      written = { progress, at: now };
      renew().catch((error: unknown) => deps.log.warn({ err: error, job_id: claim.id }, 'lease not renewed'));
    },
    Math.min(PROGRESS_EVERY_MS, renewMs),
  );
  return {
    progress: (value) => {
      progress = value;
    },
    end: () => clearInterval(timer),
  };
}

/** The job was canceled, or another worker has claimed it, so this worker's result is discarded. */
class LostClaim extends Error {}

async function storeRendering(
  deps: RunJobDeps,
  job: ClaimedJob,
  done: { rendering: Rendering; startedAt: number; queuedMs: number; stop: AbortSignal; onStored: () => void },
): Promise<Conclusion> {
  const { rendering, startedAt, queuedMs, stop, onStored } = done;
  const storeStart = performance.now();
  const claim = claimOf(job);
  const waiting = { log: deps.log, jobId: job.id, stop };
  const putOne = ({ content, format }: Pick<Rendering, 'content' | 'format'>) =>
    retryWhileUnavailable({ ...waiting, limitMs: deps.holdMs ?? HOLD_MS }, async () => {
      await requireStorage(deps.artifacts);
      // Whoever opens its address must see the source of a document, not the document.
      return await deps.artifacts.put(content, format === 'html' ? 'txt' : format, async (name) => {
        if (!(await deps.store.announceArtifact(claim, name))) throw new LostClaim();
      });
    }).catch((error: unknown) => {
      const { refusal } = deps.artifacts;
      if (!(error instanceof StillUnavailable) || refusal === null || stop.aborted) throw error;
      throw new CaptureError({ code: 'internal_error', message: refusal, cause: error });
    });
  const artifact = await putOne(rendering);
  const document = rendering.html === undefined ? [] : [{ content: rendering.html, format: 'html' as const }];
  const files = [...(rendering.captures?.slice(1) ?? []), ...document];
  const further = await putFurther(deps, files, { putOne, first: artifact });
  const names = [artifact, ...further].map(({ name }) => name);
  const durationMs = Math.round(performance.now() - startedAt);
  const uploadStart = performance.now();
  const { upload: requested } = job.options;
  // The page need not stay open for the upload.
  if (requested !== null) onStored();
  const sent = { url: requested?.url ?? '', content: rendering.content, name: artifact.name, stop };
  const upload = requested === null ? {} : { upload: await uploadTo(deps, job, sent) };
  const uploadMs = performance.now() - uploadStart;
  const now = deps.now();
  const data = toCaptureData(rendering, {
    options: job.options,
    artifact: artifact.name,
    artifacts: names,
    html: rendering.html === undefined ? undefined : names.at(-1),
    durationMs,
  });
  const capture = {
    data,
    artifact,
    tookMs: deps.since(job.enqueuedAt),
    ...upload,
    ...(further.length === 0 ? {} : { further }),
  };
  const ended = await retryWhileUnavailable(waiting, () => deps.store.complete(claim, capture, now));
  // Nothing was committed: another worker has the job, or an earlier try of this step succeeded although it seemed to fail.
  if (ended.length === 0) {
    const kept = await retryWhileUnavailable(waiting, () => deps.store.keptArtifacts(names));
    for (const name of names) if (!kept.has(name)) await deps.artifacts.remove(name);
  }
  const timings = {
    queue: queuedMs,
    ...rendering.timings,
    store: Math.round(performance.now() - storeStart - uploadMs),
  };
  await reportEnded(deps, ended, {
    facts: {
      attempt: job.attempt,
      bytes: [artifact, ...further].reduce((sum, { bytes }) => sum + bytes, 0),
      ...timings,
    },
    timings,
    waiting,
  });
  return ended.length === 0 ? LOST : { state: 'completed', code: null };
}

interface StoredPicture {
  name: string;
  content: Buffer;
}

/**
 * Reads the picture that a job uploads instead of a new one; null if it has none, or the picture has been deleted or is unreadable.
 * @throws CaptureError while the storage is unavailable
 */
async function readStored(
  { uploads, log }: Pick<RunJobDeps, 'uploads' | 'log'>,
  job: ClaimedJob,
): Promise<StoredPicture | null> {
  const name = job.options.upload?.artifact ?? null;
  if (name === null) return null;
  try {
    const opened = await uploads.open(name);
    return opened === null ? null : { name, content: await buffer(await opened.read()) };
  } catch (error) {
    if (error instanceof CaptureError) throw error;
    log.warn(
      { err: error, job_id: job.id },
      'a stored picture could not be read for its upload, and is captured again',
    );
    return null;
  }
}

async function uploadStored(
  deps: RunJobDeps,
  job: ClaimedJob,
  picture: StoredPicture & { stop: AbortSignal },
): Promise<Conclusion> {
  const { name, content, stop } = picture;
  const upload = await uploadTo(deps, job, { url: job.options.upload?.url ?? '', name, content, stop });
  const waiting = { log: deps.log, jobId: job.id, stop };
  const uploaded = { stored: name, upload, tookMs: deps.since(job.enqueuedAt) };
  const ended = await retryWhileUnavailable(waiting, () => deps.store.complete(claimOf(job), uploaded, deps.now()));
  await reportEnded(deps, ended, { facts: { attempt: job.attempt, bytes: content.length }, timings: {}, waiting });
  return ended.length === 0 ? LOST : { state: 'completed', code: null };
}

async function uploadTo(
  deps: Pick<RunJobDeps, 'uploads'>,
  job: ClaimedJob,
  { url, name, content, stop }: { url: string; name: string; content: Uint8Array; stop: AbortSignal },
): Promise<UploadResult> {
  const { method, headers } = job.options.upload?.sending ?? {};
  const sending = { ...(method === undefined ? {} : { method }), ...(headers === undefined ? {} : { headers }) };
  const task = { jobId: job.id, accountId: job.accountId, url, content, contentType: contentTypeOf(name), ...sending };
  const upload = await deps.uploads.send(task, stop);
  if (upload.error !== null) {
    const message = `The file could not be sent. ${upload.error}`;
    await reportFailure(deps, job, { error: { code: 'internal_error', message, retriable: false, status: 500 }, stop });
  }
  return upload;
}

/** Sends an error to the callback for it, if the job has one. Rejects only if `stop` ends it. */
async function reportFailure(
  { uploads }: Pick<RunJobDeps, 'uploads'>,
  { id, accountId, options }: ClaimedJob,
  { error, stop }: { error: StoredError; stop: AbortSignal },
): Promise<void> {
  const failure = options.upload?.sending?.failure;
  if (failure === undefined) return;
  const { problems, ...to } = failure;
  const content = Buffer.from(JSON.stringify(gotenbergError(error, problems)));
  await uploads.send({ jobId: id, accountId, ...to, content, contentType: 'application/json' }, stop);
}

/**
 * Stores the pictures after the first, a few at a time. If one cannot be stored, those that were are removed again, as far as the storage
 * can be reached; a crash leaves files without a row, which a later start finds.
 */
async function putFurther(
  { artifacts, log }: Pick<RunJobDeps, 'artifacts' | 'log'>,
  pictures: readonly Pick<Rendering, 'content' | 'format'>[],
  {
    putOne,
    first,
  }: { putOne: (picture: Pick<Rendering, 'content' | 'format'>) => Promise<StoredArtifact>; first: StoredArtifact },
): Promise<StoredArtifact[]> {
  const stored: StoredArtifact[] = [];
  for (let at = 0; at < pictures.length; at += PUT_AT_ONCE) {
    const results = await Promise.allSettled(pictures.slice(at, at + PUT_AT_ONCE).map(putOne));
    stored.push(...results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed === undefined) continue;
    for (const { name } of [first, ...stored]) {
      await artifacts
        .remove(name)
        .catch((error: unknown) =>
          log.warn({ err: error, artifact: name }, 'a picture of a failed capture was not removed'),
        );
    }
    throw failed.reason;
  }
  return stored;
}

/** Reports the claimed job, then, in batches, the jobs that shared its render, as far as they have ended. */
async function reportEnded(
  deps: Pick<RunJobDeps, 'store' | 'onEnded' | 'log'>,
  [own, ...followers]: EndedJob[],
  { facts, timings, waiting }: { facts: Record<string, unknown>; timings: Record<string, number>; waiting: Waiting },
): Promise<void> {
  if (own === undefined) return;
  deps.onEnded(own, timings);
  deps.log.info({ job_id: own.id, request_id: own.requestId, url: own.url, state: own.state, ...facts }, 'job');
  let slice: EndedJob[] | null = followers;
  while (slice !== null) {
    for (const follower of slice) {
      deps.onEnded(follower, {});
      const { id, requestId, url, state } = follower;
      deps.log.info({ job_id: id, request_id: requestId, url, state, shared: own.id }, 'job');
    }
    if (!own.isFollowed) return;
    slice = await retryWhileUnavailable(waiting, () => deps.store.endFollowers(own.id));
  }
}

interface Failure {
  error: unknown;
  stop: AbortSignal;
  /** Duration of this attempt in ms, without the start delay, which a second attempt waits again. */
  spentMs: number;
  timeoutMs: number;
}

async function recordFailure(deps: RunJobDeps, job: ClaimedJob, failure: Failure): Promise<Conclusion> {
  const claim = claimOf(job);
  const { error, stop, spentMs, timeoutMs } = failure;
  const waiting = { log: deps.log, jobId: job.id, stop };
  if (error instanceof LostClaim || stop.reason instanceof LostClaim) return LOST;
  if (stop.aborted || error instanceof StillUnavailable || (isOutage(error) && mayRelease(deps, job.id))) {
    if (isOutage(error)) {
      deps.log.warn({ job_id: job.id, err: error }, 'a capture returns to the queue: this machine cannot make it now');
      await pause(RELEASE_DELAYS * deps.retryDelayMs, undefined, { signal: stop }).catch(() => undefined);
    }
    await retryWhileUnavailable(waiting, () => deps.store.release(claim));
    return { state: 'released', code: null };
  }
  deps.releases?.delete(job.id);
  const stored = toStoredError(error);
  const { code, details } = stored;
  const facts = {
    job_id: job.id,
    request_id: job.requestId,
    url: jobUrl(job.options),
    attempt: job.attempt,
    code,
    details,
  };
  if (stored.code === 'internal_error') deps.log.error({ ...facts, err: error }, 'job failed with an internal error');
  const now = deps.now();
  const dueAt = now + deps.retryDelayMs;
  const begunAt = Math.round(now - spentMs);
  if (
    job.attempt < job.attemptBudget &&
    shouldRetry(error, timeoutMs - spentMs - deps.retryDelayMs) &&
    (await retryWhileUnavailable(waiting, () => deps.store.retryLater(claim, dueAt, deps.now(), begunAt)))
  ) {
    deps.log.info({ ...facts, state: 'delayed' }, 'job');
    return { state: 'delayed', code };
  }
  try {
    await reportFailure(deps, job, { error: stored, stop });
  } catch (ended) {
    if (!stop.aborted) throw ended;
    await retryWhileUnavailable(waiting, () => deps.store.release(claim));
    return { state: 'released', code: null };
  }
  const artifact =
    error instanceof CaptureError && error.picture !== undefined ? await keepPicture(deps, job, error.picture) : null;
  const ending = {
    ...(artifact === null ? stored : { ...stored, details: { ...details, artifact } }),
    tookMs: deps.since(job.enqueuedAt),
  };
  const ended = await retryWhileUnavailable(waiting, () => deps.store.fail(claim, ending, deps.now()));
  const failed = { ...facts, message: stored.message, duration_ms: Math.round(spentMs) };
  await reportEnded(deps, ended, { facts: failed, timings: {}, waiting });
  return ended.length === 0 ? LOST : { state: 'failed', code };
}

/**
 * Keeps the picture of a page whose capture failed, which expires like every other.
 * @returns the artifact's name, or null if it cannot be kept: the job ends all the same
 */
async function keepPicture(
  { store, artifacts, log, now }: RunJobDeps,
  { id, accountId }: ClaimedJob,
  picture: Uint8Array,
): Promise<string | null> {
  try {
    const stored = await artifacts.put(picture, 'webp');
    await store.keepArtifact({ ...stored, accountId, createdAt: now() });
    return stored.name;
  } catch (error) {
    log.warn({ err: error, job_id: id }, 'the picture of a failed capture was not kept');
    return null;
  }
}

/** Returns whether the error is a lack of a browser or of disk space: a fault of this machine, not of the job. */
function isOutage(error: unknown): boolean {
  return error instanceof CaptureError && error.code === 'internal_error' && error.status === 503;
}

/** Counts the releases of a job, since the job may itself be the reason for the lack of space. */
function mayRelease({ releases }: RunJobDeps, id: string): boolean {
  if (releases === undefined) return false;
  const times = (releases.get(id) ?? 0) + 1;
  const [oldest] = releases.keys();
  if (releases.size >= RELEASES_KNOWN && oldest !== undefined) releases.delete(oldest);
  releases.set(id, times);
  return times <= RELEASES_MAX;
}

interface Waiting {
  log: Log;
  jobId: string;
  stop: AbortSignal;
  /** Default: until the server stops. */
  limitMs?: number;
}

/** The database or the storage was unavailable for as long as a step may wait for it. */
class StillUnavailable extends Error {}

/**
 * Repeats a step while the database or the storage is unavailable (an outage, a full disk, a lock).
 * @throws StillUnavailable when the server stops, or at the limit
 */
async function retryWhileUnavailable<T>(
  { log, jobId, stop, limitMs = Infinity }: Waiting,
  step: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_RETRY_MS)) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof CaptureError) || error.status !== 503) throw error;
      if (stop.aborted || performance.now() >= deadline) throw new StillUnavailable(error.message, { cause: error });
      if (waitMs === FIRST_RETRY_MS)
        log.warn({ err: error, job_id: jobId }, 'a finished capture waits for the database or the storage');
    }
    await pause(waitMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

/**
 * Opens the files of a job, and makes the document of a template.
 * @throws CaptureError `internal_error`: with status 503 if the storage cannot be reached, else if something has removed them; as
 * `Templates.open`
 */
export async function openFiles(
  { artifacts, templates }: { artifacts: Pick<Artifacts, 'openPack'>; templates: Pick<Templates, 'open'> },
  files: PageFilesOption,
  signal: AbortSignal,
): Promise<{ list: readonly PageFile[]; contents: FileContents }> {
  if (files.template !== undefined) return await templates.open(files, signal);
  const { pack, key, list } = files;
  const stored = pack === null ? null : await artifacts.openPack(pack);
  if (stored === null) {
    const message =
      'The files of this request are no longer in the storage. Send the request again with another idempotency key.';
    throw new CaptureError({ code: 'internal_error', message });
  }
  return { list, contents: { read: async ({ start, end }) => unpack(await stored.read({ start, end }), key, start) } };
}

function withList(options: CaptureOptions, list: readonly PageFile[]): CaptureOptions {
  return options.files === null ? options : { ...options, files: { ...options.files, list } };
}
