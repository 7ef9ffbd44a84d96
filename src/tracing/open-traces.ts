import type { Log } from '../log.js';
import type { TracingConfig } from '../tracing-config.js';
import type { Traces } from './traces.js';

const LONGEST_MS = 5_000;

/** Opens the traces. Loads the OpenTelemetry SDK only if traces are to be collected, since it costs start-up time and memory. */
export async function openTraces(
  config: TracingConfig | null,
  about: { version: string; instance: string; log: Log },
): Promise<Traces | null> {
  if (config === null) return null;
  const { OtlpTraces } = await import('./otlp-traces.js');
  return new OtlpTraces(config, about);
}

/**
 * Sends the collector a request without spans.
 * @returns the reason why it refused; null if it accepted
 */
export async function checkCollector(config: TracingConfig): Promise<string | null> {
  const { exporterOf, send } = await import('./trace-pipeline.js');
  const exporter = exporterOf({ ...config, timeoutMs: Math.min(config.timeoutMs, LONGEST_MS) });
  const { reason } = await send(exporter, []);
  await exporter.shutdown();
  return reason;
}
