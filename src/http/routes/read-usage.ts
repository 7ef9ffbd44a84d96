import type { Handler } from 'hono';
import type { Edge, EdgeEnv } from '../edge.js';
import { answerData } from '../envelope.js';
import { principalOf } from '../guard.js';

/** GET /v1/usage: what the key's account has used in this period (extensions.md). */
export function readUsage(edge: Edge): Handler<EdgeEnv> {
  return async (c) => answerData(c, await edge.readUsage(principalOf(c)));
}
