/**
 * Decisions about jobs, from what an engine has read: what answers a submission, who continues and who fails (interface.md, Idempotency
 * rules; decisions.md, Idempotency and cache). At a submission, an engine asks in this order: idempotency → cached result → identical job in
 * flight → queue limit → credits. A rejection writes nothing, so it never binds its idempotency key.
 */
import type { CaptureData } from '../../contract/capture-data.js';
import { CaptureError, jobCanceled, type StoredError, toStoredError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { asksForSeveral } from '../../contract/page-loads.js';
import { periodEnd } from '../../contract/pricing.js';
import { type Digests, type FoundJob, type JobRow, type Picture, type Source, toSnapshot } from '../rows.js';
import type { Acceptance, Charge, ClaimedJob, EndedJob, LinkAnswer, NewJob, QuotaExceeded } from '../store.js';
import type { Vault } from '../vault.js';

type Refusal = Acceptance | null;

/** The digests of a job's idempotency identity and of its cache key. */
export function digestsOf(vault: Vault, job: Pick<NewJob, 'identity' | 'cacheIdentity'>): Digests {
  return { identity: vault.digest('identity', job.identity), cache: cacheDigestOf(vault, job) };
}

export function cacheDigestOf(vault: Vault, { cacheIdentity }: Pick<NewJob, 'cacheIdentity'>): string | null {
  return cacheIdentity === null ? null : vault.digest('cache', cacheIdentity);
}

/** Answers a submission whose idempotency key belongs to a known job: the job is replayed, or there is an idempotency conflict. */
export function replayOrConflict(vault: Vault, job: NewJob, known: FoundJob): Acceptance {
  const sameKey = known.keyId === job.keyId;
  const isRemoved = known.removedAt !== null;
  if (!sameKey || isRemoved || !vault.matches('identity', job.identity, known.identityDigest))
    return { kind: 'conflict', jobId: known.id, sameKey, isRemoved };
  return { kind: 'replayed', job: toSnapshot(known) };
}

/** Returns whether a picture answers a submission: it is neither deleted, nor older than the submission allows, nor missing. */
export function isUsable(
  { goneAt, renderedAt, artifactName }: Picture,
  job: NewJob,
  missing: string | null = null,
): boolean {
  return goneAt === null && job.enqueuedAt - renderedAt <= job.cacheTtl * 1000 && artifactName !== missing;
}

/**
 * A job that uploads its picture shares no render, and is queued even if the picture is stored: it then uploads that one, and renders for
 * nobody.
 */
export function queueUpload<Found extends Source, Entry extends { job: NewJob; digests: Digests; source: Found }>(
  entry: Entry,
): Entry {
  const { job, digests, source } = entry;
  const { upload } = job.options;
  if (upload === null) return entry;
  const alone = { ...entry, source: { ...source, kept: null, leaderId: null } };
  if (source.kept === null) return alone;
  const options = { ...job.options, upload: { ...upload, artifact: source.kept.artifactName } };
  return { ...alone, job: { ...job, options }, digests: { ...digests, cache: null } };
}

/** The names of a picture's file, and of the further ones of its job if the submission asks for several, or for the document. */
export function artifactsOf({ options }: NewJob, { artifactName, data }: Picture): string[] {
  if (!asksForSeveral(options) && !options.saveHtml) return [artifactName];
  const { captures = [], htmlArtifact: html } = JSON.parse(data) as CaptureData;
  return [artifactName, ...captures.slice(1).map(({ artifact }) => artifact), ...(html === undefined ? [] : [html])];
}

/** Rejects a job when the queue is full, unless it is answered from a stored picture. */
export function refuseWhenFull(
  { kept }: Source,
  { waiting, maxQueue }: { waiting: number; maxQueue: number },
): Refusal {
  return kept === null && waiting >= maxQueue ? { kind: 'queue_full', waiting } : null;
}

/** @param account its quota, and its credits in the month of the submission */
export function refuseOverQuota(
  job: Omit<Charge, 'accountId'>,
  account: { quota: number | null; used: number; reserved: number },
): QuotaExceeded | null {
  const { quota, used, reserved } = account;
  if (quota === null || job.price < 0 || used + reserved + job.price <= quota) return null;
  return { kind: 'quota_exceeded', quota, used, reserved, resetsAt: periodEnd(job.enqueuedAt) };
}

/** @param key its limit for links, and what its links cost in the month of the submission, reserved credits included */
export function refuseOverLinksLimit(job: NewJob, { limit, used }: { limit: number | null; used: number }): Refusal {
  if (limit === null || used + job.price <= limit) return null;
  return { kind: 'links_limit_exceeded', limit, used, resetsAt: periodEnd(job.enqueuedAt) };
}

/** Describes the job that has been entered. */
export function acceptanceOf(
  row: Omit<JobRow, 'seq'>,
  { kept, leaderId }: Source,
  shown: { paused: boolean | number; keptData: string | null },
): Acceptance {
  const kind = kept !== null ? 'cached' : leaderId !== null ? 'shared' : 'queued';
  return { kind, job: toSnapshot({ ...row, ...shown }) };
}

/** @param found the newest picture */
export function linkAnswerOf(found: Picture | null, inFlight: boolean): LinkAnswer {
  if (found === null || found.goneAt !== null) return { picture: null, inFlight };
  const { jobId, renderedAt, data } = found;
  return { picture: { jobId, renderedAt, data: JSON.parse(data) as CaptureData }, inFlight };
}

/** No capture holds its slot for longer; a longer measurement means that the clock jumped. */
const LONGEST_SLOT_MS = 180_000;
/** No delay is longer (a receiver's Retry-After counts up to 1 h); a later time means that the clock was set back. */
export const HORIZON_MS = 90 * 60_000;
/** Lease of own claims whose lease has expired, until the claim's own timer renews it. */
export const RENEWED_MS = 30_000;
/** Maximum number of followers that one transaction ends. */
export const SLICE_FOLLOWERS = 50;

/** StoredError, as JSON, of a job whose server ended on every attempt. */
export const CRASHED = JSON.stringify(
  toStoredError(
    new CaptureError({
      code: 'render_crashed',
      message: 'The browser stopped while it rendered this page, on every attempt.',
    }),
  ),
);
/** StoredError, as JSON, of a job whose order cannot be decrypted. It fails, so that it does not block the queue. */
export const UNREADABLE = JSON.stringify(toStoredError(new Error('the order cannot be opened')));

/** StoredError, as JSON, of a job that its caller has canceled. */
export const CANCELED = JSON.stringify(toStoredError(jobCanceled()));
/** The outcome under which canceled jobs are counted. */
export const CANCELED_OUTCOME = 'canceled';

/** The result of an ended job that is removed: empty, but still a success or a failure. */
export function emptiedResult({ data }: Pick<JobRow, 'data'>): Pick<JobRow, 'data' | 'error'> {
  return data === null ? { data, error: '{}' } : { data: '{}', error: null };
}

/** Names the artifacts that a job refers to first: its picture, or that of the page that it failed on. */
export function firstArtifactOf({ artifactName, error }: Pick<JobRow, 'artifactName' | 'error'>): string | null {
  const { details } = JSON.parse(error ?? '{}') as Partial<StoredError>;
  return artifactName ?? (typeof details?.artifact === 'string' ? details.artifact : null);
}

/** The fields of a job that a claim needs, with the number of attempts before it. */
type Claimable = Pick<
  JobRow,
  | 'id'
  | 'accountId'
  | 'requestId'
  | 'mode'
  | 'attemptsMade'
  | 'attemptBudget'
  | 'enqueuedAt'
  | 'firstClaimedAt'
  | 'dueAt'
  | 'traceparent'
  | 'batchId'
>;

export function toClaimedJob(
  job: Claimable,
  options: CaptureOptions,
  { workerId, now }: { workerId: string; now: number },
): ClaimedJob {
  const { id, accountId, requestId, mode, attemptBudget, enqueuedAt, dueAt, traceparent } = job;
  return {
    id,
    accountId,
    requestId,
    mode,
    options,
    attemptBudget,
    enqueuedAt,
    dueAt,
    traceparent,
    workerId,
    claimedAt: now,
    attempt: job.attemptsMade + 1,
    firstClaimedAt: job.firstClaimedAt ?? now,
    isOfBatch: job.batchId !== null,
  };
}

/** A claim reports at most 99 %, since its end makes it 100. */
export function toProgress(progress: number): number {
  return Math.max(0, Math.min(99, Math.round(progress)));
}

/** Returns how long a job held its slot, to correct what it was charged in advance; null if that is unknown. */
export function slotTimeOf(
  { claimedAt, bookedMs }: Pick<JobRow, 'claimedAt' | 'bookedMs'>,
  now: number,
): number | null {
  if (claimedAt === null || bookedMs === null) return null;
  const ms = now - claimedAt;
  return ms >= 0 && ms <= LONGEST_SLOT_MS ? ms : null;
}

/** Returns the name under which the end of a job is counted: `completed`, or the code of its failure. */
export function outcomeOf(state: 'completed' | 'failed', error: string | null): string {
  if (state === 'completed') return state;
  return (JSON.parse(error ?? '{}') as Partial<StoredError>).code ?? 'internal_error';
}

export function toEnded(
  job: Pick<EndedJob, 'id' | 'url' | 'requestId' | 'accountId'> & Pick<JobRow, 'batchId'>,
  { state, hasWebhook }: Pick<EndedJob, 'state' | 'hasWebhook'>,
): EndedJob {
  const { id, url, requestId, accountId } = job;
  const ended = { id, url, requestId, accountId, state, hasWebhook, isFollowed: false };
  return job.batchId === null ? ended : { ...ended, isOfBatch: true };
}
