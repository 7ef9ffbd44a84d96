/** The standard variables of OpenTelemetry (OTEL_…), as far as they concern traces. They have no flags. */
import { ConfigError } from './contract/config-error.js';

/** The destination of traces, and their attributes of this server. */
export interface TracingConfig {
  /** URL to which spans are posted. */
  endpoint: string;
  protocol: Protocol;
  headers: Record<string, string>;
  timeoutMs: number;
  compression: 'gzip' | 'none';
  /** The time for which spans are collected before they are sent. */
  delayMs: number;
  /** Attributes of all spans, `service.name` among them. */
  resource: Record<string, string>;
  sampler: Sampler;
  /** 0 to 1, for the samplers that take a part of the traces. */
  ratio: number;
  /** Whether callers' traces are joined, and receivers of webhooks may join. */
  propagates: boolean;
}

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
type Protocol = (typeof PROTOCOLS)[number];

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
type Sampler = (typeof SAMPLERS)[number];

const COMPRESSIONS = ['gzip', 'none'] as const;
const PROPAGATORS = ['tracecontext', 'baggage', 'none'] as const;
const EXPORTERS = ['otlp', 'none'] as const;
/** Defaults of the OpenTelemetry specification. */
const TIMEOUT_MS = 10_000;
const DELAY_MS = 5_000;
const LONGEST_MS = 600_000;

type Variables = Record<string, string | undefined>;

/** null without an endpoint, and if traces are disabled: the other variables are then ignored. @throws ConfigError */
export function parseTracing(env: Variables): TracingConfig | null {
  const read = readerOf(env);
  if (read('OTEL_SDK_DISABLED', flag, false)) return null;
  const endpoint = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', endpointUrl, null) ?? belowEndpoint(read);
  if (endpoint === null) return null;
  if (read('OTEL_TRACES_EXPORTER', oneOf(EXPORTERS), 'otlp') === 'none') return null;
  const propagators = read('OTEL_PROPAGATORS', listOf(PROPAGATORS), ['tracecontext']);
  return {
    endpoint,
    protocol: forTraces(read, 'PROTOCOL', oneOf(PROTOCOLS)) ?? 'http/protobuf',
    headers: {
      ...read('OTEL_EXPORTER_OTLP_HEADERS', headers, {}),
      ...read('OTEL_EXPORTER_OTLP_TRACES_HEADERS', headers, {}),
    },
    timeoutMs: forTraces(read, 'TIMEOUT', milliseconds) ?? TIMEOUT_MS,
    compression: forTraces(read, 'COMPRESSION', oneOf(COMPRESSIONS)) ?? 'none',
    delayMs: read('OTEL_BSP_SCHEDULE_DELAY', milliseconds, DELAY_MS),
    resource: resourceOf(read),
    sampler: read('OTEL_TRACES_SAMPLER', oneOf(SAMPLERS), 'parentbased_always_on'),
    ratio: read('OTEL_TRACES_SAMPLER_ARG', ratio, 1),
    propagates: propagators.includes('tracecontext'),
  };
}

type Read = <Value, Default>(name: string, parse: (text: string) => Value, absent: Default) => Value | Default;

/** An empty variable counts as absent. Values are not repeated, since those of headers and addresses may be secret. */
function readerOf(env: Variables): Read {
  return (name, parse, absent) => {
    const text = env[name]?.trim() ?? '';
    if (text === '') return absent;
    try {
      return parse(text);
    } catch (error) {
      throw new ConfigError(`${name} is not valid: it must be ${(error as Error).message}.`);
    }
  };
}

/** The variable for traces beats the one for all signals. */
function forTraces<Value>(read: Read, name: string, parse: (text: string) => Value): Value | null {
  return read(`OTEL_EXPORTER_OTLP_TRACES_${name}`, parse, null) ?? read(`OTEL_EXPORTER_OTLP_${name}`, parse, null);
}

function belowEndpoint(read: Read): string | null {
  const base = read('OTEL_EXPORTER_OTLP_ENDPOINT', endpointUrl, null);
  return base === null ? null : `${base.replace(/\/$/, '')}/v1/traces`;
}

function resourceOf(read: Read): Record<string, string> {
  const attributes = read('OTEL_RESOURCE_ATTRIBUTES', pairs, {});
  const name = read('OTEL_SERVICE_NAME', (text) => text, null);
  return { 'service.name': 'stillframe', ...attributes, ...(name === null ? {} : { 'service.name': name }) };
}

function endpointUrl(text: string): string {
  if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text) || /[?#]/.test(text)) {
    throw new Error('an http or https URL without a query, such as http://127.0.0.1:4318');
  }
  return text;
}

function flag(text: string): boolean {
  if (/^(true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  throw new Error('true or false');
}

function oneOf<Value extends string>(allowed: readonly Value[]): (text: string) => Value {
  return (text) => {
    const value = allowed.find((known) => known === text);
    if (value === undefined) throw new Error(`one of ${allowed.join(', ')}`);
    return value;
  };
}

function listOf<Value extends string>(allowed: readonly Value[]): (text: string) => Value[] {
  return (text) => {
    const items = text.split(',').map((item) => allowed.find((known) => known === item.trim()));
    const values = items.filter((item) => item !== undefined);
    if (values.length < items.length) throw new Error(`a comma-separated list of ${allowed.join(', ')}`);
    return values;
  };
}

function milliseconds(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > LONGEST_MS)
    throw new Error(`a whole number of milliseconds from 1 to ${LONGEST_MS}`);
  return value;
}

function ratio(text: string): number {
  const value = Number(text);
  if (!/^(?:\d+(?:\.\d+)?|\.\d+)$/.test(text) || value > 1) throw new Error('a number from 0 to 1');
  return value;
}

/** `key=value` pairs with commas, percent-encoded. */
function pairs(text: string): Record<string, string> {
  const items = text.split(',').filter((item) => item.trim() !== '');
  return Object.fromEntries(items.map(pair));
}

function pair(item: string): [string, string] {
  const [, key = '', value = ''] = /^\s*([^=\s]+)\s*=(.*)$/s.exec(item) ?? [];
  if (key === '') throw new Error('a comma-separated list of key=value');
  return [decode(key), decode(value.trim())];
}

function headers(text: string): Record<string, string> {
  const entries = pairs(text);
  for (const [name, value] of Object.entries(entries)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new Error('a comma-separated list of header=value');
  }
  return entries;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('percent-encoded where it has a percent sign');
  }
}
