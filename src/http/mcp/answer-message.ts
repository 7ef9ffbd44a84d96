import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { Context } from 'hono';
import { requireScope } from '../../account/authenticate.js';
import { lookupJob } from '../../capture/lookup.js';
import { parseSubmission } from '../../contract/submission.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { clientOf } from '../exchange.js';
import { enforceLimits, principalOf, SUBMISSIONS } from '../guard.js';
import { refuseWhenDraining, submitAndWait } from '../submit-and-wait.js';
import type { McpBackend } from './backend.js';
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

/** The tools on behalf of the API key of a request: with its scopes, limits and credits, like the routes under /v1. */
function httpBackend(services: AppServices, c: Context<AppEnv>): McpBackend {
  const principal = principalOf(c);
  const { requestId, route } = c.var.exchange;
  return {
    admitCapture() {
      enforceLimits(services, c, { principal, protection: SUBMISSIONS });
      refuseWhenDraining(services);
    },
    // Each request has been counted as a read (routes/answer-mcp.ts).
    admitRead: () => requireScope(principal, 'jobs:read'),
    admitPicture: () =>
      enforceLimits(services, c, { principal, protection: { scope: 'jobs:read', meter: 'submissions' } }),
    async submit(body, idempotencyKey) {
      const template = await services.templates.find(body, principal);
      const submission = parseSubmission(body, { ...services.config, forceAsync: false, template });
      return await submitAndWait(services, c, { submission, idempotencyKey });
    },
    findJob: (id) => lookupJob(services.store, id, principal),
    listJobs: (page) => services.store.listJobs(principal.keyId, page),
    async watches() {
      requireScope(principal, 'watches:read');
      const watches = await services.watches();
      return { list: (page) => watches.list(principal, page), runs: (id, page) => watches.runs(principal, id, page) };
    },
    tiles: ({ artifact, diagnostics }, from) =>
      services.modelView(artifact, { from, density: diagnostics.deviceScaleFactor }),
    async compare({ before, after }, threshold) {
      using _place = services.comparisons.enter(principal.accountId);
      const options = { threshold, ignoreAntialiasing: true, mask: [], picture: 'overlay' as const };
      const find = (side: 'before' | 'after', jobId: string) =>
        services.comparisons.find({ side, source: { kind: 'job', jobId } }, principal);
      const pictures = { before: await find('before', before), after: await find('after', after) };
      const { comparison, artifact } = await services.comparisons.compare(
        { ...pictures, options },
        { principal, signal: clientOf(c) },
      );
      return {
        comparison,
        tiles: artifact === null ? null : await services.modelView(artifact, { from: 1, density: 1 }),
      };
    },
    report: (thrown) => services.log.error({ request_id: requestId, route, err: thrown }, 'tool failed'),
    requestId: () => requestId,
    baseUrl: services.places.baseUrl,
    version: services.config.version,
    note: 'Each capture is charged to the account of the API key.',
  };
}
