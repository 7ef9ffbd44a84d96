import { type Command, InvalidArgumentError, Option } from 'commander';
import { captureRequestSchema } from '../contract/capture-request.js';

/** One command-line flag per CaptureRequest field, made from the schema itself, so that none can be forgotten. */

/** Fields made of parts. */
const NOT_YET = ['html', 'base_url', 'cookies', 'storage_state', 'pdf', 'clip', 'resize'];
/** Fields that only a server can act on, or that are spelt in another way here. */
const SPELT_ELSEWHERE = new Set(['url', 'viewport', 'proxy', 'headers', 'webhook', 'sync', 'cache_ttl', 'store', ...NOT_YET]);

interface Field {
  name: string;
  option: Option;
  /** Puts the flag's value into the request body. */
  apply(body: Record<string, unknown>, value: unknown): void;
}

export function addCaptureFlags(command: Command): void {
  for (const field of fields()) command.addOption(field.option);
}

/**
 * @param proxyPassword from the environment: secrets never come from flags
 * @returns the request body (without `url`) that the given flags mean
 */
export function readCaptureFlags(command: Command, proxyPassword: string | null): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const field of fields()) {
    const key = field.option.attributeName();
    if (command.getOptionValueSource(key) === 'cli') field.apply(body, command.getOptionValue(key));
  }
  if (body.proxy !== undefined && proxyPassword !== null) nested('proxy', 'password')(body, proxyPassword);
  return body;
}

function fields(): Field[] {
  const plain = Object.entries(captureRequestSchema.shape)
    .filter(([name]) => !SPELT_ELSEWHERE.has(name))
    .map(([name, schema]) => plainField(name, describe(schema)));
  return [...plain, ...viewportFields(), ...proxyFields(), headerField()];
}

interface Described {
  kind: string;
  choices: string[];
  defaultValue: unknown;
  help: string;
}

interface SchemaLike {
  def: { type: string; innerType?: unknown; defaultValue?: unknown; entries?: Record<string, string>; in?: unknown };
  meta?(): { description?: string } | undefined;
}

function describe(schema: unknown): Described {
  let inner = schema as SchemaLike;
  let defaultValue: unknown;
  let help = inner.meta?.()?.description ?? '';
  while (inner.def.innerType !== undefined) {
    if (inner.def.type === 'default') defaultValue = inner.def.defaultValue;
    inner = inner.def.innerType as SchemaLike;
    help ||= inner.meta?.()?.description ?? '';
  }
  return { kind: inner.def.type, choices: Object.values(inner.def.entries ?? {}), defaultValue, help };
}

function plainField(name: string, described: Described): Field {
  const flag = name.replaceAll('_', '-');
  const set: Field['apply'] = (body, value) => {
    body[name] = value;
  };
  const { help } = described;
  switch (described.kind) {
    case 'boolean': {
      const off = described.defaultValue === true;
      const option = new Option(off ? `--no-${flag}` : `--${flag}`, off ? `switch ${name} off` : help || name);
      return { name, option, apply: set };
    }
    case 'number':
      return { name, option: new Option(`--${flag} <n>`, help || name).argParser(number), apply: set };
    case 'enum':
      return { name, option: new Option(`--${flag} <choice>`, help).choices(described.choices), apply: set };
    case 'array':
      return { name, option: new Option(`--${flag} <text>`, `${help}; repeat for more`).argParser(collect), apply: set };
    default:
      return { name, option: new Option(`--${flag} <text>`, help || name), apply: set };
  }
}

function viewportFields(): Field[] {
  const shape = captureRequestSchema.shape.viewport.unwrap().shape;
  return Object.entries(shape).map(([key, schema]) => {
    const described = describe(schema);
    const flag = `viewport-${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const option =
      described.kind === 'boolean'
        ? new Option(`--${flag}`, `viewport.${key}`)
        : new Option(`--${flag} <n>`, described.help || `viewport.${key}`).argParser(number);
    return { name: `viewport.${key}`, option, apply: nested('viewport', key) };
  });
}

function proxyFields(): Field[] {
  return ['server', 'bypass', 'username'].map((key) => ({
    name: `proxy.${key}`,
    option: new Option(
      `--proxy-${key} <text>`,
      key === 'username' ? 'its password is taken from STILLFRAME_PROXY_PASSWORD' : `proxy.${key}`,
    ),
    apply: nested('proxy', key),
  }));
}

function nested(parent: string, key: string): Field['apply'] {
  return (body, value) => {
    body[parent] = { ...(body[parent] as Record<string, unknown> | undefined), [key]: value };
  };
}

function headerField(): Field {
  return {
    name: 'headers',
    option: new Option('--header <name: value>', "a header for the target's origin; repeat for more").argParser(collectHeader),
    apply: (body, value) => {
      body.headers = value;
    },
  };
}

function number(value: string): number {
  const parsed = Number(value);
  if (value.trim() === '' || !Number.isFinite(parsed)) throw new InvalidArgumentError('It must be a number.');
  return parsed;
}

function collect(value: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), value];
}

function collectHeader(value: string, previous: Record<string, string> | undefined): Record<string, string> {
  const colon = value.indexOf(':');
  if (colon < 1) throw new InvalidArgumentError('It must look like "Name: value".');
  return { ...previous, [value.slice(0, colon).trim()]: value.slice(colon + 1).trim() };
}
