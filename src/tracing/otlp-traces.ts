import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Log } from '../log.js';
import type { TracingConfig } from '../tracing-config.js';
import { TracePipeline } from './trace-pipeline.js';
import type {
  AttemptFacts,
  AttemptTrace,
  DeliveryFacts,
  DeliveryTrace,
  SubmissionFacts,
  SubmissionTrace,
  TracedOptions,
  TracedStage,
  Traces,
} from './traces.js';

const propagator = new W3CTraceContextPropagator();

/** Traces as spans of the OpenTelemetry SDK, named by its semantic conventions where there are any. */
export class OtlpTraces implements Traces {
  readonly #pipeline: TracePipeline;
  readonly #propagates: boolean;

  constructor(config: TracingConfig, about: { version: string; instance: string; log: Log }) {
    this.#pipeline = new TracePipeline(config, about);
    this.#propagates = config.propagates;
  }

  submission({ method, route, requestId, startedAt, caller, options }: SubmissionFacts): SubmissionTrace {
    const attributes = {
      'http.request.method': method,
      'http.route': route,
      'stillframe.request_id': requestId,
      ...requestAttributes(options),
    };
    const parent = this.#propagates ? contextOf(caller) : ROOT_CONTEXT;
    const { tracer } = this.#pipeline;
    const span = tracer.startSpan(
      `${method} ${route}`,
      { kind: SpanKind.SERVER, startTime: timeOf(startedAt), attributes },
      parent,
    );
    return {
      traceparent: traceparentOf(span),
      accepted: ({ id, cached }) => void span.setAttributes({ 'stillframe.job_id': id, 'stillframe.cached': cached }),
      failed: (code) => void span.setAttribute('error.type', code),
      end(status) {
        span.setAttribute('http.response.status_code', status);
        // By the conventions, a client's mistake is no error of the server.
        if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  }

  attempt({ jobId, mode, attempt, queuedMs, traceparent, options }: AttemptFacts): AttemptTrace {
    const { tracer } = this.#pipeline;
    const claimedAt = performance.now();
    const queuedAt = claimedAt - queuedMs;
    const attributes = {
      'stillframe.job_id': jobId,
      'stillframe.mode': mode,
      'stillframe.attempt': attempt,
      ...requestAttributes(options),
    };
    const parent = contextOf({ traceparent });
    const span = tracer.startSpan(
      'capture',
      { kind: SpanKind.CONSUMER, startTime: timeOf(queuedAt), attributes },
      parent,
    );
    const context = trace.setSpan(parent, span);
    const stages = (all: readonly TracedStage[]) => addStages(tracer, context, all);
    stages([{ name: 'queue', began: queuedAt, ended: claimedAt, failed: false }]);
    return {
      stages,
      end({ state, code }) {
        span.setAttribute('stillframe.state', state);
        fail(span, code);
        span.end();
      },
    };
  }

  delivery({ jobId, deliveryId, generation, attempt, url, traceparent }: DeliveryFacts): DeliveryTrace {
    const { hostname } = new URL(url);
    const attributes = {
      'http.request.method': 'POST',
      'server.address': hostname,
      'stillframe.job_id': jobId,
      'stillframe.delivery_id': deliveryId,
      'stillframe.delivery_generation': generation,
      'stillframe.attempt': attempt,
    };
    const span = this.#pipeline.tracer.startSpan(
      'webhook',
      { kind: SpanKind.CLIENT, attributes },
      contextOf({ traceparent }),
    );
    return {
      traceparent: this.#propagates ? traceparentOf(span) : null,
      end({ outcome, status }) {
        span.setAttribute('stillframe.outcome', outcome);
        if (status !== null) span.setAttribute('http.response.status_code', status);
        fail(span, outcome === 'delivered' ? null : String(status ?? 'transport'));
        span.end();
      },
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#pipeline[Symbol.asyncDispose]();
  }
}

/** Returns the only attributes that describe a caller's request. */
function requestAttributes({ url, html, files, baseUrl, format, fullPage }: TracedOptions): Attributes {
  const target = html === null && files === null ? url : baseUrl;
  const host = target === null ? {} : { 'stillframe.target_host': new URL(target).hostname };
  return { 'stillframe.format': format, 'stillframe.full_page': fullPage, ...host };
}

function addStages(tracer: Tracer, parent: Context, stages: readonly TracedStage[]): void {
  for (const { name, began, ended, failed } of stages) {
    const span = tracer.startSpan(name, { startTime: timeOf(began) }, parent);
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(timeOf(ended));
  }
}

/** Marks a span as failed. Messages are left out, since they may repeat words of a page or of a caller. */
function fail(span: Span, type: string | null): void {
  if (type !== null) span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

/** Converts to Unix ms; a job that was queued before this process started has a negative `performance.now()`. */
function timeOf(moment: number): number {
  return Date.now() - performance.now() + moment;
}

/** Reads the parent context. A missing or malformed traceparent begins a new trace. */
function contextOf(headers: { traceparent: unknown; tracestate?: unknown }): Context {
  return propagator.extract(ROOT_CONTEXT, headers, {
    get: (_carrier, name) => asText(name === 'traceparent' ? headers.traceparent : headers.tracestate),
    keys: () => ['traceparent', 'tracestate'],
  });
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function traceparentOf(span: Span): string {
  const headers: Record<string, string> = {};
  propagator.inject(trace.setSpan(ROOT_CONTEXT, span), headers, {
    set: (_carrier, name, value) => void Object.assign(headers, { [name]: value }),
  });
  return headers.traceparent ?? '';
}
