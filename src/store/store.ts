/**
 * Durable state: accounts, keys, jobs, credits and deliveries, as whole steps. Each step is atomic, and durable when its Promise resolves.
 * Callers know rows and outcomes only, never the engine; the engine (store/sqlite/, store/postgres/) knows no HTTP, browsers or sockets.
 * Times are Unix ms. The engine encrypts secrets (orders, webhook secrets) at rest, and deletes them when the job ends.
 */
import type { Scope } from '../contract/api-key.js';
import type { BatchCapture, BatchEvent, BatchPlace, BatchSnapshot } from '../contract/batch.js';
import type { CaptureData, UploadResult } from '../contract/capture-data.js';
import type { StoredError } from '../contract/capture-error.js';
import type { CaptureOptions, ExecutionMode, WebhookOptions } from '../contract/capture-request.js';
import type { DeliveryStatus } from '../contract/delivery.js';
import type { JobSnapshot, JobState, StoredJobState } from '../contract/job.js';
import type { KeptClock } from '../contract/kept-clock.js';
import type { Template, TemplateManifest, TemplateVersion } from '../contract/template.js';
import type {
  RunData,
  RunState,
  Schedule,
  Watch,
  WatchDefinition,
  WatchEvent,
  WatchMessage,
  WatchRun,
} from '../contract/watch.js';

export interface Account {
  id: string;
  name: string;
  /** Credits per calendar month (UTC); null for no limit. */
  quota: number | null;
  createdAt: number;
}

/** Jobs of one account. */
export interface JobCounts {
  /** Queued and running jobs, and jobs that ended in this period. */
  byState: Record<StoredJobState, number>;
  /** Jobs that failed in this period, by code. */
  byCode: Record<string, number>;
}

export interface AccountUsage {
  account: string;
  /** Month, such as `2026-11`. */
  period: string;
  /** Credits that were settled in this period. */
  credits: number;
  reserved: number;
  quota: number | null;
}

export interface Charge {
  accountId: string;
  price: number;
  /** Unix ms. */
  enqueuedAt: number;
}

export interface QuotaExceeded {
  kind: 'quota_exceeded';
  quota: number;
  used: number;
  reserved: number;
  resetsAt: number;
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
  /** Credits per calendar month (UTC) that its links may cost; null for no limit but the account's. */
  linksLimit: number | null;
}

export type NewKey = Omit<ApiKey, 'accountName' | 'revokedAt' | 'linksLimit'> & { hash: string };

export interface AccountStore {
  /** @returns null when the name is taken */
  createAccount(name: string, now: number): Promise<Account | null>;
  listAccounts(): Promise<Account[]>;
  findAccount(name: string): Promise<Account | null>;
  /** @returns false when there is no such account */
  setQuota(name: string, quota: number | null): Promise<boolean>;
  usage(accountId: string, now: number): Promise<AccountUsage>;
  /**
   * Charges credits for which there is no job, in the month of `enqueuedAt`. Negative ones give back what was charged at that time.
   * @returns why nothing was charged; null if it was
   */
  charge(charge: Charge): Promise<QuotaExceeded | null>;
  jobCounts(accountId: string, now: number): Promise<JobCounts>;
}

export interface KeyStore {
  insertKey(key: NewKey): Promise<void>;
  /**
   * Inserts the first key atomically: of several servers that start on an empty store, one makes it.
   * @returns false when there is a key
   */
  insertFirstKey(key: NewKey): Promise<boolean>;
  /** Finds a key, even a revoked one (see `revokedAt`). */
  findKeyByHash(hash: string): Promise<ApiKey | null>;
  listKeys(): Promise<ApiKey[]>;
  /** @returns null when there is no such key */
  findKey(id: string): Promise<ApiKey | null>;
  /**
   * Replaces the signing secret of a key. The previous one is valid until `previousUntil` (Unix ms).
   * @returns false for an unknown key
   */
  rotateSigningSecret(keyId: string, secret: string, previousUntil: number): Promise<boolean>;
  /** Returns the secrets that are valid now, newest first. */
  signingSecrets(keyId: string, now: number): Promise<string[]>;
  /** @returns false for an unknown key */
  setLinksLimit(keyId: string, limit: number | null): Promise<boolean>;
  /**
   * Sums the credits that the links of each key have cost in this month, reserved ones included. Keys whose links have cost nothing are
   * left out.
   */
  linkCredits(now: number): Promise<Map<string, number>>;
  /** Revokes the only key that matches: by id or secret, or by at least the first 12 characters of either. */
  revokeKey(idOrPrefix: string, now: number): Promise<{ revoked: ApiKey } | { problem: 'not_found' | 'ambiguous' }>;
}

/** A submission to accept. */
export interface NewJob {
  id: string;
  accountId: string;
  keyId: string;
  requestId: string;
  mode: ExecutionMode;
  idempotencyKey: string | null;
  /** Identity from contract/submission; the engine stores only keyed digests. */
  identity: string;
  cacheIdentity: string | null;
  /** Seconds; 0 neither reads the cache nor shares a render in flight. */
  cacheTtl: number;
  options: CaptureOptions;
  webhook: WebhookOptions | null;
  /** Price in credits. */
  price: number;
  /**
   * Whether it comes from a signed link: a stored picture or a render in flight answers it without a new job, and its price counts towards
   * the key's limit.
   */
  link: boolean;
  attemptBudget: number;
  enqueuedAt: number;
  /** The batch that it belongs to, and its place there; absent if there is none. */
  batch?: { id: string; index: number };
  /** The W3C trace context in which the capture is traced; null if it is not traced. */
  traceparent: string | null;
}

export interface AcceptRules {
  /** Number of waiting jobs (prioritized, waiting, delayed, including followers of a shared render) at which new ones are rejected. */
  maxQueue: number;
  webhookMaxAttempts: number;
  /** An artifact whose file was found to be missing, so that it must not be used for an answer. */
  missing?: string | null;
}

export type Acceptance =
  /** A new job, queued. */
  | { kind: 'queued'; job: JobSnapshot }
  /** A new job that follows an identical one in flight, and ends when that one ends. */
  | { kind: 'shared'; job: JobSnapshot }
  /** A new job, completed at once from a cached result. */
  | { kind: 'cached'; job: JobSnapshot }
  /** The existing job of the idempotency key, in any state; for a link, the one with the cached picture or the render in flight. */
  | { kind: 'replayed'; job: JobSnapshot }
  /** The idempotency key belongs to a job of another API key, with other options, or that has been removed. */
  | { kind: 'conflict'; jobId: string; sameKey: boolean; isRemoved: boolean }
  | QuotaExceeded
  | { kind: 'links_limit_exceeded'; limit: number; used: number; resetsAt: number }
  | { kind: 'queue_full'; waiting: number };

/** A link's request. `timeout` is that of its options. */
export type LinkRequest = Pick<NewJob, 'accountId' | 'cacheIdentity'> & Pick<CaptureOptions, 'timeout'>;

/** The stored picture and render that could answer a link. */
export interface LinkAnswer {
  /** The newest picture, of any age, with the job that rendered it; null if there is none, or it is deleted. */
  picture: { jobId: string; renderedAt: number; data: CaptureData } | null;
  /** Whether a job with at least the timeout of the link is rendering a new picture. */
  inFlight: boolean;
}

export interface ClaimedJob {
  id: string;
  accountId: string;
  requestId: string;
  mode: ExecutionMode;
  options: CaptureOptions;
  /** Number of this attempt, counted from 1. */
  attempt: number;
  attemptBudget: number;
  enqueuedAt: number;
  claimedAt: number;
  workerId: string;
  /** When its first attempt began, or if it waited for memory, when it had it; a second attempt shares the first one's time budget. */
  firstClaimedAt: number;
  /** When a second attempt was due; null for the first attempt, and after a restart. */
  dueAt: number | null;
  traceparent: string | null;
  isOfBatch: boolean;
}

/** A claim by a worker with a free slot. */
export interface JobClaim {
  workerId: string;
  now: number;
  leaseMs: number;
  /** Whether the slot is reserved for accounts with nothing running while more than one account is active. */
  keptSlot?: boolean;
  /** Whether the slot may take captures of batches. Default: yes. */
  takesBatches?: boolean;
}

/** Identifies one claim. A step for a claim that has been lost changes nothing and reports that. */
export interface Claim {
  id: string;
  workerId: string;
  attempt: number;
}

/** The end of a job. */
export interface Elapsed {
  /** From the submission of the job to its end, in ms, by a clock that does not jump; absent where nobody has measured it. */
  tookMs?: number;
}

export interface FinishedCapture extends Elapsed {
  data: CaptureData;
  artifact: StoredFile;
  /** The pictures after the first, which are kept and deleted together with it; absent if there are none. */
  further?: readonly StoredFile[];
  upload?: UploadResult;
}

export interface StoredFile {
  name: string;
  bytes: number;
  sha256: string;
}

/** A stored picture that a job has uploaded. */
export interface UploadedPicture extends Elapsed {
  /** Name of the artifact. */
  stored: string;
  upload: UploadResult;
}

/** A job that a step has ended, possibly as a follower of a shared render. */
export interface EndedJob {
  id: string;
  /** URL, as in JobSnapshot. */
  url: string;
  requestId: string;
  accountId: string;
  state: 'completed' | 'failed';
  /** Whether a delivery is due, also that of its batch. */
  hasWebhook: boolean;
  /** Whether jobs that share its render may be left, for `endFollowers`. */
  isFollowed: boolean;
  isOfBatch?: true;
}

export interface RemovedJob {
  /** The job if it had not ended, and so was canceled. */
  canceled: EndedJob | null;
  /** Names of artifacts whose files nobody needs any more. `dueRemovals` lists them as well. */
  artifacts: string[];
}

export interface JobPageRequest {
  /** The reported state; null for all. */
  state: JobState | null;
  before: number | null;
  limit: number;
  /** For a list of all jobs: a text that the address contains, in any case, and a key; null for all. */
  found?: { address: string; keyId: string | null };
}

export interface RecentJobs {
  hour: number;
  state: 'completed' | 'failed';
  /** Whether the picture was that of another job. */
  shared: boolean;
  jobs: number;
}

/** A page of jobs; `next` is null on the last. */
export interface JobPage {
  jobs: JobSnapshot[];
  next: number | null;
}

export interface JobStore {
  /** Finds the artifacts that `accept` would answer from now, the first one first; none for a repeated submission. */
  cachedArtifacts(job: NewJob): Promise<string[]>;
  findLinkAnswer(request: LinkRequest): Promise<LinkAnswer>;
  /** Accepts a submission in ONE transaction: idempotency → cached result → identical job in flight → queue limit → credits → job. */
  accept(job: NewJob, rules: AcceptRules): Promise<Acceptance>;
  /**
   * Claims the next jobs for some free slots, fairly between accounts and synchronous before asynchronous within one.
   * @returns the jobs in the order of the slots, which ends with the first slot for which none is due; none while the queue is paused
   */
  claimNextJobs(claims: readonly JobClaim[]): Promise<ClaimedJob[]>;
  /** Renews a claim's lease, and records progress (0–100). @returns false if the claim was lost */
  renewLease(claim: Claim, renewal: { now: number; leaseMs: number; progress: number }): Promise<boolean>;
  /**
   * Records the name of an artifact before it is stored. Unless this claim completes with it, it is to be removed (`dueRemovals`).
   * @returns false if the claim was lost
   */
  announceArtifact(claim: Claim, name: string): Promise<boolean>;
  /**
   * Completes a job in ONE transaction: job, credits, cached result, artifact row, deliveries, and its first followers; `endFollowers` ends
   * the others. A try that seemed to fail may have been committed, and its repetition returns the same jobs.
   * @returns the ended jobs; none if the claim was lost
   */
  complete(claim: Claim, capture: FinishedCapture | UploadedPicture, now: number): Promise<EndedJob[]>;
  /** Fails a job, like `complete`. Followers with a longer timeout than this job continue on their own. */
  fail(claim: Claim, error: StoredError & Elapsed, now: number): Promise<EndedJob[]>;
  /**
   * Ends some more followers of an ended job with its result, in a separate transaction.
   * @returns null if none is left
   */
  endFollowers(leaderId: string): Promise<EndedJob[] | null>;
  /**
   * Removes a job in ONE transaction, so that no look-up finds it. One that has not ended is canceled: its credits are released, its webhook
   * is notified, and jobs that share its render continue without it. One that has ended loses the pictures that no other job has, and a
   * delivery that is still pending. The idempotency key stays bound as long as jobs are kept.
   * @param keyId of the caller; null for any
   * @returns null if the key has no such job
   */
  removeJob(id: string, keyId: string | null, now: number): Promise<RemovedJob | null>;
  /** Finds ended jobs that still have followers because of a restart. */
  endedLeaders(): Promise<string[]>;
  /**
   * Returns a job to the queue as `delayed` until `dueAt`, for a second attempt.
   * @param begunAt when the time budget began to count, if that was after the first claim
   * @returns false if the claim was lost
   */
  retryLater(claim: Claim, dueAt: number, now: number, begunAt?: number): Promise<boolean>;
  /** Undoes a claim when the server drains. */
  release(claim: Claim): Promise<boolean>;
  /**
   * Recovers claims at the start and periodically: renews claims of `own` whose lease has expired (after a clock jump), and returns other
   * jobs whose lease has expired, or whose server has ended, to the queue. Those with no attempt left fail with `render_crashed`.
   */
  recover(recovery: {
    now: number;
    starting: boolean;
    own?: OwnClaims;
  }): Promise<{ requeued: number; ended: EndedJob[] }>;
  findJob(id: string): Promise<JobSnapshot | null>;
  /**
   * Lists the jobs of a key, newest first.
   * @param page.before the `next` of the page before, null for the first
   */
  listJobs(keyId: string, page: JobPageRequest): Promise<JobPage>;
  /**
   * Lists the jobs of all keys, newest first. A page may have fewer than `limit` although others follow, since it examines at most 1,000
   * jobs.
   */
  listAllJobs(page: JobPageRequest): Promise<JobPage>;
  /**
   * Lists the jobs before a job whose pictures are stored, of the same account and `url`, newest first: at most 20, of the 5,000 jobs of all
   * accounts before it.
   */
  earlierPictures(jobId: string): Promise<JobSnapshot[]>;
  /** Finds the options of those of these jobs that have not ended, secrets included. */
  findOrders(jobIds: readonly string[]): Promise<Map<string, CaptureOptions>>;
  findJobByIdempotencyKey(accountId: string, key: string): Promise<JobSnapshot | null>;
  /** Returns when the next delayed job is due; null if none is. */
  nextDueAt(): Promise<number | null>;
  /**
   * Counts the jobs that have ended since a time, by hour, of the latest 5,000.
   * @returns counts by the number of the hour after `since`, without empty ones
   */
  recentJobs(since: number): Promise<RecentJobs[]>;
  /** Returns when the newest job was submitted (Unix ms); null if there are no jobs. */
  newestJobAt(): Promise<number | null>;
  setQueuePaused(paused: boolean): Promise<void>;
  queueStatus(): Promise<QueueStatus>;
}

/** Claims that this process is working on, which are valid whatever the clock says. */
export interface OwnClaims {
  jobs: readonly Claim[];
  deliveries: readonly HeldDelivery[];
}

/** A batch to accept, without its jobs. */
export type NewBatch = Pick<
  NewJob,
  'id' | 'accountId' | 'keyId' | 'requestId' | 'idempotencyKey' | 'identity' | 'webhook' | 'enqueuedAt'
>;

export type BatchAcceptance =
  | { kind: 'accepted' | 'replayed'; batch: BatchSnapshot }
  /** As of jobs. */
  | { kind: 'conflict'; sameKey: boolean; isRemoved: boolean }
  | QuotaExceeded
  | { kind: 'queue_full' };

export interface BatchStore {
  /** Accepts all jobs of a batch, or none, in ONE transaction. Their webhooks are null, and their `batch` is this one. */
  acceptBatch(batch: NewBatch, jobs: readonly NewJob[], rules: AcceptRules): Promise<BatchAcceptance>;
  findBatch(id: string): Promise<BatchSnapshot | null>;
  /** Lists batches of all keys, newest first. */
  listBatches(page: { before: string | null; limit: number }): Promise<BatchSnapshot[]>;
  /** Lists jobs of a batch, failed ones first, then by their index. */
  batchCaptures(id: string, page: { after: BatchPlace | null; limit: number }): Promise<BatchCapture[]>;
  /** Completes the batches whose jobs have all ended, once each, and makes their webhooks due. */
  completeBatches(now: number): Promise<void>;
  /**
   * Removes a batch of a key (null: of any), so that no look-up finds it; its jobs are to be removed one by one (`jobsToClear`). If it had
   * not ended, its webhook is notified.
   * @returns false if there is no such batch
   */
  removeBatch(id: string, keyId: string | null, now: number): Promise<boolean>;
  /** Lists jobs of removed batches that are to be removed, those first that have not ended; marks batches without any as cleared. */
  jobsToClear(limit: number, now: number): Promise<string[]>;
  /** Deletes completed batches without jobs and pending deliveries that were completed before a time. */
  deleteBatches(before: number): Promise<void>;
}

/** Number of stored jobs by state. */
export type QueueStatus = Record<StoredJobState, number> & { paused: boolean };

export interface SettlementStatus {
  pending: number;
  settled: number;
  released: number;
  oldestPendingMs: number;
}

/** A claimed delivery. */
export interface DueDelivery {
  deliveryId: string;
  /** The id of the job, or of the batch. */
  jobId: string;
  generation: number;
  /** Number of this attempt, counted from 1 within the generation. */
  attempt: number;
  maxAttempts: number;
  url: string;
  secret: string;
  ended: NotifiedEnd;
  traceparent: string | null;
}

/** The job or batch of whose end a webhook is notified. */
export type NotifiedEnd =
  | { kind: 'job'; job: JobSnapshot }
  | { kind: 'batch'; batch: BatchSnapshot; event: BatchEvent };

/** Identifies one attempt. */
export type HeldDelivery = Pick<DueDelivery, 'deliveryId' | 'generation' | 'attempt'>;

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
   * Claims, for `leaseMs`, the most overdue delivery of the account with the fewest claims. Allows at most `perReceiver` concurrent claims
   * of an account to one origin, fewer if it does not respond; an account leaves as many of the `atOnce` slots free as it uses.
   */
  claimNextDelivery(claim: {
    now: number;
    leaseMs: number;
    perReceiver: number;
    atOnce?: number;
  }): Promise<DueDelivery | null>;
  /** @returns false if the delivery's generation or attempt has changed */
  recordAttempt(delivery: HeldDelivery, outcome: AttemptOutcome, now: number): Promise<boolean>;
  /** Returns null if the job has no webhook. A job that is not terminal has a `pending` status without an event. */
  findDelivery(jobId: string): Promise<DeliveryStatus | null>;
  /** Sends again, atomically: of two concurrent calls with the same generation, one succeeds. */
  redeliver(jobId: string, generation: number, now: number): Promise<Redelivery>;
  /** Returns when the next delivery is due whose receiver has a free slot. */
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
  /** Whether this server removes what has expired: with many servers on one store, the oldest few do so for all. */
  cleansUp(): boolean;
  findArtifact(name: string): Promise<ArtifactRow | null>;
  /** Keeps an artifact that no job has made, such as a picture of differences. It expires like every other. */
  keepArtifact(artifact: {
    name: string;
    bytes: number;
    sha256: string;
    accountId: string;
    createdAt: number;
  }): Promise<void>;
  /**
   * Records that the file has been deleted.
   * @returns false if that is recorded already, or the row does not exist
   */
  markGone(name: string, now: number): Promise<boolean>;
  /** Returns bytes on disk: of pictures that are not deleted, of the database with its log, and the unused part of the latter (`free`). */
  storageUse(): Promise<{ pictures: number; database: number; free: number }>;
  /** Releases some of the unused space. */
  shrinkDatabase(): Promise<void>;
  /**
   * Marks artifacts as deleted and due for removal: those older than `before`; then, while all pictures exceed `maxBytes`, the oldest of
   * the account that uses the most space. Expires at most `limit` per call.
   * @returns their names
   */
  expireArtifacts(rules: { before: number; maxBytes: number; limit: number; now: number }): Promise<string[]>;
  /**
   * Records the name of the files of a request before they are stored, for a job that is about to be accepted. They are to be removed
   * (`dueRemovals`) once that job has ended, or if it has not been accepted within ten minutes.
   * @returns false if too many unfinished jobs have files
   */
  announceFiles(files: { name: string; jobId: string; accountId: string }): Promise<boolean>;
  /**
   * Lists artifacts and files of requests that are to be removed from the storage, in order, after `after`, at most `limit`, without those
   * of live claims and of unfinished jobs.
   */
  dueRemovals(page: { after: string; limit: number; now: number }): Promise<string[]>;
  /** Forgets artifacts that have been removed. */
  forgetRemovals(names: readonly string[]): Promise<void>;
  /**
   * Fails at most `limit` deliveries whose event is more than 24 h ago.
   * @returns their number
   */
  expireDeliveries(rules: { now: number; limit: number }): Promise<number>;
  /**
   * Deletes at most `limit` jobs that ended before `before`, with their idempotency and delivery records.
   * @returns their number
   */
  deleteJobs(rules: { before: number; limit: number }): Promise<number>;
  /** Returns those of these artifacts that have a row that is not marked as deleted, and those files of requests that are recorded. */
  keptArtifacts(names: string[]): Promise<Set<string>>;
  /** Lists artifacts that are not deleted, in order, after `after`, at most `limit`. */
  artifactNames(page: { after: string; limit: number }): Promise<string[]>;
}

/** A link or a session of the console, identified by the hash of its secret. */
export interface ConsoleGrant {
  hash: string;
  createdAt: number;
  expiresAt: number;
}

/** Access to the console. A limited number of links and of sessions is kept: new ones replace the oldest. */
export interface ConsoleStore {
  addConsoleLink(link: ConsoleGrant): Promise<void>;
  /**
   * Exchanges a link in ONE transaction: the link can no longer be used, and the session exists.
   * @returns false, without a session, if no such link exists or it has expired
   */
  exchangeConsoleLink(linkHash: string, session: ConsoleGrant): Promise<boolean>;
  /** @returns null if there is none, or it has expired */
  findConsoleSession(hash: string, now: number): Promise<ConsoleGrant | null>;
  countConsoleSessions(now: number): Promise<number>;
  /** @returns false if there was none */
  endConsoleSession(hash: string): Promise<boolean>;
  /**
   * Ends all sessions and invalidates all links.
   * @returns the number of sessions, expired ones included
   */
  endConsoleAccess(): Promise<number>;
}

/** The artifacts that a copy of the store refers to. */
export interface BackedUp {
  artifacts: Pick<ArtifactRow, 'name' | 'bytes'>[];
}

/** The parts of a watch that decide when it is due. */
export interface WatchTimes {
  schedule: Schedule;
  startsAt: number | null;
  endsAt: number | null;
  createdAt: number;
}

/** A watch whose time has come, or whose next time is to be found anew. */
export interface DueWatch extends WatchTimes {
  id: string;
  nextAt: number;
}

/** Identifies one claim of a run or message. A step for a claim that has been lost changes nothing and reports that. */
export interface HeldWork {
  id: string;
  claim: string;
}

export interface EndedRun {
  state: Exclude<RunState, 'queued' | 'running'>;
  share: number | null;
  /** Names of artifacts, which are kept as long as the run. */
  picture: string | null;
  changes: string | null;
  data: RunData | null;
  error: StoredError | null;
  /** The watch after the run. */
  failures: number;
  alarm: Watch['alarm'];
  /** Whether the next run is compared with this one. */
  isPrevious: boolean;
  /** The events that are sent to each recipient. */
  events: WatchEvent[];
}

export interface WatchStore {
  /** @returns false if the account has `max` watches */
  insertWatch(watch: Watch, max: number): Promise<boolean>;
  findWatch(id: string): Promise<Watch | null>;
  /** Lists watches, newest first: those of a key, or all. */
  listWatches(page: { keyId: string | null; before: string | null; limit: number }): Promise<Watch[]>;
  /** Replaces the definition of a watch. @returns false if it has changed since it was read */
  updateWatch(
    watch: Pick<Watch, 'id' | 'updatedAt' | 'nextAt'> & { definition: WatchDefinition },
    readAt: number,
  ): Promise<boolean>;
  /** Removes a watch with its runs, whose pictures then expire like every other. */
  deleteWatch(id: string): Promise<boolean>;
  anyWatch(): Promise<boolean>;
  /** Lists watches that are due, or all that have a next time after `after`, in the order of their ids. */
  dueWatches(now: number, limit: number): Promise<DueWatch[]>;
  scheduledWatches(page: { after: string; limit: number }): Promise<DueWatch[]>;
  /** Moves the next time of a watch, if it is still `nextAt`. */
  reschedule(watch: Pick<DueWatch, 'id' | 'nextAt'>, nextAt: number | null): Promise<void>;
  /**
   * Starts the run of a due time, once whoever asks: `nextAt` moves in the same transaction. If the run before has not ended, the run is
   * skipped with `overlap`.
   */
  fire(
    watch: Pick<DueWatch, 'id' | 'nextAt'>,
    fired: { runId: string; nextAt: number | null; now: number; overlap: StoredError },
  ): Promise<void>;
  /** Starts a run on request. @returns it, or the one that has not ended */
  requestRun(run: { id: string; watchId: string; now: number }): Promise<WatchRun | null>;
  findRun(id: string): Promise<WatchRun | null>;
  /** Lists the runs of a watch, newest first, without their texts. */
  listRuns(page: { watchId: string; before: string | null; limit: number }): Promise<WatchRun[]>;
  lastRuns(watchIds: readonly string[]): Promise<WatchRun[]>;
  /** Claims a submitted run whose job has ended, or whose time has come. */
  claimRunning(claim: string, now: number, leaseMs: number): Promise<WatchRun | null>;
  /** Accounts with queued runs that are due, and the number of submitted runs of all. */
  queuedRuns(now: number): Promise<{ accounts: string[]; running: number }>;
  claimQueued(accountId: string, claim: string, now: number, leaseMs: number): Promise<WatchRun | null>;
  /** Ends a claim without ending the run. @returns false if the claim was lost */
  releaseRun(
    held: HeldWork,
    run: Pick<WatchRun, 'state' | 'attempt' | 'jobId' | 'startedAt'> & { wakeAt: number },
  ): Promise<boolean>;
  /** Ends a run in ONE transaction: run, watch, pictures, messages, and runs that are no longer kept. @returns false if the claim was lost */
  endRun(held: HeldWork, watch: Watch, ended: EndedRun, now: number): Promise<boolean>;
  /** Deletes runs that are older than their watch keeps them. */
  pruneRuns(now: number, limit: number): Promise<number>;
  approveRun(watchId: string, runId: string): Promise<boolean>;
  messagesOf(runId: string): Promise<WatchMessage[]>;
  /** Accounts with messages that are due. */
  dueMessages(now: number): Promise<string[]>;
  claimMessage(accountId: string, claim: string, now: number, leaseMs: number): Promise<WatchMessage | null>;
  recordMessage(held: HeldWork, outcome: AttemptOutcome, now: number): Promise<boolean>;
  /** Sends the messages of a run that have ended again. @returns their number */
  redeliverMessages(runId: string, now: number): Promise<number>;
  /** Frees what a former process of a store that is not shared had claimed. */
  freeWatchClaims(now: number): Promise<void>;
  /** When the next run, and when the next message is due; null if none is. */
  nextRunDueAt(): Promise<number | null>;
  nextMessageDueAt(): Promise<number | null>;
  /** Signs a text for a link; `isLinkSigned` returns whether a signature is that of any key. */
  signLink(text: string): string;
  isLinkSigned(text: string, signature: string): boolean;
}

/** A template with sums of all of its versions; the other fields are those of the newest. */
export interface TemplateEntry {
  name: string;
  version: number;
  manifest: TemplateManifest;
  createdAt: number;
  versions: number;
  bytes: number;
}

export interface TemplateStore {
  /**
   * Stores the next version of a template.
   * @param limits of an account: versions of a template, templates, and bytes of all versions
   * @returns null if there would be more
   */
  insertTemplate(
    template: Omit<Template, 'version'>,
    content: Buffer,
    limits: { versions: number; templates: number; bytes: number },
  ): Promise<Template | null>;
  /** Finds a version; the newest for null. */
  findTemplate(wanted: { accountId: string; name: string; version: number | null }): Promise<Template | null>;
  /** The content of all files of a version, one after the other; null if it has been deleted. */
  templateContent(id: string): Promise<Buffer | null>;
  /** Lists the versions of a template, newest first. */
  templateVersions(accountId: string, name: string): Promise<TemplateVersion[]>;
  /** Lists the templates of an account by name. */
  listTemplates(accountId: string): Promise<TemplateEntry[]>;
  /** Deletes a template with all versions. @returns their number */
  deleteTemplate(accountId: string, name: string): Promise<number>;
  /** Deletes a version unless it is the newest, whose number would be given again. */
  deleteTemplateVersion(accountId: string, name: string, version: number): Promise<boolean>;
}

/** A notification between servers that share a store: a hint to look again, which may be lost. */
export type StoreEvent =
  /** A job can be claimed. */
  | { kind: 'queued' }
  | { kind: 'ended'; jobId: string }
  /** A job was canceled, and its worker is to stop. */
  | { kind: 'canceled'; jobId: string }
  /** A delivery can be claimed. */
  | { kind: 'due' }
  /** Another server has ended, and its claims are to be recovered. */
  | { kind: 'node_lost' }
  /** Events may have been lost. */
  | { kind: 'missed' };

/** Facts that a server shares with the others. */
export interface NodeFacts {
  /** Host name and process id. */
  name: string;
  version: string;
  roles: string[];
  /** Number of browsers that can take a capture. */
  readyBrowsers: number;
  /** Whether its browsers run in Chromium's sandbox; false if it has none. */
  sandboxed: boolean;
  /** Number of running captures. */
  running: number;
  concurrency: number;
}

export interface NodeRow {
  id: string;
  startedAt: number;
  /** When it last reported that it is alive. */
  seenAt: number;
  facts: NodeFacts;
}

/** The engine itself, and its clock. */
export interface EngineStore extends AsyncDisposable {
  /** Whether other servers may work on the same store. */
  shared: boolean;
  /** Returns the time of the store (Unix ms), which its steps expect: that of the database if several servers share it. */
  now(): number;
  /** Returns the clock of the last run; null if there is none, or if the database's own clock decides. */
  keptClock(): Promise<KeptClock | null>;
  /**
   * Stores the clock for the next run.
   * @returns false if an operator has accepted the machine's clock since the last call
   */
  keepClock(clock: KeptClock): Promise<boolean>;
  /**
   * Makes servers trust the machine's clock.
   * @throws StoreError if the database's own clock decides
   */
  acceptClock(now: number): Promise<void>;
  /** Calls the listener for events on any of the servers that share the store; never for a store that is not shared. */
  watch(listener: (event: StoreEvent) => void): void;
  /** Returns those of these jobs that have ended on another server; none for a store that is not shared. */
  endedAmong(ids: readonly string[]): Promise<string[]>;
  /** Lists the servers that share the store and have been heard of in the last 5 s, oldest first; none for a store that is not shared. */
  nodes(): Promise<NodeRow[]>;
  settlement(now: number): Promise<SettlementStatus>;
  /** Proves with a read and a write that the engine works; throws otherwise. */
  ping(): Promise<void>;
  /**
   * Reads the whole database.
   * @returns a description of the damage; null if there is none, or if the database has tools of its own for that
   */
  findDamage(): Promise<string | null>;
  /**
   * Makes a consistent copy while the store is in use.
   * @param file absolute path, must not exist
   */
  backup(file: string): Promise<BackedUp>;
}

export interface Store
  extends AccountStore,
    KeyStore,
    JobStore,
    BatchStore,
    DeliveryStore,
    RetentionStore,
    ConsoleStore,
    WatchStore,
    TemplateStore,
    EngineStore {}
