import { DiagLogLevel, diag, type Tracer } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import pTimeout from 'p-timeout';
import type { Log } from '../log.js';
import type { TracingConfig } from '../tracing-config.js';
import { exporterOf, send } from './otlp-exporter.js';

/** Beyond this number, spans that wait to be sent are dropped: about 200 captures. */
const QUEUE_SPANS = 2_048;
/** Everything that a span may say is short. */
const ATTRIBUTE_CHARACTERS = 256;
/** How long the last spans may take: a collector that is away must not hold the shutdown. */
const SHUTDOWN_MS = 3_000;
const WARN_EVERY_MS = 60_000;
const WARNING_CHARACTERS = 300;

/** The way of spans out of the process. Whatever the collector does, nothing waits for it, and nobody is told but the log. */
export class TracePipeline implements AsyncDisposable {
  readonly tracer: Tracer;
  readonly #provider: TracerProvider;

  constructor(config: TracingConfig, about: { version: string; instance: string; log: Log }) {
    warnThrough(about.log);
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.version': about.version, 'service.instance.id': about.instance, ...config.resource }),
      sampler: samplerOf(config),
      spanLimits: { attributeValueLengthLimit: ATTRIBUTE_CHARACTERS },
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: reporting(exporterOf(config), config, about.log),
          maxQueueSize: QUEUE_SPANS,
          scheduledDelayMillis: config.delayMs,
          // After the exporter's own limit, which says why.
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
function reporting(exporter: SpanExporter, { endpoint }: TracingConfig, log: Log): SpanExporter {
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

/** What the SDK itself warns of: spans that were dropped or that the collector rejected. */
function warnThrough(log: Log): void {
  let quietUntil = 0;
  const ignore = () => undefined;
  const warn = (...parts: unknown[]) => {
    const now = performance.now();
    if (now < quietUntil) return;
    quietUntil = now + WARN_EVERY_MS;
    const said = parts.filter((part) => typeof part === 'string').join(' ');
    log.warn({ said: said.slice(0, WARNING_CHARACTERS) }, 'traces are incomplete');
  };
  diag.setLogger(
    { warn, error: ignore, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

function samplerOf({ sampler, ratio }: TracingConfig): Sampler {
  const name = sampler.replace('parentbased_', '');
  const root =
    name === 'always_on' ? new AlwaysOnSampler() : name === 'always_off' ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio);
  return name === sampler ? root : new ParentBasedSampler({ root });
}
