/** Templates (extensions.md, Templates): what template.json may say, and which values a capture may give. Knows no template engine. */
import { z } from 'zod';
import { isOpaqueColor } from './css-color.js';
import { count, text, whole } from './described.js';
import { limited } from './field-rules.js';
import { EXAMPLE_TIME_MS } from './job.js';
import { URL_MAX_BYTES } from './limits.js';
import { nearestName } from './meant-field.js';
import { fileNameProblem, INDEX_FILE, type PageFile, type PageFilesOption } from './page-files.js';
import { EXTENSION } from './request-fields.js';

/** Describes the parameters; it is not served to the page. */
export const MANIFEST_FILE = 'template.json';
export const MANIFEST_MAX_BYTES = 65_536;
/** The page and the partials together. */
export const TEMPLATE_SOURCE_MAX_BYTES = 500_000;
/** All files of a version together. */
export const TEMPLATE_MAX_BYTES = 10_000_000;
/** An account has at most as many templates, bytes in all of them, and versions of each. */
export const TEMPLATES_MAX = 100;
export const TEMPLATES_MAX_BYTES = 200_000_000;
export const TEMPLATE_VERSIONS_MAX = 100;
const PARAMETERS_MAX = 64;
const TEXT_MAX_CHARS = 20_000;
const ITEMS_MAX = 500;
const IMAGE_MAX_CHARS = 150_000;
/** Unknown names that an error lists. */
const UNKNOWN_MAX = 20;

/** Whether a file is a source of the engine, and never served to the page as it is. */
export function isTemplateSource(name: string): boolean {
  return name === INDEX_FILE || name.endsWith('.liquid');
}

const described = { description: limited(500).optional() };
const TYPES = 'must be text, number, boolean, choice, color, date, url, image or list';
const scalarSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('text'),
    max_chars: z.int().min(1).max(TEXT_MAX_CHARS).default(500),
    default: limited(TEXT_MAX_CHARS).nullable().optional(),
    example: limited(TEXT_MAX_CHARS).optional(),
    ...described,
  }),
  z.strictObject({
    type: z.literal('number'),
    min: z.number().optional(),
    max: z.number().optional(),
    default: z.number().nullable().optional(),
    example: z.number().optional(),
    ...described,
  }),
  z.strictObject({
    type: z.literal('boolean'),
    default: z.boolean().nullable().optional(),
    example: z.boolean().optional(),
    ...described,
  }),
  z.strictObject({
    type: z.literal('choice'),
    values: z.array(limited(100).min(1)).min(1).max(100),
    default: limited(100).nullable().optional(),
    example: limited(100).optional(),
    ...described,
  }),
  z.strictObject({
    type: z.enum(['color', 'date', 'url', 'image']),
    default: limited(IMAGE_MAX_CHARS).nullable().optional(),
    example: limited(IMAGE_MAX_CHARS).optional(),
    ...described,
  }),
]);
const parameterName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,39}$/, 'must be 1 to 40 lower-case letters, digits and underscores, a letter first');
const few = <Value>(values: Record<string, Value>) => Object.keys(values).length <= PARAMETERS_MAX;
const FEW = `must have at most ${PARAMETERS_MAX} entries`;
const listSchema = z.strictObject({
  type: z.literal('list'),
  fields: z.record(parameterName, scalarSchema).refine(few, FEW),
  max_items: z.int().min(1).max(ITEMS_MAX).default(100),
  default: z.array(z.record(z.string(), z.unknown())).max(ITEMS_MAX).nullable().optional(),
  example: z.array(z.record(z.string(), z.unknown())).max(ITEMS_MAX).optional(),
  ...described,
});

/** Fields of lists have no lists themselves. */
const parameterSchema = z.discriminatedUnion('type', [scalarSchema, listSchema], { error: TYPES });
type Scalar = z.output<typeof scalarSchema>;
export type TemplateParameter = z.output<typeof parameterSchema>;
export type TemplateParameters = Readonly<Record<string, TemplateParameter>>;

export const manifestSchema = z.strictObject({
  description: limited(500).optional(),
  parameters: z.record(parameterName, parameterSchema).refine(few, FEW).default({}),
  /** Fields of the capture request that each capture of the template has unless it says otherwise. */
  capture: z.record(z.string(), z.unknown()).default({}),
});
export type TemplateManifest = z.output<typeof manifestSchema>;

/** Fields that `capture` of template.json must not have: the document itself, secrets of a caller, and what becomes of the result. */
const CALLERS_FIELDS = (
  'url html base_url template data headers cookies storage_state http_credentials proxy webhook upload sync cache_ttl store referer ' +
  'captures viewports color_schemes'
).split(' ');

export interface Problem {
  /** Dotted names. */
  path: string;
  message: string;
}

/** The files that a page may load by their names: the sources and the manifest are left out. */
export function servedFiles<File extends { name: string }>(files: readonly File[]): File[] {
  return files.filter(({ name }) => !isTemplateSource(name) && name !== MANIFEST_FILE);
}

/** The problems of a manifest that its schema does not find. */
export function manifestProblems({ parameters, capture }: TemplateManifest, files: readonly PageFile[]): Problem[] {
  const wrongFields = CALLERS_FIELDS.filter((name) => name in capture).map((name) => ({
    path: `capture.${name}`,
    message: 'cannot be set by a template',
  }));
  const wrongValues = Object.entries(parameters).flatMap(([name, parameter]) =>
    (['default', 'example'] as const).flatMap((key) => {
      const problems: Problem[] = [];
      const value = parameter[key];
      if (value !== undefined && value !== null)
        readValue(parameter, value, { path: `parameters.${name}.${key}`, problems, files });
      return problems;
    }),
  );
  return [...wrongFields, ...wrongValues];
}

export type TemplateValue = string | number | boolean | null | Record<string, unknown>[];
export type TemplateData = Record<string, TemplateValue>;

/** Reads the values of a capture, and fills in defaults. Messages never repeat a value. @param files of the template */
export function readTemplateData(
  parameters: TemplateParameters,
  values: Readonly<Record<string, unknown>>,
  { files, path = 'data' }: { files: readonly PageFile[]; path?: string },
): { data: TemplateData; problems: Problem[] } {
  const problems: Problem[] = [];
  const data: TemplateData = {};
  const known = Object.keys(parameters);
  for (const name of Object.keys(values)
    .filter((one) => !Object.hasOwn(parameters, one))
    .slice(0, UNKNOWN_MAX))
    problems.push({ path: `${path}.${name.slice(0, 60)}`, message: unknownName(name, known) });
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    const at = `${path}.${name}`;
    if (value !== undefined && value !== null) data[name] = readValue(parameter, value, { path: at, problems, files });
    else if (parameter.default === undefined) problems.push({ path: at, message: 'is required' });
    else
      data[name] =
        parameter.default === null ? null : readValue(parameter, parameter.default, { path: at, problems: [], files });
  }
  return { data, problems };
}

function unknownName(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  const has = known.length === 0 ? 'which has none' : `which has ${known.join(', ')}`;
  return `is not a parameter of the template${nearest === null ? `, ${has}` : `: did you mean \`${nearest}\`?`}`;
}

interface Reading {
  path: string;
  problems: Problem[];
  files: readonly PageFile[];
}

/** Values of links are texts, which numbers and booleans accept. */
function readValue(parameter: TemplateParameter, value: unknown, { path, problems, files }: Reading): TemplateValue {
  if (parameter.type !== 'list') {
    const read = readScalar(parameter, value, files);
    if (!('problem' in read)) return read.value;
    problems.push({ path, message: read.problem });
    return null;
  }
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'object' && item !== null)) {
    problems.push({ path, message: 'must be a list of objects' });
    return null;
  }
  if (value.length > parameter.max_items) {
    problems.push({ path, message: `must be at most ${parameter.max_items} items, not ${value.length}` });
    return null;
  }
  return value.map((item, index) => {
    const read = readTemplateData(parameter.fields, item as Record<string, unknown>, {
      files,
      path: `${path}.${index}`,
    });
    problems.push(...read.problems.slice(0, 10));
    return read.data;
  });
}

type ReadScalar = { value: string | number | boolean } | { problem: string };

function readScalar(parameter: Scalar, value: unknown, files: readonly PageFile[]): ReadScalar {
  if (parameter.type === 'number') return readNumber(parameter, value);
  if (parameter.type === 'boolean') {
    if (value === true || value === 'true') return { value: true };
    return value === false || value === 'false' ? { value: false } : { problem: 'must be true or false' };
  }
  if (typeof value !== 'string') return { problem: 'must be a string' };
  const problem = parameter.type === 'image' ? imageProblem(value, files) : textProblem(parameter, value);
  return problem === null ? { value } : { problem };
}

function readNumber({ min = -Number.MAX_VALUE, max = Number.MAX_VALUE }: Scalar & { type: 'number' }, sent: unknown) {
  const value = typeof sent === 'string' && /^-?\d{1,15}(\.\d{1,15})?$/.test(sent) ? Number(sent) : sent;
  if (typeof value !== 'number' || !Number.isFinite(value)) return { problem: 'must be a number' };
  if (value < min) return { problem: `must be at least ${min}` };
  return value > max ? { problem: `must be at most ${max}` } : { value };
}

function textProblem(parameter: Exclude<Scalar, { type: 'number' | 'boolean' }>, text: string): string | null {
  switch (parameter.type) {
    case 'text':
      if (text.length > parameter.max_chars)
        return `must be at most ${parameter.max_chars} characters, not ${text.length}`;
      return /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text) ? 'must not contain control characters' : null;
    case 'choice':
      return parameter.values.includes(text) ? null : `must be one of ${parameter.values.join(', ')}`;
    case 'color':
      return text.length <= 40 && isOpaqueColor(text) ? null : 'must be a color such as #0a7cff or rebeccapurple';
    case 'date':
      // Date.parse takes 2026-04-31 for 1 May.
      return z.iso.date().safeParse(text).success ? null : 'must be a date that exists, such as 2026-11-28';
    case 'url':
      return isWebAddress(text) ? null : 'must be an absolute http or https URL';
    default:
      return null;
  }
}

function isWebAddress(text: string): boolean {
  return text.length <= URL_MAX_BYTES && /^https?:\/\/[^\s"'<>\\]+$/i.test(text) && URL.canParse(text);
}

const IMAGE_DATA = /^data:image\/(?:png|jpeg|gif|webp|avif|svg\+xml);base64,[A-Za-z0-9+/]*={0,2}$/;

/** Names of files that an error lists. */
const LISTED_MAX = 10;

function imageProblem(text: string, files: readonly PageFile[]): string | null {
  const served = servedFiles(files).map(({ name }) => name);
  if (isWebAddress(text) || served.includes(text)) return null;
  if (text.startsWith('data:') && text.length <= IMAGE_MAX_CHARS && IMAGE_DATA.test(text)) return null;
  if (/[:?#%"'<>\s]/.test(text) || fileNameProblem(text) !== null)
    return 'must be an http or https URL, a file of the template, or a `data:` URL of a png, jpeg, gif, webp, avif or svg of at most 150,000 characters';
  const listed = served.slice(0, LISTED_MAX).join(', ');
  const more = served.length > LISTED_MAX ? ` and ${served.length - LISTED_MAX} more` : '';
  return `is not a file of the template, which has ${listed === '' ? 'no files that a page can show' : `${listed}${more}`}`;
}

/** Values with which a template is tried when it is stored. */
export function sampleData(parameters: TemplateParameters): TemplateData {
  const samples = Object.entries(parameters).map(([name, parameter]): [string, TemplateValue] => {
    const { example, default: otherwise } = parameter;
    if (parameter.type === 'list') {
      const items = (example ?? otherwise ?? [{}]) as Record<string, unknown>[];
      return [name, items.map((item) => ({ ...sampleData(parameter.fields), ...item }))];
    }
    return [name, (example ?? otherwise ?? sampleOf(parameter)) as TemplateValue];
  });
  return Object.fromEntries(samples);
}

function sampleOf(parameter: Scalar): string | number | boolean {
  switch (parameter.type) {
    case 'text':
      return 'Sample text'.slice(0, parameter.max_chars);
    case 'number':
      return Math.min(Math.max(1, parameter.min ?? 1), parameter.max ?? 1);
    case 'boolean':
      return true;
    case 'choice':
      return parameter.values[0] ?? '';
    case 'color':
      return '#3355cc';
    case 'date':
      return '2026-11-28';
    case 'url':
      return 'https://example.com/';
    case 'image':
      return 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
  }
}

/** A stored version, without its content. */
export interface Template {
  id: string;
  accountId: string;
  name: string;
  version: number;
  manifest: TemplateManifest;
  /** All files, template.json included, with their places in the content. */
  files: readonly PageFile[];
  bytes: number;
  sha256: string;
  createdAt: number;
}

/** Adds the defaults of the template to a request; fields of the request win. */
export function withTemplateDefaults(
  body: Readonly<Record<string, unknown>>,
  { manifest }: Pick<Template, 'manifest'>,
): Record<string, unknown> {
  const { viewport, pdf, ...capture } = manifest.capture;
  const has = (name: string) => body[name] !== undefined;
  if (has('animate')) delete capture.format;
  const format = body.format ?? capture.format;
  const merged: Record<string, unknown> = { ...capture, ...body };
  if (viewport !== undefined && !has('device') && !has('viewports')) merged.viewport = joined(viewport, body.viewport);
  if (pdf !== undefined && format === 'pdf') merged.pdf = joined(pdf, body.pdf);
  return merged;
}

function joined(one: unknown, other: unknown): unknown {
  return other === undefined ? one : isMembers(one) && isMembers(other) ? { ...one, ...other } : other;
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The files of a capture, whose document is made when it is captured. */
export function templateFiles({ id, files }: Pick<Template, 'id' | 'files'>, data: TemplateData): PageFilesOption {
  return { pack: null, key: '', list: files, template: { id, data } };
}

const facts = {
  name: text('name', 'og-card'),
  version: whole('number of the version, from 1', 3),
  bytes: count('size of all files', 18_211),
  sha256: text('SHA-256 of the names and contents of all files, in hex', '9f86d081…'),
  created_at: whole('Unix milliseconds', EXAMPLE_TIME_MS),
};

export const templateSchema = z
  .object({
    ...facts,
    description: z.string().nullable().meta({ description: 'of template.json', example: 'Share card, 1200 × 630' }),
    parameters: z.record(z.string(), z.unknown()).meta({
      description: 'parameters by name, with type, limits and default, as in template.json',
      example: { title: { type: 'text', max_chars: 120 } },
    }),
    capture: z.record(z.string(), z.unknown()).meta({
      description: 'fields that a capture has unless it says otherwise',
      example: { viewport: { width: 1200, height: 630 } },
    }),
    files: z
      .array(
        z.object({
          name: text('relative path', 'index.html'),
          type: text('content type', 'text/html'),
          bytes: count('size', 1_024),
        }),
      )
      .meta({ description: 'files of this version', example: [] }),
    versions: z
      .array(
        z.object({ version: facts.version, bytes: facts.bytes, sha256: facts.sha256, created_at: facts.created_at }),
      )
      .meta({ description: 'all versions, newest first', example: [] }),
  })
  .meta({ id: 'Template', ...EXTENSION });

export const templateEntrySchema = z
  .object({
    name: facts.name,
    version: whole('number of the newest version', 3),
    versions: count('number of versions', 3),
    bytes: count('size of all versions', 54_633),
    description: templateSchema.shape.description,
    created_at: whole('when the newest version was stored, in Unix milliseconds', EXAMPLE_TIME_MS),
  })
  .meta({ id: 'TemplateEntry', ...EXTENSION });

/** A version, as lists have it. */
export type TemplateVersion = Pick<Template, 'version' | 'bytes' | 'sha256' | 'createdAt'>;

export function toWireTemplate(template: Template, versions: readonly TemplateVersion[]) {
  const { name, version, bytes, sha256, createdAt, files, manifest } = template;
  return {
    name,
    version,
    bytes,
    sha256,
    created_at: createdAt,
    description: manifest.description ?? null,
    parameters: manifest.parameters,
    capture: manifest.capture,
    files: files.map((file) => ({ name: file.name, type: file.type, bytes: file.bytes })),
    versions: versions.map((one) => ({
      version: one.version,
      bytes: one.bytes,
      sha256: one.sha256,
      created_at: one.createdAt,
    })),
  } satisfies z.output<typeof templateSchema>;
}
