import type { Handler } from 'hono';
import { CaptureError } from '../../contract/capture-error.js';
import type { Edge, EdgeEnv } from '../edge.js';
import { readJson } from '../read-json.js';

/** POST /mcp: one message of the Model Context Protocol (Streamable HTTP). */
export function answerMcp(edge: Edge): Handler<EdgeEnv> {
  return async (c) => {
    const message = await readJson(c.env.incoming);
    // Else one request could do the work of thousands, and be counted as one.
    if (Array.isArray(message)) throw new CaptureError({ code: 'invalid_request', message: 'The body must be a single JSON-RPC message.' });
    const { answerMessage } = await import('../mcp/answer-message.js');
    return await answerMessage(edge, c, message);
  };
}
