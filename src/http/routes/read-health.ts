import type { Handler } from 'hono';
import type { Edge, EdgeEnv } from '../edge.js';
import { answerData, jsonResponse } from '../envelope.js';

/** GET /v1/health: 200 if captures can be accepted, else 503 with the same data (decisions.md, Health). */
export function readHealth(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const { ready, data } = await edge.health();
    const ok = ready && !edge.draining();
    const { requestId, headers } = c.var.exchange;
    return jsonResponse(ok ? 200 : 503, { ok, request_id: requestId, data }, headers);
  };
}

/** GET /livez: 200 while the process responds. */
export function readLiveness(): Handler<EdgeEnv> {
  return (c) => answerData(c, { alive: true });
}
