import stringify from 'safe-stable-stringify';
import type { z } from 'zod';
import { animationProblems } from './animation.js';
import { CaptureError } from './capture-error.js';
import {
  type CaptureOptions,
  captureRequestSchema,
  defaultOptions,
  type ExecutionMode,
  toCaptureOptions,
  type WebhookOptions,
  type WireCaptureRequest,
} from './capture-request.js';
import { combinationIssues, severalIssues } from './combinations.js';
import type { WireAttachment } from './document-schema.js';
import { FIELD_LIST, findField } from './field-list.js';
import { camelName, isObject, plainFormat } from './field-rules.js';
import { ATTACHMENTS_MAX_BYTES } from './limits.js';
import { meantField, nearestName } from './meant-field.js';
import type { PageFilesOption } from './page-files.js';
import { hasWebScheme, webhookUrlProblem } from './read-url.js';
import { TOLERATED_CODES, type ToleratedCode } from './request-fields.js';
import { readTemplateData, type Template, templateFiles, withTemplateDefaults } from './template.js';

/** A parsed capture request: what to render, how to respond, and two strings that identify equal requests. */
export interface Submission {
  options: CaptureOptions;
  mode: ExecutionMode;
  /** Seconds. */
  cacheTtl: number;
  webhook: WebhookOptions | null;
  /** Equal for equivalent submissions (interface.md, Idempotency rules 1). Contains secrets: store only a keyed digest. */
  identity: string;
  /** The cache key: equal for captures of the same picture; null if the result cache is bypassed. Contains secrets, as above. */
  cacheIdentity: string | null;
}

/** One problem of a request body; `path` consists of dotted wire names, and is empty for the body itself. */
export interface RequestIssue {
  path: string;
  message: string;
}

export interface SubmissionRules {
  /** The query has `mode=async`. */
  forceAsync: boolean;
  /** STILLFRAME_WEBHOOK_ALLOW. */
  webhookAllow: readonly string[];
  /** STILLFRAME_TOLERATE, for requests without `tolerate`. Default: none. */
  tolerate?: readonly ToleratedCode[];
  /** The query has `explain=1`. */
  explain?: boolean;
  /** STILLFRAME_ALLOW_INSECURE_TLS: `ignore_https_errors` may be used. Default: no. */
  allowInsecureTls?: boolean;
  /** Whether `animate.format` may be mp4. Default: true; the renderer has the last word. */
  mp4?: boolean;
  /** The files that came with the body. */
  files?: PageFilesOption | null;
  /** The template that the body names; `elsewhere` if another program reads it. Default: none, and a body that names one is refused. */
  template?: Template | 'elsewhere' | null;
  /** Options that a compatible API sets, also beyond the limits of the API's fields. */
  set?: Partial<CaptureOptions>;
}

/**
 * Reads a request body.
 *
 * @throws CaptureError `invalid_request` with every problem in `details.issues`; `unsupported_option` for fields that exclude each other
 */
export function parseSubmission(request: unknown, rules: SubmissionRules): Submission {
  const template = rules.template === 'elsewhere' ? null : (rules.template ?? null);
  const plain = withPlainFields(request);
  const body = template === null || !isObject(plain) ? plain : withTemplateDefaults(plain, template);
  const parsed = captureRequestSchema.safeParse(body);
  const issues = parsed.success ? [] : describeIssues(parsed.error.issues, body);
  issues.push(...callbackIssues(body, rules));
  const { invalid, unsupported } = combinationIssues(body, rules.files != null);
  if (parsed.data?.ignore_https_errors === true && rules.allowInsecureTls !== true)
    unsupported.push({
      path: 'ignore_https_errors',
      message: 'is not allowed on this server; its operator can allow it with STILLFRAME_ALLOW_INSECURE_TLS.',
    });
  issues.push(
    ...invalid,
    ...attachedFileIssues(parsed.data?.pdf?.attachments ?? [], template?.files ?? rules.files?.list ?? []),
  );
  const { data, problems } = readTemplateData(
    template?.manifest.parameters ?? {},
    isObject(body) && isObject(body.data) ? body.data : {},
    { files: template?.files ?? [] },
  );
  if (template !== null) issues.push(...problems);
  else if (parsed.data?.template !== undefined && rules.template !== 'elsewhere')
    issues.push({
      path: 'template',
      message: 'is not available here: use it in POST /v1/screenshot, in a watch, or in a signed link',
    });
  if (issues.length > 0 || !parsed.success) throw invalidRequest([...issues, ...unsupported].slice(0, ISSUES_MAX));
  refuse(unsupported);
  const files = template === null ? (rules.files ?? null) : templateFiles(template, data);
  const submission = toSubmission(parsed.data, { ...rules, files }, body);
  // Its template may have changed when a request is repeated.
  if (template !== null) submission.identity = stringify([plain, submission.mode]) ?? '';
  refuse(animationProblems(submission.options, { mp4: rules.mp4 ?? true }));
  const several = severalIssues(submission.options);
  if (several.length > 0) throw invalidRequest(several);
  return submission;
}

/** Other names of fields. */
const SPELLINGS = { emulate: 'device', pages: 'file_pages' };

/** The request with one name for each thing: also `jpeg` for `jpg`, in each of its pictures too, and `save_html` for `html: true`. */
function withPlainFields(request: unknown): unknown {
  if (!isObject(request)) return request;
  const plain = (fields: object) => ('format' in fields ? { ...fields, format: plainFormat(fields.format) } : fields);
  const body: Record<string, unknown> = { ...request };
  if (body.html === true) {
    delete body.html;
    body.save_html = true;
  }
  for (const [other, name] of Object.entries(SPELLINGS)) {
    if (!(other in body) || name in body) continue;
    body[name] = body[other];
    delete body[other];
  }
  const captures = Array.isArray(body.captures)
    ? { captures: body.captures.map((one) => (isObject(one) ? plain(one) : one)) }
    : {};
  return { ...plain(body), ...captures };
}

/** @throws CaptureError `unsupported_option` if there is an issue */
function refuse(issues: RequestIssue[]): void {
  const [first] = issues;
  if (first === undefined) return;
  throw new CaptureError({
    code: 'unsupported_option',
    message: `\`${first.path}\` ${first.message}`,
    details: { issues },
  });
}

/**
 * Reads the fields of an object other than a capture request.
 *
 * @throws CaptureError `invalid_request` with every problem
 */
export function parseFields<Schema extends z.ZodObject>(schema: Schema, fields: unknown): z.output<Schema> {
  const parsed = schema.safeParse(fields);
  if (parsed.success) return parsed.data;
  throw invalidRequest(describeIssues(parsed.error.issues, fields, () => Object.keys(schema.shape)));
}

/** The error for a body with problems; its message is the first of them. */
export function invalidRequest(issues: RequestIssue[]): CaptureError {
  const first = issues[0] ?? { path: '', message: 'The request is not valid.' };
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more in details.issues)` : '';
  const isUnknown = first.message.startsWith('Unknown field');
  const place = isUnknown ? first.path.split('.').slice(0, -1).join('.') : first.path;
  const text = place === '' ? first.message : `\`${place}\`${isUnknown ? ':' : ''} ${first.message}`;
  return new CaptureError({ code: 'invalid_request', message: text + more, details: { issues } });
}

/** The error for one field. */
export function invalidField(path: string, message: string): CaptureError {
  return invalidRequest([{ path, message }]);
}

/**
 * Reads a capture request that is a field of another request, so that its problems name their place there.
 * @throws what `read` throws, with `field` before each path
 */
export function inField<Value>(field: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    const issues = error instanceof CaptureError ? (error.details?.issues as RequestIssue[] | undefined) : undefined;
    if (issues === undefined) throw error;
    const own = issues.map(({ path, message }) => ({ path: path === '' ? field : `${field}.${path}`, message }));
    const { code } = error as CaptureError;
    if (code === 'invalid_request') throw invalidRequest(own);
    throw new CaptureError({ code, message: `\`${own[0]?.path}\` ${own[0]?.message}`, details: { issues: own } });
  }
}

function toSubmission(wire: WireCaptureRequest, rules: SubmissionRules, body: unknown): Submission {
  const mode: ExecutionMode = rules.forceAsync || !wire.sync ? 'async' : 'sync';
  const requested = toCaptureOptions(wire);
  const options = {
    ...requested,
    tolerate:
      wire.tolerate === undefined
        ? TOLERATED_CODES.filter((code) => rules.tolerate?.includes(code))
        : requested.tolerate,
    explain: rules.explain === true || wire.inspect_page,
    files: rules.files ?? null,
    ...rules.set,
    ...(lacksScheme(body) ? { schemeAdded: true as const } : {}),
  };
  const files = options.files === null ? {} : { files: options.files.template ?? contentsOf(options.files) };
  // A repeated request stays equal even if the operator has changed a default since.
  const plain = pick(wire, (name) => name !== 'sync' && !EXTENSIONS.has(name));
  const compared = { ...plain, headers: options.headers, ...pick(requested, isUsedExtension), ...files, mode };
  const isCompared = (name: string, value: unknown) =>
    !NOT_RENDERED.has(name) && (!EXTENSION_OPTIONS.has(name) || isUsedExtension(name, value));
  const rendered = { ...pick(options, isCompared), ...files };
  return {
    options,
    mode,
    cacheTtl: wire.cache_ttl,
    webhook: wire.webhook ?? null,
    identity: stringify(compared) ?? '',
    cacheIdentity: wire.inspect_page ? null : (stringify(rendered) ?? ''),
  };
}

/** Only for messages, and so no part of a request's identity. */
function lacksScheme(body: unknown): boolean {
  return isObject(body) && typeof body.url === 'string' && !hasWebScheme(body.url.trim());
}

function attachedFileIssues(attachments: readonly WireAttachment[], files: PageFilesOption['list']): RequestIssue[] {
  const bytes = (name: string) => files.find((file) => file.name === name)?.bytes;
  const issues = attachments.flatMap(({ file }, index): RequestIssue[] =>
    file === undefined || bytes(file) !== undefined
      ? []
      : [{ path: `pdf.attachments.${index}.file`, message: 'must be the name of a file that came with the request' }],
  );
  const all = attachments.reduce(
    (sum, { file, content = '' }) => sum + (bytes(file ?? '') ?? (content.length * 3) / 4),
    0,
  );
  const tooLarge = { path: 'pdf.attachments', message: `must be at most ${ATTACHMENTS_MAX_BYTES} bytes together` };
  return all > ATTACHMENTS_MAX_BYTES ? [...issues, tooLarge] : issues;
}

function callbackIssues(body: unknown, rules: SubmissionRules): RequestIssue[] {
  return ['webhook', 'upload'].flatMap((name) => {
    const url = (body as Record<string, { url?: unknown } | undefined> | null)?.[name]?.url;
    if (typeof url !== 'string' || url === '') return [];
    const problem = webhookUrlProblem(url, rules.webhookAllow);
    return problem === null ? [] : [{ path: `${name}.url`, message: problem }];
  });
}

/** Compared as `contentsOf`, or not at all. */
const NOT_RENDERED = new Set(['timeout', 'upload', 'files', 'schemeAdded']);

/** The names and contents of files, in any order, as part of a request's identity. */
function contentsOf({ list }: PageFilesOption): string[][] {
  return list.map(({ name, sha256 }) => [name, sha256]).sort(([one = ''], [other = '']) => (one < other ? -1 : 1));
}

const EXTENSIONS = new Set(FIELD_LIST.filter(({ extension }) => extension).map(({ name }) => name));
/** Their names among the options; `explain` is one of the query, `document` one of compatible APIs. */
const EXTENSION_OPTIONS = new Set([...EXTENSIONS, 'explain', 'document'].map(camelName));

/** A request without extensions keeps the identity that it had before there were any. */
function isUsedExtension(name: string, value: unknown): boolean {
  const byDefault: unknown = defaultOptions()[name as keyof CaptureOptions];
  return EXTENSION_OPTIONS.has(name) && value !== byDefault && JSON.stringify(value) !== JSON.stringify(byDefault);
}

function pick(request: object, isPicked: (name: string, value: unknown) => boolean): Record<string, unknown> {
  return Object.fromEntries(Object.entries(request).filter(([name, value]) => isPicked(name, value)));
}

/** Maximum number of reported problems: 256 KiB can hold tens of thousands, and finding the nearest field for all would take a second. */
export const ISSUES_MAX = 100;
const FIELDS_LISTED_MAX = 10;
/** The number of characters of a caller's field name that an issue quotes. */
const NAME_SHOWN_CHARS = 60;

function describeIssues(issues: readonly z.core.$ZodIssue[], body: unknown, known = knownFields): RequestIssue[] {
  const described = issues
    .slice(0, ISSUES_MAX)
    .flatMap((each) => ofMeantForm(each, body))
    .flatMap((issue) => {
      const path = issue.path.map((part) => String(part).slice(0, NAME_SHOWN_CHARS));
      if (issue.code === 'unrecognized_keys') {
        return issue.keys.slice(0, ISSUES_MAX).map((key) => unknownField([...path, key], known(path)));
      }
      return [{ path: path.join('.'), message: describeIssue(issue, valueAt(body, issue.path)) }];
    });
  return described.slice(0, ISSUES_MAX);
}

/** A value that has none of several forms: the problems of the form that it comes closest to, an object or one value. */
function ofMeantForm(issue: z.core.$ZodIssue, body: unknown): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || issue.message !== 'Invalid input') return [issue];
  const value = valueAt(body, issue.path);
  const form = issue.errors.at(isObject(value) ? -1 : 0) ?? [];
  return form.map((one) => ({ ...one, path: [...issue.path, ...one.path] }));
}

function describeIssue(issue: z.core.$ZodIssue, value: unknown): string {
  const received = isSecret(issue.path) ? describeSecret(value) : describeValue(value);
  switch (issue.code) {
    case 'invalid_type':
      if (issue.path.length === 0) return 'The body must be a JSON object.';
      if (value === undefined) return 'is required';
      return `must be ${article(issue.expected)}, not ${received}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}${received === 'a string' ? '' : `, not ${received}`}`;
    case 'too_small':
      return `must be at least ${issue.minimum}${unitOf(issue.origin)}, not ${measured(issue.origin, value)}`;
    case 'too_big':
      return `must be at most ${issue.maximum}${unitOf(issue.origin)}, not ${measured(issue.origin, value)}`;
    default:
      return issue.message;
  }
}

function article(kind: string): string {
  if (kind === 'int') return 'a whole number';
  if (kind === 'record') return 'an object';
  return /^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters';
  return origin === 'array' ? ' items' : '';
}

function measured(origin: string, value: unknown): string {
  if (origin === 'string' && typeof value === 'string') return `${value.trim().length}`;
  if (origin === 'array' && Array.isArray(value)) return `${value.length}`;
  return describeValue(value);
}

/** Whether a value must not be repeated in a response, whatever its type. */
function isSecret(path: readonly PropertyKey[]): boolean {
  const [field] = path;
  if (field === 'pdf' && path[1] === 'pages') return isSecret(path.slice(3));
  if (
    field === 'headers' ||
    field === 'upload' ||
    field === 'cookies' ||
    field === 'storage_state' ||
    field === 'html' ||
    field === 'data'
  )
    return true;
  if (field === 'steps') return path.at(-1) !== 'action';
  if (field === 'pdf') return path[1] === 'password';
  if (path.length === 1 && field === 'http_credentials') return true;
  if (path.length === 1) return field === 'webhook' || field === 'proxy';
  return path.at(-1) === 'secret' || path.at(-1) === 'password';
}

function describeSecret(value: unknown): string {
  if (typeof value === 'string') return 'a string';
  return typeof value === 'number' ? 'a number' : describeValue(value);
}

/** Never repeats a free text: it could be a secret. */
function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return /^[\w.-]{1,40}$/.test(value) ? `"${value}"` : 'a string';
  return String(value);
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  let value: unknown = body;
  for (const key of path) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

/** Field names of the object at a path; none if it has no fixed fields. */
function knownFields(path: readonly string[]): string[] {
  const fields = path.length === 0 ? FIELD_LIST : (findField(path)?.members ?? []);
  return fields.map(({ name }) => name.slice(name.lastIndexOf('.') + 1));
}

function unknownField(path: readonly string[], known: readonly string[]): RequestIssue {
  const name = path.at(-1) ?? '';
  const excerpt = name.slice(0, NAME_SHOWN_CHARS);
  const near = (path.length === 1 ? meantField(excerpt) : null) ?? nearestName(excerpt, known);
  const hint = near === null ? listKnown(known) : ` Did you mean \`${near}\`?`;
  return { path: [...path.slice(0, -1), excerpt].join('.'), message: `Unknown field \`${excerpt}\`.${hint}` };
}

/** Lists the known fields, unless there are too many for a message. */
function listKnown(known: readonly string[]): string {
  return known.length > FIELDS_LISTED_MAX ? ' See /docs for all fields.' : ` Known fields: ${known.join(', ')}.`;
}
