import { readFile } from 'node:fs/promises';
import type { AppServices } from '../app-services.js';
import type { Route } from '../route.js';

/** The OpenAPI document, which the build makes (scripts/write-openapi.ts). All responses share the bytes. */
export const readOpenapi: Route = {
  method: 'GET',
  path: '/openapi.json',
  access: null,
  handle: (services) => {
    let document: Awaited<ReturnType<typeof readBuilt>> | null = null;
    return async (c) => {
      document ??= await readBuilt(services);
      const { headers } = c.var.exchange;
      headers['content-type'] = 'application/json';
      return new Response(document, { headers });
    };
  },
};

async function readBuilt({ config, places }: AppServices): Promise<Uint8Array<ArrayBuffer>> {
  const built = JSON.parse(await readFile(config.openapiFile, 'utf8')) as Record<string, unknown>;
  return new TextEncoder().encode(JSON.stringify({ ...built, servers: [{ url: places.baseUrl }] }));
}
