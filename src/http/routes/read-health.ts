import type { Handler } from 'hono';
import type { Edge, EdgeEnv } from '../edge.js';
import { answerData, jsonResponse } from '../envelope.js';

/** GET /v1/health: 200 when captures can be taken on, else 503 with the same data (decisions.md, Health). */
export function readHealth(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const { ready, data } = await edge.health();
    const ok = ready && !edge.draining();
    const { requestId, headers } = c.var.exchange;
    return jsonResponse(ok ? 200 : 503, { ok, request_id: requestId, data }, headers);
  };
}

/** GET /livez: the process runs, nothing more. */
export function readLiveness(): Handler<EdgeEnv> {
  return (c) => answerData(c, { alive: true });
}
