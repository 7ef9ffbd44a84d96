import { describe, expect, it } from 'vitest';
import { readTracing } from '../src/config.js';
import { ConfigError } from '../src/contract/config-error.js';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

describe('the variables of OpenTelemetry', () => {
  it('switch traces on with an endpoint only, for all signals or for traces', () => {
    expect(readTracing({})).toBeNull();
    expect(readTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_TRACES_SAMPLER: 'nonsense' })).toBeNull();
    expect(readTracing(ENDPOINT)?.endpoint).toBe('http://127.0.0.1:4318/v1/traces');
    expect(readTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otel.example/base/' })?.endpoint).toBe(
      'https://otel.example/base/v1/traces',
    );
    const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/in' };
    expect(readTracing({ ...ENDPOINT, ...own })?.endpoint).toBe('https://traces.example/in');
    expect(readTracing(own)?.endpoint).toBe('https://traces.example/in');
  });

  it('switch them off', () => {
    expect(readTracing({ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' })).toBeNull();
    expect(readTracing({ ...ENDPOINT, OTEL_SDK_DISABLED: 'false' })).not.toBeNull();
    expect(readTracing({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' })).toBeNull();
  });

  it('have the defaults of the specification', () => {
    expect(readTracing(ENDPOINT)).toEqual({
      endpoint: 'http://127.0.0.1:4318/v1/traces',
      protocol: 'http/protobuf',
      headers: {},
      timeoutMs: 10_000,
      compression: 'none',
      delayMs: 5_000,
      resource: { 'service.name': 'stillframe' },
      sampler: 'parentbased_always_on',
      ratio: 1,
      propagates: true,
    });
  });

  it('are read as in the specification', () => {
    const config = readTracing({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc%3D, x-team = shots ,',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-team=traces',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
      OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '3000',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_SERVICE_NAME: 'shots',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=staging%2C%20eu',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      OTEL_PROPAGATORS: 'baggage',
    });
    expect(config).toEqual({
      endpoint: 'http://127.0.0.1:4318/v1/traces',
      protocol: 'http/json',
      headers: { authorization: 'Bearer abc=', 'x-team': 'traces' },
      timeoutMs: 3_000,
      compression: 'gzip',
      delayMs: 100,
      resource: { 'service.name': 'shots', 'deployment.environment.name': 'staging, eu' },
      sampler: 'parentbased_traceidratio',
      ratio: 0.25,
      propagates: false,
    });
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'http or https URL'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:hunter2@x y/', 'http or https URL'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'one of http/protobuf, http/json'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a b=hunter2', 'list of key=value'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=hunter2%0d%0ax:%20y', 'list of header=value'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=hunter2%', 'percent-encoded'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s', 'whole number of milliseconds'],
    ['OTEL_BSP_SCHEDULE_DELAY', '0', 'whole number of milliseconds'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote', 'one of always_on'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'number from 0 to 1'],
    ['OTEL_PROPAGATORS', 'tracecontext,b3', 'list of tracecontext, baggage, none'],
    ['OTEL_SDK_DISABLED', 'yes', 'true or false'],
  ])('stop the start with one line that names a wrong %s, not its value', (name, value, allowed) => {
    const read = () => readTracing({ ...ENDPOINT, [name]: value });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(`^${name} is not valid: it must be .*${allowed}`));
    expect(read).not.toThrow(/hunter2|\n/);
  });
});
