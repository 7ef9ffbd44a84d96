/**
 * What the HTTP edge needs from the rest of the program, and the state of one request. Everything is passed in as functions, so that
 * the edge can be tested over a real socket on its own.
 */
import type { HttpBindings } from '@hono/node-server';
import type { Principal } from '../account/authenticate.js';
import type { TokenBuckets } from '../account/token-buckets.js';
import type { OpenArtifact } from '../artifacts/artifacts.js';
import type { Health } from '../capture/health.js';
import type { LinkPicture } from '../capture/link-picture.js';
import type { DeliveryStatus } from '../contract/delivery.js';
import type { JobSnapshot, JobState, PublicPlaces } from '../contract/job.js';
import type { ModelTiles, TileOrder } from '../contract/model-tiles.js';
import type { QueryPair } from '../contract/render-link.js';
import type { ToleratedCode } from '../contract/request-fields.js';
import type { Submission } from '../contract/submission.js';
import type { WireUsage } from '../contract/usage.js';
import type { Log } from '../log.js';
import type { SubmissionTrace, Traces } from '../tracing/traces.js';
import type { ExpectedDelivery } from '../webhook/redeliver.js';
import type { ConsoleEdge } from './console-edge.js';

/** A kind of bucket, one per key or address (account/token-buckets). */
export type RateMeter = Pick<TokenBuckets, 'take' | 'peek'>;

/** `next` is null on the last page. */
export interface JobList {
  jobs: JobSnapshot[];
  next: number | null;
}

export interface SubmissionContext {
  principal: Principal;
  requestId: string;
  idempotencyKey: string | null;
  traceparent: string | null;
  /** Whether it is for a signed link. Default: no. */
  link?: boolean;
}

export interface Edge {
  /** @throws CaptureError `unauthorized` */
  authenticate(authorization: string | undefined): Promise<Principal>;
  /** Of a render link; null when its query cannot be read. @throws CaptureError `forbidden` */
  authenticateLink(pairs: readonly QueryPair[] | null): Promise<Principal>;
  limits: {
    /** By key id. */
    submissions: RateMeter;
    /** By key id. */
    reads: RateMeter;
    /** Renders that signed links start, by key id. */
    links: RateMeter;
    /** Failed authentications, by client address. */
    failures: RateMeter;
  };
  /** What a signed link can be answered with at once. @throws CaptureError */
  findLinkPicture(submission: Submission, principal: Principal): Promise<LinkPicture>;
  /** Resolves after durable acceptance. @throws CaptureError */
  submit(submission: Submission, context: SubmissionContext): Promise<JobSnapshot>;
  /** The job once it is terminal, or its current state when the sync budget is spent or nobody waits any more. */
  settle(job: JobSnapshot, nobodyWaits: AbortSignal): Promise<JobSnapshot>;
  /** null if there is none, or it belongs to another key. */
  findJob(id: string, principal: Principal): Promise<JobSnapshot | null>;
  listJobs(principal: Principal, page: { state: JobState | null; limit: number; before: number | null }): Promise<JobList>;
  readUsage(principal: Principal): Promise<WireUsage>;
  findRequest(idempotencyKey: string, principal: Principal): Promise<JobSnapshot | null>;
  /** The caller must own the job. @throws CaptureError `invalid_request` (404) if it has no webhook */
  findDelivery(jobId: string): Promise<DeliveryStatus>;
  /**
   * The caller must own the job; null stands for an `If-Match` that no delivery can have.
   *
   * @throws CaptureError `invalid_request` (409) with `details.reason`
   */
  redeliver(jobId: string, expected: ExpectedDelivery | null): Promise<DeliveryStatus>;
  /** `deleted` if there was such an artifact (410), null if there never was (404). */
  openPicture(name: string): Promise<OpenArtifact | 'deleted' | null>;
  /** A stored picture in tiles for a language model. @throws CaptureError `invalid_request`, 410 if it has been deleted */
  modelView(name: string, order: TileOrder): Promise<ModelTiles>;
  /** Never throws, and is cheap: it is called while the server is saturated, too. */
  health(): Promise<Health>;
  /** Prometheus text. */
  metrics?(): Promise<string>;
  /** Milliseconds by stage of a job that ended recently. */
  timingsOf?(jobId: string): Record<string, number> | null;
  /** Called for every response. */
  observe?(answer: { method: string; route: string; status: number; ms: number }): void;
  /** Absent or null: captures are not traced. */
  traces?: Pick<Traces, 'submission'> | null;
  /** Absent where the console is switched off. */
  console?: ConsoleEdge;
  /** Read at each request: the port may be known only once the server listens. */
  readonly places: PublicPlaces;
  /** Health says not ready; no new submissions, unless others take them over. */
  draining(): boolean;
  /** Whether other servers capture what this one still accepts while it drains. Default: no. */
  handsOver?(): boolean;
  config: EdgeConfig;
  log: Log;
}

export interface EdgeConfig {
  version: string;
  /** The OpenAPI document, made by the build. */
  openapiFile: URL;
  /** STILLFRAME_WEBHOOK_ALLOW. */
  webhookAllow: readonly string[];
  /** STILLFRAME_TOLERATE. */
  tolerate?: readonly ToleratedCode[];
  /** How long artifacts may be kept by caches. */
  artifactMaxAgeSeconds: number;
  /** False for a server that leaves the API to others: it has health and metrics only. */
  servesApi: boolean;
  /** null: `/metrics` is served to loopback only. */
  metricsToken: string | null;
}

/** The state of one request, for its response and its log line. */
export interface Exchange {
  requestId: string;
  /** `performance.now()`. */
  startedAt: number;
  /** The route pattern, never the path. */
  route: string;
  principal: Principal | null;
  /** Of the submission, once there is one. */
  trace: SubmissionTrace | null;
  /** Headers of the response, whatever its status. Lower-case names. */
  headers: Record<string, string>;
}

export interface EdgeEnv {
  Bindings: HttpBindings;
  Variables: { exchange: Exchange };
}
