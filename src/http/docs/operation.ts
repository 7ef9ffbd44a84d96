import type { OpenAPIHono } from '@hono/zod-openapi';

/** One OpenAPI operation. */
export type Operation = Parameters<OpenAPIHono['openAPIRegistry']['registerPath']>[0];
