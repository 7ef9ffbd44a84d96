import { OpenAPIHono } from '@hono/zod-openapi';
import { z } from 'zod';
import { webhookPayloadSchema } from '../../contract/delivery.js';
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../contract/job.js';
import { EXTENSION } from '../../contract/request-fields.js';
import type { Route } from '../route.js';
import { describeFields } from './describe-fields.js';

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
  for (const event of WEBHOOK_EVENTS) registry.registerWebhook(notification(event));
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
      { name: 'webhooks', description: 'Completion callbacks' },
      { name: 'service', description: 'Health of the server' },
    ],
  });
  requireDefaulted(document.components?.schemas?.CaptureData as ObjectSchema);
  tellTargets(document as unknown as InterfaceDocument);
  describeFields(document);
  return document as unknown as Record<string, unknown>;
}

function register(registry: OpenAPIHono['openAPIRegistry'], { method, path, access, describe }: Route): void {
  if (describe === undefined) return;
  const { description = '', ...described } = describe();
  const scope = access === null ? '' : `Scope: \`${access.scope}\`.`;
  const text = `${scope} ${description}`.trim();
  registry.registerPath({
    ...described,
    ...(text === '' ? {} : { description: text }),
    method: method === 'GET' ? 'get' : 'post',
    path: path.replaceAll(/:(\w+)/g, '{$1}'),
    security: access === null ? [] : [{ apiKey: [] }],
  });
}

interface ObjectSchema {
  properties: Record<string, { default?: unknown }>;
  required: string[];
}

interface InterfaceDocument {
  components: { schemas: Record<string, ObjectSchema> };
  paths: Record<string, { post: { requestBody: { content: Record<string, { schema: unknown }> } } }>;
}

/** Describes requests with `url` and with `html` as two schemas, so that generated types require exactly one of them. */
function tellTargets({ components: { schemas }, paths }: InterfaceDocument): void {
  const { CaptureRequest: request } = schemas;
  const body = paths['/v1/screenshot']?.post.requestBody.content['application/json'];
  if (request === undefined || body === undefined) return;
  const { url: _url, ...properties } = request.properties;
  schemas.CaptureHtmlRequest = { ...request, properties, required: ['html'], ...EXTENSION };
  request.required = ['url'];
  body.schema = { anyOf: ['CaptureRequest', 'CaptureHtmlRequest'].map((name) => ({ $ref: `#/components/schemas/${name}` })) };
}

/** In responses, fields with a default are always present (interface.md, CaptureData). */
function requireDefaulted(schema: ObjectSchema): void {
  for (const [name, property] of Object.entries(schema.properties)) {
    if (property.default !== undefined && !schema.required.includes(name)) schema.required.push(name);
  }
}

function notification(event: WebhookEvent): Parameters<OpenAPIHono['openAPIRegistry']['registerWebhook']>[0] {
  const completed = event === 'capture.completed';
  return {
    method: 'post',
    path: event,
    operationId: completed ? 'captureCompleted' : 'captureFailed',
    tags: ['webhooks'],
    security: [],
    summary: completed ? 'A capture finished successfully' : 'A capture failed',
    request: {
      headers: z.object({
        'x-service-signature': z.string().meta({
          description:
            '`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 of the timestamp, a period and the exact raw body, keyed with the webhook secret',
        }),
      }),
      body: { required: true, content: { 'application/json': { schema: webhookPayloadSchema(event) } } },
    },
    responses: {
      '2XX': { description: 'Acknowledged.' },
      429: { description: 'The delivery is retried later.' },
      '5XX': { description: 'The delivery is retried later.' },
      default: { description: 'Any other response is final: the delivery has failed.' },
    },
  };
}
