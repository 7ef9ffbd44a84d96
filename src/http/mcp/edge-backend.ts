import type { Context } from 'hono';
import { requireScope } from '../../account/require-scope.js';
import { parseSubmission } from '../../contract/submission.js';
import type { Edge, EdgeEnv } from '../edge.js';
import { enforceLimits, principalOf } from '../guard.js';
import { refuseWhenDraining, submitAndSettle } from '../submit-and-settle.js';
import type { McpBackend } from './backend.js';

/** The tools on behalf of the API key of a request: with its scopes, limits and credits, like the routes under /v1. */
export function edgeBackend(edge: Edge, c: Context<EdgeEnv>): McpBackend {
  const principal = principalOf(c);
  return {
    admitCapture() {
      enforceLimits(edge, c, { principal, protection: { scope: 'screenshot:write', meter: 'submissions' } });
      refuseWhenDraining(edge);
    },
    // Each request has been counted as a read (app.ts).
    admitRead: () => requireScope(principal, 'jobs:read'),
    admitPicture: () => enforceLimits(edge, c, { principal, protection: { scope: 'jobs:read', meter: 'submissions' } }),
    submit: (body, idempotencyKey) =>
      submitAndSettle(edge, c, { submission: parseSubmission(body, { ...edge.config, forceAsync: false }), idempotencyKey }),
    findJob: (id) => edge.findJob(id, principal),
    listJobs: (page) => edge.listJobs(principal, page),
    tiles: ({ artifact, diagnostics }, from) => edge.modelView(artifact, { from, density: diagnostics.deviceScaleFactor }),
    report: (thrown) => edge.log.error({ request_id: c.var.exchange.requestId, route: c.var.exchange.route, err: thrown }, 'tool failed'),
    requestId: () => c.var.exchange.requestId,
    baseUrl: edge.places.baseUrl,
    version: edge.config.version,
    note: 'Each capture is charged to the account of the API key.',
  };
}
