/**
 * Decisions of an acceptance, from what an engine has read (interface.md, Idempotency rules; decisions.md, Idempotency and cache). An engine
 * asks in this order: idempotency → cached result → identical job in flight → queue limit → credits. A rejection writes nothing, so it never
 * binds its idempotency key.
 */
import type { CaptureData } from '../../contract/capture-data.js';
import { asksForSeveral } from '../../contract/page-loads.js';
import { periodEnd } from '../../contract/pricing.js';
import { type Digests, type FoundJob, type JobRow, type Picture, type Source, toSnapshot } from '../rows.js';
import type { Acceptance, LinkAnswer, NewJob } from '../store.js';
import type { Vault } from '../vault.js';

type Refusal = Acceptance | null;

export function digestsOf(vault: Vault, job: Pick<NewJob, 'identity' | 'cacheIdentity'>): Digests {
  return { identity: vault.digest('identity', job.identity), cache: cacheDigestOf(vault, job) };
}

export function cacheDigestOf(vault: Vault, { cacheIdentity }: Pick<NewJob, 'cacheIdentity'>): string | null {
  return cacheIdentity === null ? null : vault.digest('cache', cacheIdentity);
}

/** Answers a submission whose idempotency key belongs to a known job. */
export function answerKnown(vault: Vault, job: NewJob, known: FoundJob): Acceptance {
  const sameKey = known.keyId === job.keyId;
  if (!sameKey || !vault.matches('identity', job.identity, known.identityDigest)) return { kind: 'conflict', jobId: known.id, sameKey };
  return { kind: 'replayed', job: toSnapshot(known) };
}

/** Returns whether a picture answers a submission: it is neither deleted, nor older than the submission allows, nor missing. */
export function isUsable({ goneAt, renderedAt, artifactName }: Picture, job: NewJob, missing: string | null = null): boolean {
  return goneAt === null && job.enqueuedAt - renderedAt <= job.cacheTtl * 1000 && artifactName !== missing;
}

/**
 * A job that uploads its picture shares no render, and is queued even if the picture is stored: it then uploads that one, and renders for
 * nobody.
 */
export function queueUpload<Found extends Source, Given extends { job: NewJob; digests: Digests; source: Found }>(given: Given): Given {
  const { job, digests, source } = given;
  const { upload } = job.options;
  if (upload === null) return given;
  const alone = { ...given, source: { ...source, kept: null, leaderId: null } };
  if (source.kept === null) return alone;
  const options = { ...job.options, upload: { ...upload, artifact: source.kept.artifactName } };
  return { ...alone, job: { ...job, options }, digests: { ...digests, cache: null } };
}

/** The names of a picture's file, and of the further ones of its job if the submission asks for several. */
export function artifactsOf({ options }: NewJob, { artifactName, data }: Picture): string[] {
  if (!asksForSeveral(options)) return [artifactName];
  const { captures = [] } = JSON.parse(data) as CaptureData;
  return [artifactName, ...captures.slice(1).map(({ artifact }) => artifact)];
}

/** Rejects a job when the queue is full, unless it is answered from a stored picture. */
export function refuseWhenFull({ kept }: Source, { waiting, maxQueue }: { waiting: number; maxQueue: number }): Refusal {
  return kept === null && waiting >= maxQueue ? { kind: 'queue_full', waiting } : null;
}

/** @param account its quota, and its credits in the month of the submission */
export function refuseOverQuota(job: NewJob, account: { quota: number | null; used: number; reserved: number }): Refusal {
  const { quota, used, reserved } = account;
  if (quota === null || used + reserved + job.price <= quota) return null;
  return { kind: 'quota_exceeded', quota, used, reserved, resetsAt: periodEnd(job.enqueuedAt) };
}

/** @param key its limit for links, and what its links cost in the month of the submission, reserved credits included */
export function refuseOverLinksLimit(job: NewJob, { limit, used }: { limit: number | null; used: number }): Refusal {
  if (limit === null || used + job.price <= limit) return null;
  return { kind: 'links_limit_exceeded', limit, used, resetsAt: periodEnd(job.enqueuedAt) };
}

/** Describes the job that has been entered. */
export function entered(
  row: Omit<JobRow, 'seq'>,
  { kept, leaderId }: Source,
  shown: { paused: boolean | number; keptData: string | null },
): Acceptance {
  const kind = kept !== null ? 'cached' : leaderId !== null ? 'shared' : 'queued';
  return { kind, job: toSnapshot({ ...row, ...shown }) };
}

/** @param found the newest picture, and the job that rendered it */
export function linkAnswerOf(found: Picture | null, job: FoundJob | null, inFlight: boolean): LinkAnswer {
  if (found === null || found.goneAt !== null || job === null) return { picture: null, inFlight };
  return { picture: { job: toSnapshot(job), renderedAt: found.renderedAt, artifactName: found.artifactName }, inFlight };
}
