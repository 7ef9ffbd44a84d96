import type { CaptureData } from '../../contract/capture-data.js';
import type { Comparison } from '../../contract/comparison.js';
import type { JobSnapshot } from '../../contract/job.js';
import type { ModelTiles } from '../../contract/model-tiles.js';
import type { Watches, WatchPage } from '../../watch/watches.js';
import type { JobsPage } from '../jobs-page.js';

/** A page of jobs; `next` is null on the last. */
export interface JobList {
  jobs: JobSnapshot[];
  next: number | null;
}

export interface WatchReader {
  list(page: WatchPage): ReturnType<Watches['list']>;
  runs(id: string, page: WatchPage): ReturnType<Watches['runs']>;
}

/**
 * The functions that the tools call on behalf of one caller, by the HTTP API with the caller's key or by the engine in this process.
 * Every function throws what the HTTP API would answer, as a CaptureError.
 */
export interface McpBackend {
  /** Checks that the caller may capture now. @throws CaptureError `forbidden`, `rate_limited`, `internal_error` (503) */
  admitCapture(): void;
  /** Checks that the caller may read jobs. @throws CaptureError `forbidden` */
  admitRead(): void;
  /** Checks that the caller may be shown a stored picture, whose tiles take about as long as a small capture. @throws CaptureError `rate_limited` */
  admitPicture(): void;
  /** Accepts a request body as POST /v1/screenshot does, and waits for its end within the sync budget. */
  submit(body: Record<string, unknown>, idempotencyKey: string | null): Promise<JobSnapshot>;
  /** null if there is none, or it belongs to another key. */
  findJob(id: string): Promise<JobSnapshot | null>;
  listJobs(page: JobsPage): Promise<JobList>;
  /** Reads watches on behalf of the caller. @throws CaptureError `forbidden`, `unsupported_option` where there are none */
  watches(): Promise<WatchReader>;
  tiles(data: CaptureData, from: number): Promise<ModelTiles>;
  /** Compares the pictures of two jobs. @returns the comparison, and the picture of the differences, if there are any */
  compare(
    jobs: { before: string; after: string },
    threshold: number,
  ): Promise<{ comparison: Comparison; tiles: ModelTiles | null }>;
  /** Logs the cause of an error that is not the caller's. */
  report(thrown: unknown): void;
  requestId(): string;
  /** The beginning of `cdn_url` and `docs_url`; null without a server, where there is neither. */
  readonly baseUrl: string | null;
  readonly version: string;
  /** For the model, about this way of running. */
  readonly note: string;
}
