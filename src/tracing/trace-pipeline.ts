import { DiagLogLevel, diag, type Tracer } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import pTimeout from 'p-timeout';
import type { Log } from '../log.js';
import type { TracingConfig } from '../tracing-config.js';

/** Maximum number of spans that wait to be sent, about 200 captures; further ones are dropped. */
const QUEUE_SPANS = 2_048;
/** Maximum length of an attribute, since every fact in a span is short. */
const ATTRIBUTE_CHARACTERS = 256;
/** The time limit for sending the last spans: a collector that is unavailable must not delay the shutdown. */
const SHUTDOWN_MS = 3_000;
const WARN_EVERY_MS = 60_000;
const WARNING_CHARACTERS = 300;

const REASON_CHARACTERS = 300;

/** Sends spans to the collector in the background. Whatever the collector does, nothing waits for it, and only the log reports it. */
export class TracePipeline implements AsyncDisposable {
  readonly tracer: Tracer;
  readonly #provider: TracerProvider;

  constructor(config: TracingConfig, about: { version: string; instance: string; log: Log }) {
    logSdkWarnings(about.log);
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({
        'service.version': about.version,
        'service.instance.id': about.instance,
        ...config.resource,
      }),
      sampler: samplerOf(config),
      spanLimits: { attributeValueLengthLimit: ATTRIBUTE_CHARACTERS },
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: logRefusals(exporterOf(config), config, about.log),
          maxQueueSize: QUEUE_SPANS,
          scheduledDelayMillis: config.delayMs,
          // This is longer than the exporter's own limit, whose error gives the reason.
          exportTimeoutMillis: 2 * config.timeoutMs,
        }),
      ],
    });
    this.tracer = this.#provider.getTracer('stillframe', about.version);
  }

  /** Sends the last spans, as far as the collector takes them in time. */
  async [Symbol.asyncDispose](): Promise<void> {
    await pTimeout(this.#provider.shutdown(), { milliseconds: SHUTDOWN_MS }).catch(() => undefined);
  }
}

/** Logs when the collector begins to refuse spans, and when it takes them again. */
function logRefusals(exporter: SpanExporter, { endpoint }: TracingConfig, log: Log): SpanExporter {
  let failing = false;
  const collector = new URL(endpoint).host;
  return {
    export: (spans, done) =>
      void send(exporter, spans).then(({ result, reason }) => {
        if (reason !== null && !failing) log.warn({ collector, reason }, 'traces cannot be sent');
        if (reason === null && failing) log.info({ collector }, 'traces are sent again');
        failing = reason !== null;
        done(result);
      }),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
}

/** Logs the SDK's own warnings: spans that were dropped or that the collector rejected. */
function logSdkWarnings(log: Log): void {
  let quietUntil = 0;
  const ignore = () => undefined;
  const warn = (...parts: unknown[]) => {
    const now = performance.now();
    if (now < quietUntil) return;
    quietUntil = now + WARN_EVERY_MS;
    const message = parts.filter((part) => typeof part === 'string').join(' ');
    log.warn({ said: message.slice(0, WARNING_CHARACTERS) }, 'traces are incomplete');
  };
  diag.setLogger(
    { warn, error: ignore, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

function samplerOf({ sampler, ratio }: TracingConfig): Sampler {
  const name = sampler.replace('parentbased_', '');
  const root =
    name === 'always_on'
      ? new AlwaysOnSampler()
      : name === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return name === sampler ? root : new ParentBasedSampler({ root });
}

/** Creates the exporter that posts spans to the collector. It reads the environment variables for certificates itself. */
export function exporterOf({ endpoint, headers, protocol, timeoutMs, compression }: TracingConfig): SpanExporter {
  const Exporter = protocol === 'http/json' ? JsonExporter : ProtobufExporter;
  return new Exporter({
    url: endpoint,
    headers,
    timeoutMillis: timeoutMs,
    compression: compression === 'gzip' ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
  });
}

/**
 * Exports spans.
 * @returns the reason why the collector did not take them; null if it did
 */
export function send(
  exporter: SpanExporter,
  spans: ReadableSpan[],
): Promise<{ result: ExportResult; reason: string | null }> {
  return new Promise((resolve) => {
    exporter.export(spans, (result) =>
      resolve({ result, reason: result.code === ExportResultCode.SUCCESS ? null : reasonOf(result.error) }),
    );
  });
}

/** Describes an export error. Node reports several refusing addresses as one error without a message. The response's body is left out. */
function reasonOf(error: (Error & { code?: unknown }) | undefined): string {
  const text = [error?.code, error?.message].filter((part) => part !== undefined && part !== '').join(': ');
  return text === '' ? 'no reason given' : text.slice(0, REASON_CHARACTERS);
}
