import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { TracingConfig } from '../tracing-config.js';

const REASON_CHARACTERS = 300;

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
export function send(exporter: SpanExporter, spans: ReadableSpan[]): Promise<{ result: ExportResult; reason: string | null }> {
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
