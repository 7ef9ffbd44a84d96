import { existsSync, readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CaptureError } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { FIELD_LIST, type Field, flagNameOf } from '../contract/field-list.js';
import { isObject, numberOrList, plainFormat } from '../contract/field-rules.js';
import { FIELD_GROUPS } from '../contract/request-fields.js';
import { parseSubmission, type RequestIssue, type SubmissionRules } from '../contract/submission.js';
import { UsageError } from './operator-error.js';

/** Command-line flags for the fields of a capture request, from their table. */

/** The member that the argument of an action stands for in the short form. */
const SHORT: Readonly<Record<string, string>> = {
  click: 'selector',
  hover: 'selector',
  check: 'selector',
  scroll_to: 'selector',
  wait_for: 'selector',
  press: 'key',
  evaluate: 'script',
  go_to: 'url',
};

/** The member that follows the selector in the short form: `type=#q=words`. */
const SHORT_SECOND: Readonly<Record<string, string>> = { type: 'text', select: 'value' };
/** A selector, to the first `=` outside of brackets and quotes that does not belong to the name of one of Playwright's engines. */
const SELECTOR_THEN =
  /^((?:(?:css|text|xpath|id|role|label|placeholder|data-test(?:-?id)?)=)?(?:[^=[\]"']|"[^"]*"|'[^']*'|\[(?:[^\]"']|"[^"]*"|'[^']*')*\])+)=(.*)$/s;

interface Flag {
  field: Field;
  option: Option;
  /** Whether the value of the flag is JSON. */
  isJson: boolean;
}

/** @param forLinks whether the command makes signed links, or else captures without a server */
export function addCaptureFlags(command: Command, forLinks = false): void {
  const all = flags(forLinks);
  for (const group of FIELD_GROUPS) {
    for (const { field, option } of all.filter((flag) => flag.field.group === group)) {
      const { hidden } = settingsOf(field);
      command.addOption(
        option.helpGroup(`${group}:`).hideHelp(hidden === 'always' || (hidden === 'without server' && !forLinks)),
      );
    }
  }
}

/**
 * @param proxyPassword from the environment: secrets never come from flags
 * @param forLinks as for `addCaptureFlags`: other flags of the command may have the name of a field that it lacks
 * @returns the request body, without `url`, that the given flags stand for
 */
export function readCaptureFlags(
  command: Command,
  proxyPassword: string | null,
  forLinks = false,
): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const { field, option } of flags(forLinks)) {
    const key = option.attributeName();
    if (command.getOptionValueSource(key) === 'cli') place(body, field.name, command.getOptionValue(key));
  }
  if (body.proxy !== undefined && proxyPassword !== null) place(body, 'proxy.password', proxyPassword);
  return body;
}

/**
 * Parses the request that flags stand for.
 * @param rules.template `elsewhere` if a server reads the template
 * @throws UsageError with every problem, naming fields by their flags
 */
export function parseRequest(
  body: Record<string, unknown>,
  { template = null }: Pick<SubmissionRules, 'template'> = {},
): CaptureOptions {
  try {
    return parseSubmission(body, { forceAsync: false, webhookAllow: [], allowInsecureTls: true, template }).options;
  } catch (error) {
    throw error instanceof CaptureError ? new UsageError(describeFlags(error)) : error;
  }
}

/** The problems of a rejected request, one per line, with fields named by their flags. */
export function describeFlags(error: CaptureError): string {
  const issues = error.details?.issues as RequestIssue[] | undefined;
  if (issues === undefined || issues.length === 0 || error.code !== 'invalid_request')
    return namingFlags(error.message);
  return issues
    .map(({ path, message }) =>
      namingFlags(
        message.startsWith('Unknown field')
          ? inMember(path, message)
          : path === ''
            ? message
            : `\`${path}\` ${message}`,
      ),
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
  const all = flags();
  const byName = new Map(all.map((flag) => [flag.field.name, flag]));
  const flagOf = (name: string) => {
    if (name === 'url') return 'the URL';
    const long = `--${name}`;
    const flag =
      byName.get(name.replace(/\.\d+$/, '')) ??
      byName.get(name.split('.', 1)[0] ?? name) ??
      all.find(({ option }) => option.long === long);
    return flag === undefined || (flag.isJson && flag.field.name !== name) ? name : (flag.option.long ?? name);
  };
  const formats = text.replace(/format `(\w+)`(?: or `(\w+)`)?/g, (_, one: string, other?: string) =>
    other === undefined ? `--format ${one}` : `--format ${one} or ${other}`,
  );
  return formats.replace(/`([\w.-]+)`/g, (_, name: string) => flagOf(name));
}

function flags(forLinks = false): Flag[] {
  return FIELD_LIST.filter(({ cli, links }) => cli !== false && !(forLinks && links === false))
    .flatMap((field) => (field.cli === 'members' ? field.members.filter(({ writeOnly }) => !writeOnly) : [field]))
    .map(toFlag);
}

function toFlag(field: Field): Flag {
  const { short, help: ownHelp, each } = settingsOf(field);
  const help = ownHelp ?? helpOf(field);
  const long = flagNameOf(field);
  const option = (value: string, text = help) =>
    new Option(`${short === undefined ? '' : `${short}, `}${long}${value}`, text);
  const plain = (made: Option): Flag => ({ field, option: made, isJson: false });
  switch (field.type) {
    case 'boolean':
      if (field.defaultValue !== true) return plain(option(''));
      return plain(new Option(long.replace('--', '--no-'), ownHelp ?? `not: ${help}`));
    case 'number':
      return plain(
        field.choices.length > 0 ? oneOf(option(' <n>'), field.choices, number) : option(' <n>').argParser(number),
      );
    case 'enum':
      return plain(oneOf(option(' <choice>'), field.choices, String));
    case 'string':
      return plain(option(' <text>'));
    case 'record':
      if (field.item !== null) break;
      return field.name === 'data'
        ? plain(option(' <name=value|json|file>').argParser(collectData))
        : plain(new Option(`${short}, --header <name: value>`, help).argParser(collectHeader));
    case 'union':
      if (field.item !== null)
        return plain(option(field.defaultValue === false ? ' <true|list>' : ' <n|list>').argParser(numberOrList));
      break;
    case 'array':
      if (each !== undefined)
        return { field, option: new Option(`${each} <step>`, help).argParser(readStep), isJson: true };
      if (field.item?.members.length === 0)
        return plain(option(' <text>', `${help}; repeat for more`).argParser(collect));
  }
  return {
    field,
    option: option(' <json|file>', help + membersOf(field)).argParser((value) => json(value)),
    isJson: true,
  };
}

function settingsOf({ cli }: Field) {
  return typeof cli === 'object' ? cli : {};
}

function helpOf({ description, defaultValue }: Field): string {
  const help = description.replaceAll(/`(\w+)`/g, flagNamed);
  const hasPlainDefault = typeof defaultValue === 'number' || typeof defaultValue === 'string';
  return hasPlainDefault ? `${help} (default: ${defaultValue})` : help;
}

/** Turns a field name in a description into its flag. */
function flagNamed(_: string, name: string): string {
  if (name === 'url') return 'the URL';
  if (name === 'viewport') return '--viewport-*';
  const field = FIELD_LIST.find((each) => each.name === name);
  return field === undefined ? name : flagNameOf(field);
}

/** The members of an object, or of the objects in a list, one per line. */
function membersOf({ item, members, opaque }: Field): string {
  if (opaque === true) return '';
  const lines = (item?.members ?? members).map((member) => {
    const choices = member.choices.length === 0 ? '' : ` (choices: ${member.choices.join(', ')})`;
    return `\n- ${member.name.slice(member.name.lastIndexOf('.') + 1)}: ${helpOf(member)}${choices}`;
  });
  return lines.join('');
}

/** Puts the value of a flag into a request body. */
function place(body: Record<string, unknown>, name: string, value: unknown): void {
  const [parent = name, key] = name.split('.');
  body[parent] = key === undefined ? value : { ...(body[parent] as Record<string, unknown> | undefined), [key]: value };
}

/** An option for one of several values, from which `read` makes that of the field. */
function oneOf(option: Option, choices: readonly string[], read: (choice: string) => string | number): Option {
  const check = option.choices(choices).parseArg;
  return option.argParser((value) => read(String(check?.(plainFormat(value), undefined))));
}

function number(value: string): number {
  const parsed = Number(value);
  if (value.trim() === '' || !Number.isFinite(parsed)) throw new InvalidArgumentError('It must be a number.');
  return parsed;
}

/**
 * Reads one `--step`: `action=argument`, JSON, or a JSON file as `@FILE`, which may hold several.
 * @returns the steps, which the contract checks
 */
function readStep(value: string, previous: unknown[] = []): unknown[] {
  if (/^\s*[[{]/.test(value) || value.startsWith('@'))
    return [...previous, ...[json(value, 'ACTION=ARGUMENT, JSON, ')].flat()];
  const [, action = '', argument = ''] = /^(\w+)=(.*)$/s.exec(value) ?? [];
  const [member, second] = [SHORT[action], SHORT_SECOND[action]];
  if (second !== undefined) {
    const [, selector, text] = SELECTOR_THEN.exec(argument) ?? [];
    if (selector === undefined)
      throw new InvalidArgumentError(
        `It must be ${action}=SELECTOR=${second.toUpperCase()}, such as ${action}=#name=${second}, or JSON.`,
      );
    return [...previous, { action, selector, [second]: text }];
  }
  if (member === undefined) {
    const actions = Object.keys({ ...SHORT, ...SHORT_SECOND }).join(', ');
    throw new InvalidArgumentError(`It must be ACTION=ARGUMENT with ${actions}, or JSON, or a JSON file as @FILE.`);
  }
  const isTime = action === 'wait_for' && /^\d{1,6}$/.test(argument);
  return [...previous, isTime ? { action, ms: Number(argument) } : { action, [member]: argument }];
}

/**
 * JSON from the argument, or from a file given as `state.json` or `@state.json`. A message does not repeat the text, which may hold a secret.
 * @param instead what may be given, besides a file
 */
function json(value: string, instead = 'JSON, '): unknown {
  const isFile = value.startsWith('@') || (!/^\s*[[{"]/.test(value) && existsSync(value));
  try {
    return JSON.parse(isFile ? readFileSync(value.replace(/^@/, ''), 'utf8') : value);
  } catch (error) {
    if (!(error instanceof SyntaxError))
      throw new InvalidArgumentError(`${value} cannot be read. Give ${instead}or a JSON file as @FILE.`);
    const problem = isFile ? `${value} is not valid JSON` : 'It is neither valid JSON nor a file that exists';
    throw new InvalidArgumentError(`${problem}. Give ${instead}or a JSON file as @FILE.`);
  }
}

function collect(value: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), value];
}

/** One value as `name=value`, or several as JSON. */
function collectData(value: string, previous: Record<string, unknown> | undefined): Record<string, unknown> {
  const [, name, text] = /^([a-z][a-z0-9_]*)=(.*)$/s.exec(value) ?? [];
  const parsed = name === undefined ? json(value, 'NAME=VALUE, JSON, ') : { [name]: text };
  if (!isObject(parsed)) throw new InvalidArgumentError('It must be NAME=VALUE, or a JSON object.');
  return { ...previous, ...parsed };
}

function collectHeader(value: string, previous: Record<string, string> | undefined): Record<string, string> {
  const colon = value.indexOf(':');
  if (colon < 1) throw new InvalidArgumentError('It must look like "Name: value".');
  return { ...previous, [value.slice(0, colon).trim()]: value.slice(colon + 1).trim() };
}
