/**
 * A capture from submission to clean-up. Uses the store, artifacts, render and webhook; must not know HTTP. This file is the first step: a
 * submission becomes a durable job, or is rejected.
 */
import type { Principal } from '../account/authenticate.js';
import { newPackName } from '../artifacts/artifact-name.js';
import { type Artifacts, requireStorage } from '../artifacts/artifacts.js';
import type { PackSource } from '../artifacts/page-pack.js';
import { CaptureError } from '../contract/capture-error.js';
import { newId } from '../contract/ids.js';
import type { JobSnapshot } from '../contract/job.js';
import { ATTEMPT_BUDGET } from '../contract/limits.js';
import { priceOf } from '../contract/pricing.js';
import type { Submission } from '../contract/submission.js';
import type { Egress } from '../egress/egress.js';
import type { Log } from '../log.js';
import type { Acceptance, AcceptRules, JobStore, NewJob, QuotaExceeded, RetentionStore } from '../store/store.js';
import { checkWebhookHost, refuseBlockedDestinations } from './check-destinations.js';
import { type MissingFileDeps, openFile } from './open-picture.js';

export interface SubmitDeps {
  store: Pick<JobStore, 'accept' | 'cachedArtifacts' | 'findJobByIdempotencyKey'> &
    Pick<RetentionStore, 'markGone' | 'announceFiles' | 'forgetRemovals'>;
  artifacts: MissingFileDeps['artifacts'] & Pick<Artifacts, 'isFailing' | 'isReady' | 'refusal' | 'putPack' | 'remove'>;
  egress: Pick<Egress, 'refusesLiterally' | 'proxyProblem' | 'judgeHost'>;
  rules: AcceptRules;
  webhookAllow: readonly string[];
  /** True once the server is shutting down and no other server takes its captures over. */
  draining(): boolean;
  /** Called when there is a job to claim. */
  onQueued(): void;
  /** Called for a job that the cache has answered. */
  onCached(job: JobSnapshot): void;
  log: Log;
  now(): number;
}

export interface SubmitContext {
  principal: Principal;
  requestId: string;
  idempotencyKey: string | null;
  /** The `traceparent` of the submission's trace; null if captures are not traced. */
  traceparent: string | null;
  /** The content of `options.files`. */
  pack?: PackSource | null;
  /** Whether the submission comes from a signed link. Default: no. */
  link?: boolean;
}

/**
 * Accepts a submission durably, or returns the job that it repeats.
 * @throws CaptureError invalid_request (a refused destination), idempotency_conflict, quota_exceeded, internal_error (503: queue full,
 * draining, no storage)
 */
export async function submit(deps: SubmitDeps, submission: Submission, context: SubmitContext): Promise<JobSnapshot> {
  if (deps.draining()) throw unavailable('The server is shutting down. Send the request again in a moment.', 5);
  refuseBlockedDestinations(deps.egress, submission.options, { account: context.principal.accountId });
  await checkCallbacks(deps, submission, context);
  await refuseWithoutStorage(deps, context);
  const job = newJob(submission, context, deps.now());
  const { pack = null } = context;
  return answerWith(
    deps,
    pack === null ? await accept(deps, job) : await acceptWithFiles(deps, job, { pack, context }),
  );
}

/** The job of a submission, which nobody has decided about yet. */
export function newJob(submission: Submission, context: SubmitContext, now: number): NewJob {
  const { principal, requestId, idempotencyKey, link = false, traceparent } = context;
  const { mode, identity, cacheIdentity, cacheTtl, options, webhook } = submission;
  return {
    id: newId('job', now),
    accountId: principal.accountId,
    keyId: principal.keyId,
    requestId,
    mode,
    idempotencyKey,
    identity,
    cacheIdentity,
    cacheTtl,
    options,
    webhook,
    price: priceOf(options),
    link,
    attemptBudget: ATTEMPT_BUDGET,
    enqueuedAt: now,
    traceparent,
  };
}

/**
 * A picture whose file is missing does not answer a submission. The file is checked before the transaction, which must not wait for a
 * storage.
 */
async function accept(deps: SubmitDeps, job: NewJob): Promise<Acceptance> {
  const names = await deps.store.cachedArtifacts(job);
  let missing: string | null = null;
  for (const name of names) if (missing === null && (await openFile(deps, name)) === null) missing = names[0] ?? null;
  return await deps.store.accept(job, { ...deps.rules, missing });
}

/**
 * Stores the files of a submission for its job. Those of a repeated one are not stored again, and those of a job that needs none are
 * removed at once.
 */
async function acceptWithFiles(
  deps: SubmitDeps,
  job: NewJob,
  { pack, context }: { pack: PackSource; context: SubmitContext },
): Promise<Acceptance> {
  const { files } = job.options;
  if (files === null || (await isRepeat(deps, context))) return await accept(deps, job);
  const name = newPackName();
  if (!(await deps.store.announceFiles({ name, jobId: job.id, accountId: job.accountId })))
    return { kind: 'queue_full', waiting: 0 };
  await deps.artifacts.putPack(name, pack).catch(async (error: unknown) => {
    await removeFiles(deps, name);
    throw error;
  });
  // If this fails, the job may have been accepted all the same, so the files are left to the sweep.
  const acceptance = await accept(deps, { ...job, options: { ...job.options, files: { ...files, pack: name } } });
  if (acceptance.kind !== 'queued' && acceptance.kind !== 'shared') await removeFiles(deps, name);
  return acceptance;
}

/** Whatever cannot be removed now is left to the sweep. */
async function removeFiles({ artifacts, store, log }: SubmitDeps, name: string): Promise<void> {
  try {
    await artifacts.remove(name);
    await store.forgetRemovals([name]);
  } catch (error) {
    log.info({ err: error, artifact: name }, 'files of a request could not be removed; it will be retried');
  }
}

/**
 * While the storage cannot be reached, nothing is rendered in vain, and no idempotency key is bound to a capture that must fail. Repeated
 * submissions still get their job.
 */
async function refuseWithoutStorage(deps: SubmitDeps, context: SubmitContext): Promise<void> {
  if (!deps.artifacts.isFailing || (await isRepeat(deps, context))) return;
  await requireStorage(deps.artifacts);
}

async function isRepeat(
  { store }: Pick<SubmitDeps, 'store'>,
  { principal, idempotencyKey }: SubmitContext,
): Promise<boolean> {
  return idempotencyKey !== null && (await store.findJobByIdempotencyKey(principal.accountId, idempotencyKey)) !== null;
}

/** Repeated submissions are not checked again: the job exists, even if the receiver's name cannot be resolved at the moment. */
async function checkCallbacks(deps: SubmitDeps, submission: Submission, context: SubmitContext): Promise<void> {
  const { webhook, options } = submission;
  const callbacks = [
    ...(webhook === null ? [] : [{ path: 'webhook.url', url: webhook.url }]),
    ...(options.upload === null ? [] : [{ path: 'upload.url', url: options.upload.url }]),
    ...(options.upload?.sending === undefined
      ? []
      : [{ path: 'upload.failure', url: options.upload.sending.failure.url }]),
  ];
  if (callbacks.length === 0 || (await isRepeat(deps, context))) return;
  const resolver: Parameters<typeof checkWebhookHost>[0] = {
    judgeHost: (host, port) => deps.egress.judgeHost(host, port, { account: context.principal.accountId }),
  };
  for (const callback of callbacks) await checkWebhookHost(resolver, callback, deps.webhookAllow);
}

function answerWith(deps: SubmitDeps, acceptance: Acceptance): JobSnapshot {
  switch (acceptance.kind) {
    case 'queued':
    case 'shared':
      deps.onQueued();
      return acceptance.job;
    case 'cached':
      deps.onCached(acceptance.job);
      return acceptance.job;
    case 'replayed':
      return acceptance.job;
    case 'conflict':
      throw idempotencyConflict(acceptance);
    case 'quota_exceeded':
      throw quotaExceeded(acceptance, deps.now());
    case 'links_limit_exceeded':
      throw linksLimitExceeded(acceptance, deps.now());
    case 'queue_full':
      throw unavailable('Too many captures are waiting. Try again shortly.', 5);
  }
}

const REPEATED = {
  capture: { owner: 'a job', input: 'options' },
  batch: { owner: 'a batch', input: 'requests' },
};

/** The error for an idempotency key that was used by the same API key with other options, or by another API key. */
export function idempotencyConflict(
  { sameKey, isRemoved, jobId }: { sameKey: boolean; isRemoved: boolean; jobId?: string },
  kind: keyof typeof REPEATED = 'capture',
): CaptureError {
  const { owner, input } = REPEATED[kind];
  const reason = isRemoved ? `belongs to ${owner} that was removed` : `was used with other ${input}`;
  return new CaptureError({
    code: 'idempotency_conflict',
    message: sameKey
      ? `This Idempotency-Key ${reason}. Use a new key for a new ${kind}.`
      : 'This Idempotency-Key was used by another API key of the account.',
    // The job of another key is not disclosed.
    ...(sameKey && jobId !== undefined ? { details: { job_id: jobId } } : {}),
  });
}

export function quotaExceeded({ quota, used, reserved, resetsAt }: QuotaExceeded, now: number): CaptureError {
  return new CaptureError({
    code: 'quota_exceeded',
    message: `The account's monthly quota of ${quota} credits does not cover this request. ${describeReset(resetsAt)}`,
    details: { quota, used, reserved, resets_at: resetsAt },
    retryAfterSeconds: (resetsAt - now) / 1000,
  });
}

function linksLimitExceeded(
  { limit, used, resetsAt }: Extract<Acceptance, { kind: 'links_limit_exceeded' }>,
  now: number,
): CaptureError {
  return new CaptureError({
    code: 'quota_exceeded',
    message: `The monthly limit of ${limit} credits for links of this key does not cover this capture. ${describeReset(resetsAt)}`,
    details: { limit, used, resets_at: resetsAt },
    retryAfterSeconds: (resetsAt - now) / 1000,
  });
}

function describeReset(at: number): string {
  return `The next month begins on ${new Date(at).toISOString().slice(0, 10)}, in UTC.`;
}

export function unavailable(message: string, retryAfterSeconds: number): CaptureError {
  return new CaptureError({ code: 'internal_error', status: 503, message, retryAfterSeconds });
}
