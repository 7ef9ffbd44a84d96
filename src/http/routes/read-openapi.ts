import { readFile } from 'node:fs/promises';
import type { Handler } from 'hono';
import type { Edge, EdgeEnv } from '../edge.js';

/** GET /openapi.json, which the build makes. All responses share the bytes. */
export function readOpenapi(edge: Edge): Handler<EdgeEnv> {
  let document: Promise<Uint8Array<ArrayBuffer>> | null = null;
  return async (c) => {
    document ??= readBuilt(edge);
    const { headers } = c.var.exchange;
    headers['content-type'] = 'application/json';
    return new Response(await document, { headers });
  };
}

async function readBuilt({ config, places }: Edge): Promise<Uint8Array<ArrayBuffer>> {
  const built = JSON.parse(await readFile(config.openapiFile, 'utf8')) as Record<string, unknown>;
  return new TextEncoder().encode(JSON.stringify({ ...built, servers: [{ url: places.baseUrl }] }));
}
