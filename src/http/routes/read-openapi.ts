import type { Handler } from 'hono';
import type { Edge, EdgeEnv } from '../edge.js';

/** GET /openapi.json: built on the first request, so that it does not delay the start. All responses share the bytes. */
export function readOpenapi(edge: Edge): Handler<EdgeEnv> {
  let document: Promise<Uint8Array<ArrayBuffer>> | null = null;
  return async (c) => {
    document ??= describe(edge);
    const { headers } = c.var.exchange;
    headers['content-type'] = 'application/json';
    return new Response(await document, { headers });
  };
}

async function describe(edge: Edge): Promise<Uint8Array<ArrayBuffer>> {
  const { describeInterface } = await import('../docs/openapi.js');
  return new TextEncoder().encode(JSON.stringify(describeInterface(edge.config.version, edge.places.baseUrl)));
}
