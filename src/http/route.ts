import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Handler, MiddlewareHandler } from 'hono';
import type { AppEnv, AppServices } from './app-services.js';
import type { Protection } from './guard.js';

type Operation = Parameters<OpenAPIHono['openAPIRegistry']['registerPath']>[0];

/** The part of an operation in the OpenAPI document that a route does not say otherwise. */
export type Description = Omit<Operation, 'method' | 'path' | 'security'>;

/** An endpoint: one method at one path. */
export interface Route {
  method: 'GET' | 'POST';
  /** With the parameters as `:id`. */
  path: string;
  /** The scope that its API key needs, and the bucket that a request takes from; null: no key. */
  access: Protection | null;
  /** Absent for what is no part of the public API. Called when the document is made, which most servers never do. */
  describe?(): Description;
  /** Whether a server has it that leaves the API to others. Default: no. */
  onEveryServer?: true;
  /** Comes before the API key is read. */
  before?(services: AppServices): MiddlewareHandler<AppEnv>;
  handle(services: AppServices): Handler<AppEnv>;
}
