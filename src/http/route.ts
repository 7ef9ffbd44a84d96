import type { Context, Handler, MiddlewareHandler } from 'hono';
import type { z } from 'zod';
import { EXTENSION } from '../contract/request-fields.js';
import type { AppEnv, AppServices } from './app-services.js';
import type { Protection } from './guard.js';

/** Facts about an operation that the OpenAPI document needs beyond the other fields of its route (scripts/openapi.ts). */
export interface Description {
  operationId: string;
  tags: ('captures' | 'jobs' | 'batches' | 'webhooks' | 'watches' | 'templates' | 'service')[];
  summary: string;
  description?: string;
  params?: z.ZodObject;
  query?: z.ZodObject;
  /** Headers of the request, besides those that any request may have. */
  headers?: z.ZodObject;
  body?: {
    description: string;
    /** As JSON. */
    schema?: z.ZodType;
    example?: unknown;
    /** As multipart/form-data. */
    form?: z.ZodType;
  };
  /** By status. */
  answers: Record<number, Answer>;
  /** By status, besides those of every endpoint that needs a key. */
  failures?: Record<number, string>;
  'x-stillframe-extension'?: true;
}

export interface Answer {
  description: string;
  /** `data` of the envelope. */
  data?: z.ZodType;
  /** A body of JSON with another envelope than that of success. */
  json?: z.ZodType;
  /** Whether the body is a picture, or may be one. */
  picture?: true;
  /** Content types of a body that is a file. */
  types?: string[];
  /** Descriptions by name. */
  headers?: Record<string, string>;
}

/** An endpoint: one method at one path. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With the parameters as `:id`. */
  path: string;
  /** The scope that its API key needs, and the bucket that a request takes from; null: no key. */
  access: Protection | null;
  /** Absent for endpoints that are not part of the public API. Called when the document is made, which most servers never do. */
  describe?(): Description;
  /** Whether servers without the role `api` serve it, too. Default: no. */
  onEveryServer?: true;
  /** Comes before the API key is read. */
  before?(services: AppServices): MiddlewareHandler<AppEnv>;
  /** Answers a request with another method. Default: as any error. */
  refuse?(services: AppServices, c: Context<AppEnv>, thrown: unknown): Response;
  handle(services: AppServices): Handler<AppEnv>;
}

/** The parts of an endpoint of an extension. */
interface ExtensionRoute {
  access: Protection;
  described: Omit<Description, 'tags'>;
  handle(services: AppServices, c: Context<AppEnv>): Promise<Response>;
}

/** An endpoint of an extension, in the group of the tag. */
export function extensionRoute(
  tag: Description['tags'][number],
  [method, path]: [Route['method'], string],
  { access, described, handle }: ExtensionRoute,
): Route {
  return {
    method,
    path,
    access,
    describe: () => ({ ...described, tags: [tag], ...EXTENSION }),
    handle: (services) => (c) => handle(services, c),
  };
}
