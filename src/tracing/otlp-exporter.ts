import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { TracingConfig } from '../tracing-config.js';

const REASON_CHARACTERS = 300;

/** What posts spans to the collector. It reads the variables of certificates itself. */
export function exporterOf({ endpoint, headers, protocol, timeoutMs, compression }: TracingConfig): SpanExporter {
  const Exporter = protocol === 'http/json' ? JsonExporter : ProtobufExporter;
  return new Exporter({
    url: endpoint,
    headers,
    timeoutMillis: timeoutMs,
    compression: compression === 'gzip' ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
  });
}

/** @returns why the collector did not take the spans; null if it did */
export function send(exporter: SpanExporter, spans: ReadableSpan[]): Promise<{ result: ExportResult; reason: string | null }> {
  return new Promise((resolve) => {
    exporter.export(spans, (result) =>
      resolve({ result, reason: result.code === ExportResultCode.SUCCESS ? null : reasonOf(result.error) }),
    );
  });
}

/** Node reports several addresses that refuse as one error without a message. The body of a response is not told. */
function reasonOf(error: (Error & { code?: unknown }) | undefined): string {
  const text = [error?.code, error?.message].filter((part) => part !== undefined && part !== '').join(': ');
  return text === '' ? 'no reason given' : text.slice(0, REASON_CHARACTERS);
}
