import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { Context } from 'hono';
import type { AppEnv, AppServices } from '../app-services.js';
import { httpBackend } from './http-backend.js';
import { createMcpServer } from './server.js';

/** Answers one message by Streamable HTTP, without a session and as plain JSON: each message has a server of its own. */
export async function answerMessage(services: AppServices, c: Context<AppEnv>, message: unknown): Promise<Response> {
  const server = createMcpServer(httpBackend(services, c));
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
