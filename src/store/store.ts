/**
 * What survives: accounts, keys, jobs, credits, deliveries, as whole steps. Each step is atomic and durable when its Promise
 * resolves. Callers know rows and outcomes only, never the engine; the engine (store/sqlite/) knows no HTTP, browser or socket.
 * Times are Unix ms. Secrets (the order, webhook secrets) are sealed at rest by the engine and wiped when the job ends.
 */
import type { Scope } from '../contract/api-key.js';
import type { CaptureData } from '../contract/capture-data.js';
import type { StoredError } from '../contract/capture-error.js';
import type { CaptureOptions, ExecutionMode, WebhookOptions } from '../contract/capture-request.js';
import type { DeliveryStatus } from '../contract/delivery.js';
import type { JobSnapshot, JobState, StoredJobState } from '../contract/job.js';

export interface Account {
  id: string;
  name: string;
  /** Credits a calendar month (UTC), null for none. */
  quota: number | null;
  createdAt: number;
}

/** Jobs of one account. */
export interface JobCounts {
  /** Queued and running now; ended in this period. */
  byState: Record<StoredJobState, number>;
  /** Failed in this period, by code. */
  byCode: Record<string, number>;
}

export interface AccountUsage {
  account: string;
  /** `2026-11`. */
  period: string;
  /** Settled in this period. */
  credits: number;
  reserved: number;
  quota: number | null;
}

export interface ApiKey {
  id: string;
  accountId: string;
  accountName: string;
  label: string;
  scopes: Scope[];
  /** First characters of the secret, enough to tell keys apart in a list. */
  prefix: string;
  createdAt: number;
  revokedAt: number | null;
}

export interface AccountStore {
  /** @returns null when the name is taken */
  createAccount(name: string, now: number): Promise<Account | null>;
  listAccounts(): Promise<Account[]>;
  findAccount(name: string): Promise<Account | null>;
  /** @returns false when there is no such account */
  setQuota(name: string, quota: number | null): Promise<boolean>;
  usage(accountId: string, now: number): Promise<AccountUsage>;
  jobCounts(accountId: string, now: number): Promise<JobCounts>;
}

export interface KeyStore {
  insertKey(key: Omit<ApiKey, 'accountName' | 'revokedAt'> & { hash: string }): Promise<void>;
  /** Revoked keys are found too: `revokedAt` tells. */
  findKeyByHash(hash: string): Promise<ApiKey | null>;
  listKeys(): Promise<ApiKey[]>;
  /** @returns null when there is no such key */
  findKey(id: string): Promise<ApiKey | null>;
  /** Replaces what signs a key's render links; the secret before it holds until then (Unix ms). @returns false for an unknown key */
  rotateSigningSecret(keyId: string, secret: string, previousUntil: number): Promise<boolean>;
  /** Those that hold now, the newest first. */
  signingSecrets(keyId: string, now: number): Promise<string[]>;
  /** By id or secret, or by at least 12 characters of either's beginning that fit exactly one key. */
  revokeKey(idOrPrefix: string, now: number): Promise<{ revoked: ApiKey } | { problem: 'not_found' | 'ambiguous' }>;
}

/** A submission as it is handed over. */
export interface NewJob {
  id: string;
  accountId: string;
  keyId: string;
  requestId: string;
  mode: ExecutionMode;
  idempotencyKey: string | null;
  /** Texts of contract/submission; the engine keeps keyed digests of them only. */
  identity: string;
  cacheIdentity: string | null;
  /** Seconds; 0: neither read the cache nor share a render in flight. */
  cacheTtl: number;
  options: CaptureOptions;
  webhook: WebhookOptions | null;
  /** Credits. */
  price: number;
  attemptBudget: number;
  enqueuedAt: number;
}

export interface AcceptRules {
  /** Waiting jobs (prioritized, waiting, delayed, followers of a shared render too) at which nothing more is taken. */
  maxQueue: number;
  webhookMaxAttempts: number;
  /** Artifacts whose files are missing: nobody is answered from them. */
  missing?: ReadonlySet<string>;
}

export type Acceptance =
  /** A new job, queued. */
  | { kind: 'queued'; job: JobSnapshot }
  /** A new job that follows an identical one in flight: it ends when that ends. */
  | { kind: 'shared'; job: JobSnapshot }
  /** A new job, completed at once from a kept result. */
  | { kind: 'cached'; job: JobSnapshot }
  /** The job that the idempotency key already names, whatever its state. */
  | { kind: 'replayed'; job: JobSnapshot }
  /** The idempotency key is bound to another key's or another configuration's job. */
  | { kind: 'conflict'; jobId: string; sameKey: boolean }
  | { kind: 'quota_exceeded'; quota: number; used: number; reserved: number; resetsAt: number }
  | { kind: 'queue_full'; waiting: number };

export interface ClaimedJob {
  id: string;
  accountId: string;
  requestId: string;
  mode: ExecutionMode;
  options: CaptureOptions;
  /** Counted from 1, this one included. */
  attempt: number;
  attemptBudget: number;
  enqueuedAt: number;
  claimedAt: number;
  workerId: string;
  /** When its first attempt began, whose capture budget a second one shares. */
  firstClaimedAt: number;
  /** When a second attempt was due; null on the first, and on one that a restart put back. */
  dueAt: number | null;
}

/** What a worker with a free slot asks for. */
export interface JobClaim {
  workerId: string;
  now: number;
  leaseMs: number;
  /** The slot is kept for accounts with nothing running, as soon as more than one account is active. */
  keptSlot?: boolean;
}

/** What names one claim: a step that finds another holder changes nothing and says so. */
export interface Claim {
  id: string;
  workerId: string;
  attempt: number;
}

export interface FinishedCapture {
  data: CaptureData;
  artifact: { name: string; bytes: number; sha256: string };
}

/** A job that a step has brought to its end; followers of a shared render are listed too. */
export interface EndedJob {
  id: string;
  requestId: string;
  accountId: string;
  state: 'completed' | 'failed';
  hasWebhook: boolean;
}

/** A page of jobs; `next` is null on the last. */
export interface JobPage {
  jobs: JobSnapshot[];
  next: number | null;
}

export interface JobStore {
  /** ONE transaction: idempotency → kept result → identical one in flight → queue limit → credits → job. */
  accept(job: NewJob, rules: AcceptRules): Promise<Acceptance>;
  /** The next job by fair turns between accounts, sync before async within one; null when none is due or the queue is paused. */
  claimNextJob(claim: JobClaim): Promise<ClaimedJob | null>;
  /** Keeps a claim alive, and tells progress (0–100). @returns false when the claim was lost */
  renewLease(claim: Claim, renewal: { now: number; leaseMs: number; progress: number }): Promise<boolean>;
  /**
   * ONE transaction: job, credits, kept result, artifact row, deliveries, and the first of its followers: `endFollowers` ends the
   * others. Empty when the claim was lost.
   */
  complete(claim: Claim, capture: FinishedCapture, now: number): Promise<EndedJob[]>;
  /** As `complete`, for a failure; followers with a longer timeout than this job's go on by themselves. */
  fail(claim: Claim, error: StoredError, now: number): Promise<EndedJob[]>;
  /** Ends the next few followers of an ended job, as it ended, in a transaction of their own. @returns null when none is left */
  endFollowers(leaderId: string): Promise<EndedJob[] | null>;
  /** Ended jobs that have followers left: a restart came between. */
  endedLeaders(): Promise<string[]>;
  /** Back to the queue as `delayed` until `dueAt`, for a second attempt. @returns false when the claim was lost */
  retryLater(claim: Claim, dueAt: number, now: number): Promise<boolean>;
  /** Puts back an unfinished claim as if it had not been made (drain). */
  release(claim: Claim): Promise<boolean>;
  /**
   * At boot and now and then: claims of `own` are renewed where their lease ran out (a clock that jumped). Other jobs whose lease ran out,
   * or (at boot) all active ones, are put back; those with no attempt left fail `render_crashed`.
   */
  recover(recovery: { now: number; all: boolean; own?: OwnClaims }): Promise<{ requeued: number; ended: EndedJob[] }>;
  findJob(id: string): Promise<JobSnapshot | null>;
  /** Jobs of a key, newest first. @param page.before the `next` of the page before, null for the first */
  listJobs(keyId: string, page: { state: JobState | null; before: number | null; limit: number }): Promise<JobPage>;
  findJobByIdempotencyKey(accountId: string, key: string): Promise<JobSnapshot | null>;
  /** When the next delayed job is due, null when none. */
  nextDueAt(): Promise<number | null>;
  /** When the newest job was submitted (Unix ms), null when none is kept. */
  newestJobAt(): Promise<number | null>;
  setQueuePaused(paused: boolean): Promise<void>;
  queueStatus(): Promise<QueueStatus>;
}

/** Claims that this process is at work on: it alone knows that they are alive, whatever the clock says. */
export interface OwnClaims {
  jobs: readonly Claim[];
  deliveries: readonly Pick<DueDelivery, 'deliveryId' | 'generation' | 'attempt'>[];
}

export interface QueueStatus {
  waiting: number;
  active: number;
  prioritized: number;
  delayed: number;
  completed: number;
  failed: number;
  paused: boolean;
}

export interface SettlementStatus {
  pending: number;
  settled: number;
  released: number;
  oldestPendingMs: number;
}

/** A delivery whose turn has come. */
export interface DueDelivery {
  deliveryId: string;
  jobId: string;
  generation: number;
  /** Counted from 1 within the generation, this one included. */
  attempt: number;
  maxAttempts: number;
  url: string;
  secret: string;
  job: JobSnapshot;
}

export type AttemptOutcome =
  | { kind: 'delivered'; status: number }
  | { kind: 'failed'; status: number | null; error: string }
  | { kind: 'retry'; status: number | null; error: string; nextAttemptAt: number };

export type Redelivery =
  | { kind: 'accepted'; status: DeliveryStatus }
  | { kind: 'delivery_unavailable' }
  | { kind: 'delivery_pending' }
  | { kind: 'generation_changed' };

export interface DeliveryStore {
  /**
   * Claims, for `leaseMs`, the delivery longest due of the account with the fewest claims; at most `perReceiver` claims at once of an
   * account to one origin, fewer to one that does not answer. Of `places` in all, an account leaves as many free as it takes.
   */
  claimNextDelivery(claim: { now: number; leaseMs: number; perReceiver: number; places?: number }): Promise<DueDelivery | null>;
  /** @returns false when the delivery's generation or attempt is not that one any more */
  recordAttempt(
    delivery: Pick<DueDelivery, 'deliveryId' | 'generation' | 'attempt'>,
    outcome: AttemptOutcome,
    now: number,
  ): Promise<boolean>;
  /** null when the job has no webhook. A job that is not terminal yet has a `pending` status with no event. */
  findDelivery(jobId: string): Promise<DeliveryStatus | null>;
  /** ONE step: of two simultaneous ones with the same generation, one wins. */
  redeliver(jobId: string, generation: number, now: number): Promise<Redelivery>;
  /** When a delivery whose receiver has a place free is due. */
  nextDeliveryDueAt(perReceiver: number): Promise<number | null>;
  webhookTotals(): Promise<{ delivered: number; failed: number; errors: number }>;
}

export interface ArtifactRow {
  name: string;
  bytes: number;
  sha256: string;
  createdAt: number;
  goneAt: number | null;
}

export interface RetentionStore {
  findArtifact(name: string): Promise<ArtifactRow | null>;
  /** The picture that `accept` would answer this submission from, if its file is there; null when none. */
  findKept(job: Pick<NewJob, 'accountId' | 'cacheIdentity' | 'cacheTtl' | 'enqueuedAt'>): Promise<string | null>;
  /** Its file is not there any more. @returns false when the row said so before, or is not there either */
  markGone(name: string, now: number): Promise<boolean>;
  /** Bytes on the disk: of pictures that are not gone, of the database with its log, and how much of that holds nothing (`free`). */
  storageUse(): Promise<{ pictures: number; database: number; free: number }>;
  /** Gives some of what holds nothing back to the disk. */
  shrinkDatabase(): Promise<void>;
  /**
   * Marks gone artifacts older than `before`; then, while all pictures take more than `maxBytes`, the oldest of the account that
   * takes most of the disk. At most `limit` a call. @returns their names
   */
  expireArtifacts(rules: { before: number; maxBytes: number; limit: number; now: number }): Promise<string[]>;
  /** Gives up (`failed`) deliveries whose event is more than 24 h ago; at most `limit`. @returns how many */
  expireDeliveries(rules: { now: number; limit: number }): Promise<number>;
  /** Deletes ended jobs (their idempotency and delivery records with them) ended before; at most `limit`. @returns how many */
  deleteJobs(rules: { before: number; limit: number }): Promise<number>;
  /** Which of these artifact names have a row that is not gone. */
  keptArtifacts(names: string[]): Promise<Set<string>>;
  /** Names of artifacts that are not gone, in order, behind `after`; at most `limit`. */
  artifactNames(page: { after: string; limit: number }): Promise<string[]>;
}

/** What a copy of the store refers to, as of its moment. */
export interface BackedUp {
  artifacts: Pick<ArtifactRow, 'name' | 'bytes'>[];
}

export interface Store extends AccountStore, KeyStore, JobStore, DeliveryStore, RetentionStore, AsyncDisposable {
  settlement(now: number): Promise<SettlementStatus>;
  /** A read and a write that prove the engine works; throws otherwise. */
  ping(): Promise<void>;
  /** A consistent copy while in use. @param file absolute path, must not exist */
  backup(file: string): Promise<BackedUp>;
}
