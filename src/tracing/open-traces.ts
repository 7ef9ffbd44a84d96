import type { Log } from '../log.js';
import type { TracingConfig } from '../tracing-config.js';
import type { Traces } from './traces.js';

/** Opens the traces. Loads the OpenTelemetry SDK only if traces are to be collected, since it costs start-up time and memory. */
export async function openTraces(
  config: TracingConfig | null,
  about: { version: string; instance: string; log: Log },
): Promise<Traces | null> {
  if (config === null) return null;
  const { OtlpTraces } = await import('./otlp-traces.js');
  return new OtlpTraces(config, about);
}
