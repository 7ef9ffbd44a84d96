/**
 * What the service says of captures to those who trace them, and where it says it. Everything else knows only these interfaces; the
 * OpenTelemetry SDK behind them is loaded when traces are collected, and not otherwise (open-traces.ts).
 *
 * A trace holds nothing that a caller keeps private: of a capture's options its format, and of its target the host.
 */

/** One trace for each capture: its submission, its attempts, the deliveries of its webhook. */
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
  /** `performance.now()`. */
  startedAt: number;
  /** The headers of the caller's trace. */
  caller: { traceparent: unknown; tracestate: unknown };
  options: TracedOptions;
}

/** Of `CaptureOptions`. */
export interface TracedOptions {
  url: string;
  html: string | null;
  baseUrl: string | null;
  format: string;
  fullPage: boolean;
}

export interface SubmissionTrace {
  /** For the job, whose attempts may be made by another process. */
  readonly traceparent: string;
  /** @param cached whether a stored picture answered it */
  accepted(job: { id: string; cached: boolean }): void;
  failed(code: string): void;
  /** @param status of the response */
  end(status: number): void;
}

/** One attempt to capture. */
export interface AttemptFacts {
  jobId: string;
  mode: string;
  /** Counted from 1. */
  attempt: number;
  /** ms that the job waited for this attempt. */
  queuedMs: number;
  traceparent: string | null;
  options: TracedOptions;
}

/** A stage of an attempt that has ended. Times by `performance.now()`. */
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
  /** For the receiver; null if it is told of no trace. */
  readonly traceparent: string | null;
  /** @param status of the receiver's response; null without one */
  end(result: { outcome: string; status: number | null }): void;
}
