import { OpenAPIHono } from '@hono/zod-openapi';
import { z } from 'zod';
import { batchPayloadSchema } from '../src/contract/batch.js';
import { webhookPayloadSchema } from '../src/contract/delivery.js';
import { envelopeOf, errorEnvelopeSchema, WEBHOOK_EVENTS } from '../src/contract/job.js';
import { REQUEST_ID_PATTERN } from '../src/contract/limits.js';
import { EXTENSION, OWN_META_NAMES } from '../src/contract/request-fields.js';
import { RATE_HEADERS } from '../src/http/guard.js';
import type { Answer, Route } from '../src/http/route.js';
import { nameSchemas, pascal } from './name-schemas.js';

type Registry = OpenAPIHono['openAPIRegistry'];
type Webhook = Parameters<Registry['registerWebhook']>[0];
type Response = Parameters<Registry['registerPath']>[0]['responses'][string];

/**
 * The OpenAPI 3.1 document, generated from the schemas that validate requests and build responses.
 * @param version of the program, which is also that of the API
 */
export function describeInterface(routes: readonly Route[], version: string, baseUrl: string): Record<string, unknown> {
  const app = new OpenAPIHono();
  const registry = app.openAPIRegistry;
  registry.registerComponent('securitySchemes', 'apiKey', {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key, `sf_live_…`; each operation names the scope that it needs.',
  });
  for (const route of routes) register(registry, route);
  for (const event of WEBHOOK_EVENTS) {
    const completed = event === 'capture.completed';
    const summary = {
      operationId: completed ? 'captureCompleted' : 'captureFailed',
      summary: completed ? 'A capture finished successfully' : 'A capture failed',
    };
    registry.registerWebhook(notification(event, summary, webhookPayloadSchema(event)));
  }
  const ended = { operationId: 'batchEnded', summary: 'All captures of a batch have ended, or it was canceled' };
  registry.registerWebhook(notification('batch.completed', ended, batchPayloadSchema));
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'stillframe',
      version,
      description: 'Public web pages as pictures and PDFs.',
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: baseUrl }],
    tags: [
      { name: 'captures', description: 'Submit captures and download their results' },
      { name: 'jobs', description: 'Track captures' },
      { name: 'batches', description: 'Submit, follow and cancel many captures together' },
      { name: 'webhooks', description: 'Completion callbacks' },
      { name: 'templates', description: 'Pages with parameters, in numbered versions' },
      { name: 'watches', description: 'Capture pages by a schedule, and tell what has changed' },
      { name: 'service', description: 'Health of the server' },
    ],
  }) as unknown as InterfaceDocument;
  const { schemas } = document.components;
  requireDefaulted(schemas.CaptureData as Schema);
  tellTargets(document);
  describeFields(document, schemas);
  nameSchemas(schemas as Parameters<typeof nameSchemas>[0], document.paths);
  return document;
}

/** Headers that any request with a key may have. */
const ANY_HEADERS = z.object({
  'X-Request-ID': z
    .string()
    .optional()
    .meta({
      description: `echoed in the \`x-request-id\` response header; generated unless it matches \`${REQUEST_ID_PATTERN.source}\``,
    }),
});
/** Failures of every endpoint that needs a key. */
const KEY_FAILURES = {
  401: 'The key is missing, unknown or revoked.',
  403: 'The key lacks the required scope.',
  429: 'Rate limit exceeded.',
  500: 'Internal error.',
};
/** Headers of some failures. */
const RETRY_AFTER = { 'retry-after': 'whole seconds, when provided' };
const FAILURE_HEADERS: Record<string, Record<string, string>> = {
  401: { 'www-authenticate': 'Bearer' },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};
const INTEGER_HEADERS = new Set(['retry-after', 'x-width', 'x-height', 'x-pages']);
const PICTURE_TYPES = [
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/avif',
  'image/bmp',
  'image/gif',
  'video/mp4',
  'application/pdf',
];

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const;

function register(registry: Registry, { method, path, access, describe }: Route): void {
  if (describe === undefined) return;
  const { description = '', params, query, headers, body, answers, failures, ...described } = describe();
  const text = `${access === null ? '' : `Scope: \`${access.scope}\`.`} ${description}`.trim();
  const allHeaders = access === null ? headers : ANY_HEADERS.extend(headers?.shape ?? {});
  const content = body && {
    ...(body.schema && { 'application/json': { schema: body.schema, example: body.example } }),
    ...(body.form && { 'multipart/form-data': { schema: body.form } }),
  };
  registry.registerPath({
    ...described,
    ...(text === '' ? {} : { description: text }),
    method: METHODS[method],
    path: path.replaceAll(/:(\w+)/g, '{$1}'),
    security: access === null ? [] : [{ apiKey: [] }],
    request: {
      ...(params && { params }),
      ...(query && { query }),
      ...(allHeaders && { headers: allHeaders }),
      ...(body && content && { body: { required: true, description: body.description, content } }),
    },
    responses: {
      ...mapValues(answers, (answer) =>
        responseOf({ ...answer, headers: { ...(access === null ? {} : RATE_HEADERS), ...answer.headers } }),
      ),
      ...mapValues({ ...(access === null ? {} : KEY_FAILURES), ...failures }, (failure, status) =>
        responseOf({ description: failure, json: errorEnvelopeSchema, headers: FAILURE_HEADERS[status] ?? {} }),
      ),
    },
  });
}

function responseOf({ description, data, json, picture, types: own = [], headers = {} }: Answer): Response {
  const schema = data === undefined ? json : envelopeOf(true, { data });
  const types = [
    ...(schema === undefined ? [] : [['application/json', { schema }] as const]),
    ...[...(picture ? PICTURE_TYPES : []), ...own].map(
      (type) => [type, { schema: z.string().meta({ format: 'binary' }) }] as const,
    ),
  ];
  const all = { 'x-request-id': 'id of this request', ...headers };
  return {
    description,
    headers: mapValues(all, (text, name) => ({
      description: text,
      schema: { type: INTEGER_HEADERS.has(name) ? 'integer' : 'string' },
    })),
    ...(types.length === 0 ? {} : { content: Object.fromEntries(types) }),
  };
}

function mapValues<From, To>(record: Record<string, From>, to: (value: From, key: string) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, to(value, key)]));
}

function notification(path: string, description: { operationId: string; summary: string }, schema: z.ZodType): Webhook {
  return {
    method: 'post',
    path,
    ...description,
    tags: ['webhooks'],
    security: [],
    request: {
      headers: z.object({
        'x-service-signature': z.string().meta({
          description:
            '`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 of the timestamp, a period and the exact raw body, keyed with the webhook secret',
        }),
      }),
      body: { required: true, content: { 'application/json': { schema } } },
    },
    responses: {
      '2XX': { description: 'Acknowledged.' },
      429: { description: 'The delivery is retried later.' },
      '5XX': { description: 'The delivery is retried later.' },
      default: { description: 'Any other response is final: the delivery has failed.' },
    },
  };
}

interface Schema {
  $ref?: string;
  description?: string;
  default?: unknown;
  example?: unknown;
  examples?: unknown[];
  enum?: unknown[];
  type?: string | string[];
  items?: Schema;
  anyOf?: Schema[];
  properties?: Schemas;
  required?: string[];
  'x-enum-varnames'?: string[];
}

type Schemas = Record<string, Schema>;

interface InterfaceDocument extends Record<string, unknown> {
  components: { schemas: Schemas };
  paths: Record<string, { post: { requestBody: { content: Record<string, { schema: unknown }> } } }>;
}

/** Describes requests with `url` and with `html` as two schemas, so that generated types require exactly one of them. */
function tellTargets({ components: { schemas }, paths }: InterfaceDocument): void {
  const { CaptureRequest: request } = schemas;
  const body = paths['/v1/screenshot']?.post.requestBody.content['application/json'];
  if (request === undefined || body === undefined) return;
  const { url: _url, ...properties } = request.properties ?? {};
  schemas.CaptureHtmlRequest = { ...request, properties, required: ['html'], ...EXTENSION };
  schemas.CaptureTemplateRequest = { ...request, properties, required: ['template'], ...EXTENSION };
  request.required = ['url'];
  const both = ['CaptureRequest', 'CaptureHtmlRequest'].map(refTo);
  body.schema = { anyOf: [...both, refTo('CaptureTemplateRequest')] };
  for (const side of Object.values(schemas.CompareRequest?.properties ?? {})) {
    if (side.anyOf !== undefined) side.anyOf = [...side.anyOf.filter(({ $ref }) => $ref === undefined), ...both];
  }
}

function refTo(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** In responses, fields with a default are always present (interface.md, CaptureData). */
function requireDefaulted({ properties = {}, required = [] }: Schema): void {
  for (const [name, property] of Object.entries(properties)) {
    if (property.default !== undefined && !required.includes(name)) required.push(name);
  }
}

/** Descriptions of references to named schemas: one in `.meta()` would put a copy of the schema in place of the reference. */
const REFERENCES: Record<string, string> = { data: 'the result', error: 'what went wrong' };
/** Fields that few responses have. */
const UNUSUAL = new Set(['data_url', 'diagnostics']);

/**
 * Gives each field of a document a description and an example. Defaults become sentences: the `default` keyword would make generated types
 * require the field, in requests too.
 */
function describeFields(value: unknown, schemas: Schemas): void {
  if (value === null || typeof value !== 'object') return;
  const { properties } = value as Schema;
  for (const [name, field] of Object.entries(properties ?? {})) {
    // Two schemas of requests share their fields.
    if (field.examples !== undefined) continue;
    field.examples = [exampleOf(field, schemas)];
    // The names that generators derive from values with dots are also those of other types, such as WatchReport.
    if (field.enum?.some((value) => String(value).includes('.')))
      field['x-enum-varnames'] = field.enum.map((value) => pascal(`${name}_${value}`));
    const description = field.description ?? REFERENCES[name];
    if (description !== undefined) field.description = withDefault(description, field.default);
    for (const key of [...OWN_META_NAMES, 'example', 'default']) delete (field as Record<string, unknown>)[key];
  }
  for (const item of Object.values(value)) describeFields(item, schemas);
}

function withDefault(description: string, value: unknown): string {
  if (value === undefined || JSON.stringify(value) === '{}') return description;
  return `${description}${description.endsWith('.') ? '' : '.'} Default: \`${JSON.stringify(value).replace(/^"|"$/g, '')}\`.`;
}

function exampleOf(field: Schema, schemas: Schemas): unknown {
  if (field.examples !== undefined) return field.examples[0];
  if (field.example !== undefined) return field.example;
  const { properties } =
    field.$ref === undefined ? field : (schemas[field.$ref.replace('#/components/schemas/', '')] ?? {});
  if (field.items !== undefined) return field.default ?? [exampleOf(field.items, schemas)];
  if (properties === undefined)
    return field.default ?? field.enum?.[0] ?? (field.type === 'boolean' ? true : undefined);
  const shown = Object.entries(properties).filter(
    ([name]) => !UNUSUAL.has(name) && !(name === 'error' && 'data' in properties),
  );
  return Object.fromEntries(shown.map(([name, inner]) => [name, exampleOf(inner, schemas)]));
}
