/** The services of the program that the HTTP layer uses, and the state of one request. */
import type { HttpBindings } from '@hono/node-server';
import type { Principal } from '../account/authenticate.js';
import type { TokenBuckets } from '../account/rate-limits.js';
import type { OpenArtifact } from '../artifacts/artifacts.js';
import type { AppStore, NodeFacts } from '../capture/app-store.js';
import type { BatchContext } from '../capture/batches.js';
import type { FoundPicture, Side } from '../capture/compare.js';
import type { Health } from '../capture/health.js';
import type { LinkPicture } from '../capture/open-picture.js';
import type { SubmitContext } from '../capture/submit.js';
import type { Templates } from '../capture/templates.js';
import type { Thumbnail } from '../capture/thumbnails.js';
import type { FoundPdf, MadePdf, PdfFacts, PdfRequest } from '../capture/work-on-pdfs.js';
import type { BatchSnapshot, BatchSubmission } from '../contract/batch.js';
import type { Comparison, ComparisonOptions, PictureSource } from '../contract/comparison.js';
import type { CompatibleApi } from '../contract/compatible-apis.js';
import type { ConcurrencyLimiter } from '../contract/concurrency-limiter.js';
import type { FairQueue } from '../contract/fair-queue.js';
import type { JobSnapshot, PublicPlaces } from '../contract/job.js';
import type { ModelTiles, TileSelection } from '../contract/model-tiles.js';
import type { PdfSource } from '../contract/pdf-work.js';
import type { ToleratedCode } from '../contract/request-fields.js';
import type { Submission } from '../contract/submission.js';
import type { Log } from '../log.js';
import type { SubmissionTrace, Traces } from '../tracing/traces.js';
import type { Watches } from '../watch/watches.js';

/** A kind of bucket, one per key or address (account/rate-limits.ts). */
export type RateMeter = Pick<TokenBuckets, 'take' | 'peek'>;

/** Functions are those of capture/ with the parts of the program that routes do not know, such as egress and the storage. */
export interface AppServices {
  store: AppStore;
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
  /** Finds a stored picture that can answer a signed link at once. @throws CaptureError */
  findLinkPicture(submission: Submission, accountId: string): Promise<LinkPicture>;
  /** Resolves after durable acceptance. @throws CaptureError */
  submit(submission: Submission, context: SubmitContext): Promise<JobSnapshot>;
  /** The job once it is terminal, or its current state when the sync budget is spent or nobody waits any more. @throws CaptureError if it is canceled */
  waitForJob(job: JobSnapshot, signal: AbortSignal): Promise<JobSnapshot>;
  batches: {
    /** Resolves after durable acceptance. @throws CaptureError */
    submit(submission: BatchSubmission, context: BatchContext): Promise<BatchSnapshot>;
    /** Cancels or deletes a batch of a key, or of any. @returns false if there is no such batch */
    remove(id: string, keyId: string | null): Promise<boolean>;
  };
  /** Cancels or deletes a job of a key, or of any. @returns null if there is no such job */
  removeJob(id: string, keyId: string | null): Promise<{ canceled: boolean } | null>;
  /** `deleted` if there was such an artifact (410), null if there never was (404). */
  openPicture(name: string): Promise<OpenArtifact | 'deleted' | null>;
  /** A stored picture in tiles for a language model. @throws CaptureError `invalid_request`, 410 if it has been deleted */
  modelView(name: string, selection: TileSelection): Promise<ModelTiles>;
  comparisons: {
    /** Takes a place, which must precede everything that a comparison costs. @throws CaptureError `rate_limited` */
    enter(accountId: string): Disposable;
    /** Finds a picture, so that what cannot be compared is refused before anything is captured for it. @throws CaptureError */
    find(
      query: { side: Side; source: Exclude<PictureSource, { kind: 'capture' }> },
      principal: Principal,
    ): Promise<FoundPicture>;
    /** Compares two pictures until `signal` aborts. @returns the comparison, and the name of the artifact that shows the changes. @throws CaptureError */
    compare(
      comparison: { before: FoundPicture; after: FoundPicture; options: ComparisonOptions },
      who: { principal: Principal; signal: AbortSignal },
    ): Promise<{ comparison: Comparison; artifact: string | null }>;
  };
  pdfs: {
    /** Waits for a place, which must precede everything that the work costs. @throws CaptureError `rate_limited` */
    enter(accountId: string, signal: AbortSignal): Promise<Disposable>;
    /** Finds a stored PDF. @throws CaptureError */
    find(
      query: { field: string; source: Exclude<PdfSource, { kind: 'part' }> },
      principal: Principal,
    ): Promise<FoundPdf>;
    /** Works on PDFs until `signal` aborts, and charges for it. @throws CaptureError */
    work(request: PdfRequest, who: { principal: Principal; signal: AbortSignal }): Promise<MadePdf[]>;
    /** Reads what PDFs say about themselves, and charges for it. @throws CaptureError */
    read(files: readonly FoundPdf[], who: { principal: Principal; signal: AbortSignal }): Promise<PdfFacts[]>;
  };
  templates: Templates;
  /** The watches, whose code is loaded when it is first asked for. */
  watches(): Promise<Watches>;
  /** Turns of the threads that read what callers send. */
  threads: Pick<FairQueue, 'take'>;
  /** Requests with files. */
  uploads: {
    /** For the time in which a request is received. */
    places: Pick<ConcurrencyLimiter, 'wait'>;
    /** For a conversion of a compatible API, until it has ended. */
    conversions: Pick<ConcurrencyLimiter, 'wait'>;
    /** The place where a request is kept while it is received. */
    dir: string;
  };
  /** Called when there is a delivery to claim. */
  onDeliveryDue(): void;
  /** Never throws, and is cheap: it is called while the server is saturated, too. */
  health(): Promise<Health>;
  /** Prometheus text. */
  metrics(): Promise<string>;
  /** Milliseconds by stage of a job that ended recently. */
  timingsOf(jobId: string): Record<string, number> | null;
  /** Called for every response. */
  observe(answer: { method: string; route: string; status: number; ms: number }): void;
  /** null: captures are not traced. */
  traces: Pick<Traces, 'submission'> | null;
  /** Absent where the console is switched off. */
  console?: ConsoleServices;
  /** Read at each request: the port may be known only once the server listens. */
  readonly places: PublicPlaces;
  /** Health says not ready; no new submissions, unless others take them over. */
  draining(): boolean;
  /** Whether other servers capture what this one still accepts while it drains. */
  handsOver(): boolean;
  /** Unix ms, by the clock of the store. */
  now(): number;
  config: AppConfig;
  log: Log;
}

export interface ConsoleServices {
  /** Whether only this machine may open it. */
  loopbackOnly: boolean;
  /** The limit of all pictures together. */
  maxStorageBytes: number;
  /** This server; `startedAt` is Unix ms. */
  ownNode(): { startedAt: number; facts: NodeFacts };
  /** A small webp of a stored picture; null if there never was such a picture. @throws CaptureError `internal_error` (503) */
  thumbnail(name: string): Promise<Thumbnail | null>;
  /** Called when the queue was paused or resumed. */
  onQueueChanged(): void;
}

export interface AppConfig {
  version: string;
  /** The OpenAPI document, made by the build. */
  openapiFile: URL;
  /** The thread that parses large bodies, made by the build. */
  jsonThread: URL;
  /** STILLFRAME_WEBHOOK_ALLOW. */
  webhookAllow: readonly string[];
  /** STILLFRAME_TOLERATE. */
  tolerate: readonly ToleratedCode[];
  /** STILLFRAME_ALLOW_INSECURE_TLS. */
  allowInsecureTls: boolean;
  /** Whether STILLFRAME_FFMPEG is set. */
  mp4: boolean;
  /** The time for which caches may keep artifacts. */
  artifactMaxAgeSeconds: number;
  /** False for a server that leaves the API to others: it has health and metrics only. */
  servesApi: boolean;
  /** STILLFRAME_ALLOWED_HOSTS. */
  allowedHosts: readonly string[];
  /** The number of captures that may run at the same time. */
  concurrency: number;
  /** STILLFRAME_MAX_QUEUE. */
  maxQueue: number;
  /** STILLFRAME_COMPATIBLE_APIS. */
  compatibleApis: readonly CompatibleApi[];
  /** STILLFRAME_COMPATIBLE_APIS_KEY. Secret. */
  compatibleApisKey: string | null;
  /** STILLFRAME_GOTENBERG_UPSTREAM. */
  gotenbergUpstream: string | null;
  /** The thread that converts Markdown for Gotenberg's interface, made by the build. */
  markdownFormThread: URL;
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
  /** The trace of the submission, once there is one. */
  trace: SubmissionTrace | null;
  /** Headers of the response, whatever its status. Lower-case names. */
  headers: Record<string, string>;
}

export interface AppEnv {
  Bindings: HttpBindings;
  Variables: { exchange: Exchange };
}
