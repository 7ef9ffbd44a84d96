import type { Handler } from 'hono';
import type { Edge, EdgeEnv } from '../edge.js';
import { answerData, jsonResponse } from '../envelope.js';

/** How old a reading may be when many ask at once: health must stay cheap while the server is saturated. */
const FRESH_MS = 200;

/** GET /v1/health: 200 when captures can be taken on, else 503 with the same data (decisions.md, Health). */
export function readHealth(edge: Edge): Handler<EdgeEnv> {
  const read = oneAtATime(() => edge.health());
  return async (c) => {
    const { ready, data } = await read();
    const ok = ready && !edge.draining();
    const { requestId, headers } = c.var.exchange;
    return jsonResponse(ok ? 200 : 503, { ok, request_id: requestId, data }, headers);
  };
}

/** GET /livez: the process runs, nothing more. */
export function readLiveness(): Handler<EdgeEnv> {
  return (c) => answerData(c, { alive: true });
}

/** Callers at the same time share one reading. */
function oneAtATime<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | null = null;
  let startedAt = 0;
  return () => {
    const now = performance.now();
    if (reading === null || now - startedAt > FRESH_MS) {
      startedAt = now;
      reading = read();
    }
    return reading;
  };
}
