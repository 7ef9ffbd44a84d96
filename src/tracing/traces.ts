/**
 * Interfaces for tracing captures. Everything else knows only these; the OpenTelemetry SDK behind them is loaded only when traces are
 * collected (open-traces.ts). A trace holds nothing that a caller keeps private: only the format of a capture, and the host of its target.
 */

/** One trace for each capture: its submission, its attempts, and the deliveries of its webhook. */
export interface Traces extends AsyncDisposable {
  submission(request: SubmissionFacts): SubmissionTrace;
  attempt(job: AttemptFacts): AttemptTrace;
  delivery(due: DeliveryFacts): DeliveryTrace;
}

/** A submission that was authenticated and understood. */
export interface SubmissionFacts {
  method: string;
  /** The route pattern. */
  route: string;
  requestId: string;
  /** Start time by `performance.now()`. */
  startedAt: number;
  /** The trace headers of the caller's request. */
  caller: { traceparent: unknown; tracestate: unknown };
  options: TracedOptions;
}

/** The part of `CaptureOptions` that a trace may use. */
export interface TracedOptions {
  url: string;
  html: string | null;
  files: object | null;
  baseUrl: string | null;
  format: string;
  fullPage: boolean;
}

export interface SubmissionTrace {
  /** The `traceparent` for the job, whose attempts may be made by another process. */
  readonly traceparent: string;
  /** @param cached whether a stored picture answered it */
  accepted(job: { id: string; cached: boolean }): void;
  failed(code: string): void;
  /** @param status of the response */
  end(status: number): void;
}

/** One attempt at a capture. */
export interface AttemptFacts {
  jobId: string;
  mode: string;
  /** Number of the attempt, counted from 1. */
  attempt: number;
  /** Time in ms that the job waited for this attempt. */
  queuedMs: number;
  traceparent: string | null;
  options: TracedOptions;
}

/** A stage of an attempt that has ended. Times are by `performance.now()`. */
export interface TracedStage {
  name: string;
  began: number;
  ended: number;
  failed: boolean;
}

export interface AttemptTrace {
  stages(stages: readonly TracedStage[]): void;
  /** @param code null unless it failed */
  end(result: { state: string; code: string | null }): void;
}

/** One attempt to deliver a webhook. */
export interface DeliveryFacts {
  jobId: string;
  deliveryId: string;
  generation: number;
  attempt: number;
  url: string;
  traceparent: string | null;
}

export interface DeliveryTrace {
  /** The `traceparent` for the receiver; null if it gets none. */
  readonly traceparent: string | null;
  /** @param status of the receiver's response; null without one */
  end(result: { outcome: string; status: number | null }): void;
}
