import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CaptureError } from '../contract/capture-error.js';
import { captureRequestSchema } from '../contract/capture-request.js';
import { FIELD_GROUPS, fieldGroupOf, OTHER_FIELDS } from '../contract/field-groups.js';
import type { RequestIssue } from '../contract/submission.js';

/** One command-line flag per CaptureRequest field, generated from the schema so that none is missing. */

/** Fields that have no flag, or flags of other names. */
const SPELT_ELSEWHERE = new Set(['url', 'viewport', 'proxy', 'headers', 'webhook']);

/** Fields of the queue and the cache: accepted by commands that have neither, and not listed in their help. */
const OF_A_SERVER = new Set(['sync', 'cache_ttl', 'store']);

/** One-letter flags of the options used most, as curl and shot-scraper have them. `-h` is help. */
const SHORT_FLAGS: Record<string, string> = {
  format: '-f',
  full_page: '-F',
  selector: '-s',
  padding: '-p',
  quality: '-q',
  device: '-d',
  'viewport.width': '-w',
  user_agent: '-A',
  headers: '-H',
};

/** Help of the flags that switch off a default. */
const SWITCHED_OFF: Record<string, string> = {
  reduce_motion: 'let animations and transitions run',
  wait_for_idle: 'do not wait for the network, fonts and layout to settle',
  verify_egress: 'do not check that the egress country is that of --region',
  block_ads: 'keep ads',
  block_cookie_banners: 'keep cookie banners',
  block_chats: 'keep chat widgets',
  block_trackers: 'keep trackers',
};

interface Field {
  name: string;
  option: Option;
  /** Whether the value of the flag is JSON. */
  isJson?: boolean;
  /** Puts the flag's value into the request body. */
  apply(body: Record<string, unknown>, value: unknown): void;
}

/** @param accepts whether the command takes a request field, by name; default: all, those of a server without effect */
export function addCaptureFlags(command: Command, accepts?: (field: string) => boolean): void {
  const all = fields().filter(({ name }) => accepts?.(name.split('.', 1)[0] ?? name) ?? true);
  for (const heading of [...FIELD_GROUPS.map(([each]) => each), OTHER_FIELDS]) {
    for (const { name, option } of all.filter((field) => fieldGroupOf(field.name) === heading)) {
      command.addOption(option.helpGroup(`${heading}:`).hideHelp(name === 'store' || (accepts === undefined && OF_A_SERVER.has(name))));
    }
  }
}

/**
 * @param proxyPassword from the environment: secrets never come from flags
 * @returns the request body, without `url`, that the given flags stand for
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

/** The problems of a rejected request, one per line, with fields named by their flags. */
export function sayFlags(error: CaptureError): string {
  const issues = error.details?.issues as RequestIssue[] | undefined;
  if (issues === undefined || issues.length === 0 || error.code !== 'invalid_request') return namingFlags(error.message);
  return issues
    .map(({ path, message }) =>
      namingFlags(message.startsWith('Unknown field') ? inMember(path, message) : path === '' ? message : `\`${path}\` ${message}`),
    )
    .join('\n');
}

/** An unknown member of an option that is given as JSON is named with the option, as is the member that may be meant. */
function inMember(path: string, message: string): string {
  const parent = path.slice(0, path.lastIndexOf('.') + 1);
  return parent === '' ? message : message.replaceAll(/`([\w-]+)`/g, (_, name: string) => `\`${parent}${name}\``);
}

/** Replaces field names by flags: `full_page` becomes --full-page. A member of an option that is given as JSON keeps its name, as in `pdf.margin`. */
function namingFlags(text: string): string {
  const byName = new Map(fields().map((field) => [field.name, field]));
  const flagOf = (name: string) => {
    if (name === 'url') return 'the URL';
    const field = byName.get(name) ?? byName.get(name.split('.', 1)[0] ?? name);
    return field === undefined || (field.isJson === true && field.name !== name) ? name : (field.option.long ?? name);
  };
  const formats = text.replace(/format `(\w+)`(?: or `(\w+)`)?/g, (_, one: string, other?: string) =>
    other === undefined ? `--format ${one}` : `--format ${one} or ${other}`,
  );
  return formats.replace(/`([\w.-]+)`/g, (_, name: string) => flagOf(name));
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
  /** The members of an object, or of the objects in a list, one per line; empty for other values. */
  members: string;
}

interface SchemaLike {
  def: { type: string; innerType?: unknown; defaultValue?: unknown; entries?: Record<string, string>; element?: unknown; in?: unknown };
  shape?: Record<string, unknown>;
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
  return {
    kind: kindOf(inner),
    choices: Object.values(inner.def.entries ?? {}),
    defaultValue,
    help: help.replaceAll(/`(\w+)`/g, toFlag),
    members: membersOf(inner),
  };
}

function membersOf(schema: SchemaLike): string {
  const shape = schema.shape ?? (schema.def.element as SchemaLike | undefined)?.shape ?? {};
  const lines = Object.entries(shape)
    .map(([name, member]) => ({ name, ...describe(member) }))
    .filter(({ help }) => help !== '')
    .map(
      (member) =>
        `- ${member.name}: ${withDefault(member)}${member.choices.length === 0 ? '' : ` (choices: ${member.choices.join(', ')})`}`,
    );
  return lines.map((line) => `\n${line}`).join('');
}

/** Only arrays of strings have a repeatable flag; other structured values are given as JSON. Of a transformed value, what is given counts. */
function kindOf({ def }: SchemaLike): string {
  if (def.in !== undefined) return describe(def.in).kind;
  const element = def.element === undefined ? null : describe(def.element).kind;
  return element === null || element === 'string' || element === 'enum' ? def.type : 'json';
}

/** Turns a field name in a description into its flag. */
function toFlag(_: string, name: string): string {
  if (name === 'url') return 'the URL';
  if (name === 'viewport') return '--viewport-*';
  return name in captureRequestSchema.shape ? `--${name.replaceAll('_', '-')}` : name;
}

function plainField(name: string, described: Described): Field {
  const flag = `${shortFlag(name)}--${name.replaceAll('_', '-')}`;
  const set: Field['apply'] = (body, value) => {
    body[name] = value;
  };
  const help = withDefault(described);
  switch (described.kind) {
    case 'boolean': {
      const off = described.defaultValue === true;
      return {
        name,
        option: new Option(off ? `--no-${name.replaceAll('_', '-')}` : flag, off ? (SWITCHED_OFF[name] ?? `not: ${help}`) : help),
        apply: set,
      };
    }
    case 'number':
      return { name, option: new Option(`${flag} <n>`, help).argParser(number), apply: set };
    case 'enum':
      return { name, option: new Option(`${flag} <choice>`, help).choices(described.choices), apply: set };
    case 'array':
      return { name, option: new Option(`${flag} <text>`, `${help}; repeat for more`).argParser(collect), apply: set };
    case 'string':
      return { name, option: new Option(`${flag} <text>`, help), apply: set };
    default:
      return { name, option: new Option(`${flag} <json|@file>`, `${help}${described.members}`).argParser(json), isJson: true, apply: set };
  }
}

function shortFlag(name: string): string {
  const short = SHORT_FLAGS[name];
  return short === undefined ? '' : `${short}, `;
}

function withDefault({ help, defaultValue }: Described): string {
  const isSaid = typeof defaultValue === 'number' || typeof defaultValue === 'string';
  return isSaid ? `${help} (default: ${defaultValue})` : help;
}

function viewportFields(): Field[] {
  const shape = captureRequestSchema.shape.viewport.unwrap().shape;
  return Object.entries(shape).map(([key, schema]) => {
    const described = describe(schema);
    const flag = `${shortFlag(`viewport.${key}`)}--viewport-${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const help = withDefault(described);
    const option = described.kind === 'boolean' ? new Option(flag, help) : new Option(`${flag} <n>`, help).argParser(number);
    return { name: `viewport.${key}`, option, apply: nested('viewport', key) };
  });
}

function proxyFields(): Field[] {
  const { server, bypass } = captureRequestSchema.shape.proxy.unwrap().shape;
  const help = {
    server: describe(server).help,
    bypass: describe(bypass).help,
    username: 'user name for the proxy; its password is taken from STILLFRAME_PROXY_PASSWORD',
  };
  return Object.entries(help).map(([key, text]) => ({
    name: `proxy.${key}`,
    option: new Option(`--proxy-${key} <text>`, text),
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
    option: new Option(
      `${shortFlag('headers')}--header <name: value>`,
      "HTTP header sent to the target's origin only; repeat for more",
    ).argParser(collectHeader),
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

/** JSON from the argument, or from a file given as `@state.json`. */
function json(value: string): unknown {
  try {
    return JSON.parse(value.startsWith('@') ? readFileSync(value.slice(1), 'utf8') : value);
  } catch (error) {
    const cause = error instanceof SyntaxError ? 'It must be valid JSON' : `${value} cannot be read`;
    throw new InvalidArgumentError(`${cause}. Give JSON, or a JSON file as @FILE.`);
  }
}

function collect(value: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), value];
}

function collectHeader(value: string, previous: Record<string, string> | undefined): Record<string, string> {
  const colon = value.indexOf(':');
  if (colon < 1) throw new InvalidArgumentError('It must look like "Name: value".');
  return { ...previous, [value.slice(0, colon).trim()]: value.slice(colon + 1).trim() };
}
