import type { OpenAPIHono } from '@hono/zod-openapi';

/** One operation, as OpenAPI knows it. */
export type Operation = Parameters<OpenAPIHono['openAPIRegistry']['registerPath']>[0];
