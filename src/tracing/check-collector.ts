import type { TracingConfig } from '../tracing-config.js';

const LONGEST_MS = 5_000;

/**
 * Sends the collector a request without spans.
 * @returns the reason why it refused; null if it accepted
 */
export async function checkCollector(config: TracingConfig): Promise<string | null> {
  const { exporterOf, send } = await import('./otlp-exporter.js');
  const exporter = exporterOf({ ...config, timeoutMs: Math.min(config.timeoutMs, LONGEST_MS) });
  const { reason } = await send(exporter, []);
  await exporter.shutdown();
  return reason;
}
