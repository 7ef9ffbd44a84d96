import { readFileSync } from 'node:fs';
import { distance } from 'fastest-levenshtein';
import { CaptureError } from '../../contract/capture-error.js';
import { type CaptureFormat, type CaptureOptions, shownUrl } from '../../contract/capture-request.js';
import { isObject, plainFormat } from '../../contract/field-rules.js';
import { printedOnPaper } from '../../contract/pdf-schema.js';
import type { ToleratedCode } from '../../contract/request-fields.js';
import type { RequestIssue } from '../../contract/submission.js';
import { readCapture } from '../../library/read-capture.js';
import { type CaptureTarget, readFileTarget, readTarget } from '../capture-target.js';
import { LOCAL_PAGE } from '../capture-target-page.js';
import { UsageError } from '../operator-error.js';
import { defaultName, EXTENSIONS, formatOfName, withFormat } from '../picture-file.js';
import { fromShotScraper, ITS_NAMES, itsName } from './shot-scraper.js';

export type Fields = Record<string, unknown>;

/** A parsed shot, before its output is compared with those of the others. */
export interface ParsedShot {
  target: CaptureTarget;
  /** Name of its page in messages. */
  name: string;
  options: CaptureOptions;
  /** The fields of the request, without those that the target decides. */
  request: Fields;
  /** The output as written, or named after the page. */
  output: string;
  /** Whether the output is named after the page. */
  isAutomatic: boolean;
  /** Whether it is named as by shot-scraper. */
  isPlainList: boolean;
  /** Number of repetitions after an error that may not occur again. */
  retries: number;
}

export interface ShotRules {
  defaults: Fields;
  tolerate: readonly ToleratedCode[];
  /** Whether the file is a plain list of shots, as those of shot-scraper. */
  isPlainList: boolean;
}

const RETRIES_MAX = 10;
/** Fields of a shot that are not fields of a capture request. */
const OWN_FIELDS = ['url', 'file', 'output', 'retries'];
/** Fields whose members a shot inherits from the defaults one by one. */
const MERGED_FIELDS = ['viewport', 'headers', 'pdf', 'animate'];
/** Fields that may name a JSON file. */
const FILE_FIELDS = ['cookies', 'storage_state'];

/**
 * Reads one shot, with the rules and messages of the API.
 * @returns the problems, if it has any
 */
export function readShot(fields: Fields, { defaults, tolerate, isPlainList }: ShotRules): ParsedShot | RequestIssue[] {
  const issues: RequestIssue[] = [];
  const note = (path: string, message: string) => void issues.push({ path, message });
  const own = fromShotScraper(fields, defaults, note);
  const shot = readOwn(own, { defaults, tolerate, issues, note });
  if (shot === null || issues.length > 0)
    return issues.map(({ path, message }) => ({ path: writtenName(path, fields), message }));
  if (!isPlainList || !shot.isAutomatic || typeof own.url !== 'string' || shot.target.kind !== 'url') return shot;
  // The format of a picture without a name is shot-scraper's, unless something else says so.
  const isOwnFormat = withDefaults(own, defaults).format === undefined && own.animate === undefined;
  const format = !isOwnFormat ? shot.options.format : own.quality === undefined ? 'png' : 'jpeg';
  const named = readOwn({ ...own, output: itsName(own.url, format) }, { defaults, tolerate, issues, note });
  return named === null || issues.length > 0 ? issues : { ...named, isAutomatic: true, isPlainList };
}

/** The name that the file has for a field. */
function writtenName(path: string, fields: Fields): string {
  const [first = '', ...rest] = path.split('.');
  if (first === 'viewport' && rest.length === 1 && !(first in fields) && (rest[0] ?? '') in fields)
    return rest[0] ?? path;
  const name = Object.keys(ITS_NAMES).find((its) => ITS_NAMES[its] === first && its in fields);
  return name === undefined || first in fields ? path : [name, ...rest].join('.');
}

interface Reading extends Pick<ShotRules, 'defaults' | 'tolerate'> {
  issues: RequestIssue[];
  note: Note;
}

/** @returns null if the shot has problems, which are among the issues */
function readOwn(own: Fields, { defaults, tolerate, issues, note }: Reading): ParsedShot | null {
  const { output, file, retries = 0, ...fields } = withDefaults(own, defaults);
  if (!isRetries(retries)) note('retries', `must be a whole number from 0 to ${RETRIES_MAX}`);
  const target = targetOf(own, note);
  const format = formatOf(own, note);
  const request = formatted(fields, format, note);
  if (request.format !== 'pdf' && own.pdf === undefined) delete request.pdf;
  readJsonFiles(request, note);
  if (target !== null) request.url = target.kind === 'url' ? target.url : LOCAL_PAGE;
  else if (own.file !== undefined || issues.some(({ path }) => path === 'url')) request.url = LOCAL_PAGE;
  const printed = printedOnPaper(request);
  const options = readOptions(printed, tolerate, issues);
  if (options !== null && options.html !== null && typeof output !== 'string')
    note('output', 'is required with `html`');
  if (options === null || issues.length > 0 || !isRetries(retries)) return null;
  const page = target ?? { kind: 'url', url: options.url };
  const name = page.kind === 'file' ? page.path : shownUrl(options);
  const isAutomatic = typeof output !== 'string';
  const named = isAutomatic ? defaultName(page, options.url, options.format) : output;
  const { url: _placeholder, ...body } = printed;
  return { target: page, name, options, request: body, output: named, isAutomatic, isPlainList: false, retries };
}

function isRetries(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= RETRIES_MAX;
}

/** Merges the defaults: a field of the shot replaces that of the defaults, and null removes it. */
export function withDefaults(own: Fields, defaults: Fields): Fields {
  const merged = { ...defaults, ...own };
  for (const name of MERGED_FIELDS) {
    const [ownValue, defaultValue] = [own[name], defaults[name]];
    if (isObject(ownValue) && isObject(defaultValue)) merged[name] = { ...defaultValue, ...ownValue };
  }
  for (const name of Object.keys(defaults)) if (own[name] === null) delete merged[name];
  return merged;
}

type Note = (path: string, message: string) => void;

function targetOf({ url, file, html }: Fields, note: Note): CaptureTarget | null {
  const sources = Object.entries({ url, file, html }).filter(([, value]) => value !== undefined);
  if (sources.length !== 1) {
    const [first = '', second = ''] = sources.map(([name]) => name);
    if (second === '') note('url', 'is required, or `file`, or `html`');
    else note(second, `cannot be combined with \`${first}\`: give exactly one of them`);
    return null;
  }
  const [[name, value] = ['url', undefined]] = sources;
  if (name === 'html' || (name === 'url' && typeof value !== 'string')) return null;
  if (typeof value !== 'string' || value === '' || value === '-') {
    note(name, name === 'file' ? 'must be the path of a local page' : 'must be a URL or a local page');
    return null;
  }
  try {
    return name === 'file' ? readFileTarget(value) : readTarget(value);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    note(name, `is "${value}". ${error.message}`);
    return null;
  }
}

/** The request with the format of its output. A default format does not concern an animated picture. */
function formatted(fields: Fields, format: CaptureFormat | null, note: Note): Fields {
  try {
    return { ...withFormat(fields, format) };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    note('output', error.message);
    return { ...fields };
  }
}

/** Returns the format that the output's extension names; null if it names none. */
function formatOf({ output, format }: Fields, note: Note): CaptureFormat | null {
  if (output === undefined) return null;
  if (typeof output !== 'string') {
    note('output', 'must be the path of a file');
    return null;
  }
  const named = formatOfName(output);
  if (named === undefined) note('output', `is "${output}": it ${EXTENSIONS}`);
  else if (named !== null && typeof format === 'string' && plainFormat(format) !== named) {
    note(
      'format',
      `is ${format}, and \`output\` is "${output}": give the file that extension, or leave \`format\` out`,
    );
  }
  return named ?? null;
}

/** Replaces paths by the JSON of the files, as users of storage states expect. */
function readJsonFiles(request: Fields, note: Note): void {
  for (const name of FILE_FIELDS) {
    const value = request[name];
    if (typeof value !== 'string') continue;
    const path = value.replace(/^@/, '');
    try {
      request[name] = JSON.parse(readFileSync(path, 'utf8'));
    } catch (error) {
      // The message of a syntax error would repeat the text, which is secret.
      const reason = error instanceof SyntaxError ? 'it is not valid JSON' : (error as Error).message;
      note(name, `names the file "${path}", which cannot be read: ${reason}`);
      delete request[name];
    }
  }
}

/** Reads the options, and adds the API's problems to those found here. */
function readOptions(
  request: Fields,
  tolerate: readonly ToleratedCode[],
  issues: RequestIssue[],
): CaptureOptions | null {
  try {
    return readCapture(request, { tolerate, allowInsecureTls: true });
  } catch (error) {
    if (!(error instanceof CaptureError)) throw error;
    const found = (error.details?.issues as RequestIssue[] | undefined) ?? [{ path: '', message: error.message }];
    const known = new Set(issues.map(({ path }) => path));
    issues.push(...found.filter(({ path }) => !known.has(path)).map(withSuggestion));
    return null;
  }
}

/** Suggests a field that only shots have for a mistyped one. */
function withSuggestion(issue: RequestIssue): RequestIssue {
  if (issue.path.includes('.') || !issue.message.startsWith('Unknown field')) return issue;
  const meant = OWN_FIELDS.find((name) => distance(issue.path.toLowerCase(), name) <= Math.floor(name.length / 3));
  return meant === undefined
    ? issue
    : { ...issue, message: `Unknown field \`${issue.path}\`. Did you mean \`${meant}\`?` };
}
