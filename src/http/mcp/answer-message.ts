import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { Context } from 'hono';
import type { Edge, EdgeEnv } from '../edge.js';
import { edgeBackend } from './edge-backend.js';
import { createMcpServer } from './server.js';

/** Answers one message by Streamable HTTP, without a session and as plain JSON: each message has a server of its own. */
export async function answerMessage(edge: Edge, c: Context<EdgeEnv>, message: unknown): Promise<Response> {
  const server = createMcpServer(edgeBackend(edge, c));
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    const answer = await transport.handleRequest(c.req.raw, { parsedBody: message });
    const { headers } = c.var.exchange;
    const type = answer.headers.get('content-type');
    if (type !== null) headers['content-type'] = type;
    return new Response(answer.status === 202 ? null : await answer.text(), { status: answer.status, headers });
  } finally {
    await server.close();
  }
}
