/** Rows of tables that both engines have, and what clients see of jobs. */
import type { CaptureData } from '../contract/capture-data.js';
import type { StoredError } from '../contract/capture-error.js';
import { jobUrl } from '../contract/capture-request.js';
import type { JobResult, JobSnapshot } from '../contract/job.js';
import type * as postgres from './postgres/schema.js';
import type * as sqlite from './sqlite/schema.js';
import type { Elapsed, FinishedCapture, NewJob, UploadedPicture } from './store.js';

/** The fields that rows of a table have in both engines. */
type Shared<One, Other> = { [Field in keyof One & keyof Other]: One[Field] | Other[Field] };

export type JobRow = Shared<typeof sqlite.jobs.$inferSelect, typeof postgres.jobs.$inferSelect>;
export type DeliveryRow = Shared<typeof sqlite.deliveries.$inferSelect, typeof postgres.deliveries.$inferSelect>;
export type KeyRow = Shared<typeof sqlite.apiKeys.$inferSelect, typeof postgres.apiKeys.$inferSelect>;
export type SecretRow = Shared<typeof sqlite.signingSecrets.$inferSelect, typeof postgres.signingSecrets.$inferSelect>;

/** The columns of `JobRow`, for a table that is named `job`. */
export const JOB_COLUMNS = `job.seq, job.id, job.account_id, job.key_id, job.request_id, job.mode, job.state, job.lane, job.idempotency_key,
  job.identity_digest, job.cache_digest, job.timeout_ms, job.leader_id, job.attempts_made, job.attempt_budget, job.enqueued_at, job.due_at,
  job.first_claimed_at, job.claimed_at, job.booked_ms, job.lease_expires_at, job.worker_id, job.progress, job.webhook_url, job.ended_at,
  job.rendered_at, job.artifact_name, job.data, job.error, job.traceparent, job.url, job.removed_at,
  job.batch_id, job.batch_index`;

/** A row, whether the queue is paused (which affects the reported state), and `data` of its artifact. */
export type FoundJob = JobRow & { paused: boolean | number; keptData: string | null };

export const FOUND_JOB = `SELECT ${JOB_COLUMNS}, queue.paused, artifacts.data AS kept_data
  FROM jobs job CROSS JOIN queue LEFT JOIN artifacts ON artifacts.name = job.artifact_name`;
/** Condition for what callers see of a table that is named `job`. */
export const IS_SHOWN = 'job.removed_at IS NULL';
export const JOB_BY_ID = `${FOUND_JOB} WHERE job.id = $1`;
export const JOB_BY_IDEMPOTENCY_KEY = `${FOUND_JOB} WHERE job.account_id = $1 AND job.idempotency_key = $2`;

/** Condition that a claim is still held. Parameters 1 to 3 are the id, worker and attempt of the claim. */
export const IS_HELD = `id = $1 AND worker_id = $2 AND attempts_made = $3 AND state = 'active'`;

/** The oldest unfinished job that renders for an account ($1) and a cache digest ($2). */
export const IN_FLIGHT = `SELECT id FROM jobs
  WHERE account_id = $1 AND cache_digest = $2 AND ended_at IS NULL AND leader_id IS NULL ORDER BY seq LIMIT 1`;
/** The oldest job with at least this timeout ($2) among a leader ($1) and its followers. */
export const SHARING =
  'SELECT id FROM jobs WHERE (id = $1 OR leader_id = $1) AND timeout_ms >= $2 ORDER BY seq LIMIT 1';
/** The newest picture that was rendered for an account ($1) and a cache digest ($2), not taken from the cache. */
export const NEWEST_PICTURE = `SELECT job.id AS job_id, job.rendered_at, job.worker_id, artifacts.name AS artifact_name, artifacts.data,
    artifacts.gone_at
  FROM jobs job JOIN artifacts ON artifacts.name = job.artifact_name
  WHERE job.account_id = $1 AND job.cache_digest = $2 AND job.rendered_at IS NOT NULL
  ORDER BY job.rendered_at DESC LIMIT 1`;

/** Found by NEWEST_PICTURE. */
export interface Picture {
  /** The job that rendered it. */
  jobId: string;
  renderedAt: number;
  workerId: string;
  artifactName: string;
  /** CaptureData as JSON. */
  data: string;
  goneAt: number | null;
}

/**
 * CaptureData is stored once, with the picture (`artifacts.data`), even if several jobs share it. A job's own `data` has only the fields
 * that differ.
 */

/** Value of `data` for a job that was answered with a stored picture. */
const STORED_DATA = JSON.stringify({ cached: true });

/** Value of `data` for a job that ends with this capture. `tookMs` is no field of the capture. */
export function ownData(capture: FinishedCapture | UploadedPicture): string {
  const { upload, tookMs } = capture;
  return JSON.stringify({ cached: 'stored' in capture, upload, tookMs });
}

/** Value of `data` for a job that shares the render of another one. */
export function sharedData({ data }: Pick<JobRow, 'data'>): string {
  const { tookMs } = JSON.parse(data ?? '{}') as Elapsed;
  return JSON.stringify({ cached: true, tookMs });
}

/** The source of a new job's picture: a stored picture, the render of another job, or (neither) its own render. */
export interface Source {
  kept: Pick<Picture, 'workerId' | 'artifactName'> | null;
  leaderId: string | null;
}

/** Keyed digests, as described in vault.ts. */
export interface Digests {
  identity: string;
  cache: string | null;
}

/** Builds the row of a new job as one literal without spreads, which would take a tenth of the time of a submission. */
export function newJobRow(job: NewJob, digests: Digests, { kept, leaderId }: Source): Omit<JobRow, 'seq'> {
  const lane = job.mode === 'sync' ? 'prioritized' : 'waiting';
  return {
    id: job.id,
    accountId: job.accountId,
    keyId: job.keyId,
    requestId: job.requestId,
    mode: job.mode,
    state: kept === null ? lane : 'completed',
    lane,
    idempotencyKey: job.idempotencyKey,
    identityDigest: digests.identity,
    cacheDigest: digests.cache,
    timeoutMs: job.options.timeout,
    leaderId,
    attemptsMade: 0,
    attemptBudget: job.attemptBudget,
    enqueuedAt: job.enqueuedAt,
    dueAt: null,
    firstClaimedAt: null,
    claimedAt: null,
    bookedMs: null,
    leaseExpiresAt: null,
    workerId: kept?.workerId ?? null,
    progress: kept === null ? 0 : 100,
    webhookUrl: job.webhook?.url ?? null,
    endedAt: kept === null ? null : job.enqueuedAt,
    renderedAt: null,
    artifactName: kept?.artifactName ?? null,
    data: kept === null ? null : STORED_DATA,
    error: null,
    traceparent: job.traceparent,
    url: jobUrl(job.options),
    removedAt: null,
    batchId: job.batch?.id ?? null,
    batchIndex: job.batch?.index ?? null,
  };
}

/** Converts a row to its public state. Queued jobs are reported as `paused` while the queue is paused (decisions.md, Jobs). */
export function toSnapshot(row: Omit<FoundJob, 'seq'>): JobSnapshot {
  const { id, accountId, keyId, mode, url, requestId, progress, attemptsMade, attemptBudget, enqueuedAt, webhookUrl } =
    row;
  const isQueued = row.state === 'waiting' || row.state === 'prioritized';
  return {
    id,
    accountId,
    keyId,
    mode,
    url,
    requestId,
    progress,
    attemptsMade,
    attemptBudget,
    enqueuedAt,
    webhookUrl,
    state: isQueued && row.paused ? 'paused' : row.state,
    result: toResult(row),
  };
}

/** Builds the result. Its `durationMs` spans the job, from submission to end; the duration of the render is in `data`. */
function toResult(row: Omit<FoundJob, 'seq'>): JobResult | null {
  if (row.endedAt === null) return null;
  const { tookMs, ...own } = JSON.parse(row.data ?? row.error ?? '{}') as Elapsed & object;
  const data = (): CaptureData => ({ ...JSON.parse(row.keptData ?? '{}'), ...own });
  return {
    outcome: row.data === null ? { ok: false, error: own as StoredError } : { ok: true, data: data() },
    durationMs: durationOf(row, row.endedAt, tookMs),
    completedAt: row.endedAt,
    workerId: row.workerId ?? '',
  };
}

/** The clock may have jumped between the times of the row. A job without an attempt has shared the render of one that is older than it. */
function durationOf(
  { enqueuedAt, attemptsMade }: Pick<JobRow, 'enqueuedAt' | 'attemptsMade'>,
  endedAt: number,
  tookMs?: number,
): number {
  if (tookMs !== undefined && attemptsMade > 0) return tookMs;
  return Math.max(0, Math.min(endedAt - enqueuedAt, tookMs ?? Number.POSITIVE_INFINITY));
}

/**
 * Statements, in the part of SQL that SQLite and PostgreSQL share where both engines use them. Parameters are `$1`, `$2` and so on; a column
 * such as `account_id` is the field `accountId` of a found row.
 */
export interface Queries {
  all<Found = unknown>(text: string, values?: readonly unknown[]): Promise<Found[]>;
  /** Returns the first row, or null. */
  one<Found = unknown>(text: string, values?: readonly unknown[]): Promise<Found | null>;
  /** @returns the number of changed rows */
  run(text: string, values?: readonly unknown[]): Promise<number>;
}

export type Statement = readonly [text: string, values: readonly unknown[]];

/** Runs statements as one transaction. @returns for each the number of rows that it changed */
export type RunTogether = (statements: readonly Statement[]) => Promise<number[]>;

const fieldNames = new Map<string, string>();

/** Names the columns of a row as fields. */
export function toFields<Found>(row: Readonly<Record<string, unknown>>): Found {
  const fields: Record<string, unknown> = {};
  for (const column of Object.keys(row)) fields[fieldOf(column)] = row[column];
  return fields as Found;
}

function fieldOf(column: string): string {
  let field = fieldNames.get(column);
  if (field === undefined) {
    field = column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    fieldNames.set(column, field);
  }
  return field;
}
