import type { Context } from 'hono';
import { requireScope } from '../../account/require-scope.js';
import { lookupJob } from '../../capture/lookup.js';
import { parseSubmission } from '../../contract/submission.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { enforceLimits, principalOf } from '../guard.js';
import { refuseWhenDraining, submitAndSettle } from '../submit-and-settle.js';
import type { McpBackend } from './backend.js';

/** The tools on behalf of the API key of a request: with its scopes, limits and credits, like the routes under /v1. */
export function httpBackend(services: AppServices, c: Context<AppEnv>): McpBackend {
  const principal = principalOf(c);
  return {
    admitCapture() {
      enforceLimits(services, c, { principal, protection: { scope: 'screenshot:write', meter: 'submissions' } });
      refuseWhenDraining(services);
    },
    // Each request has been counted as a read (routes/answer-mcp.ts).
    admitRead: () => requireScope(principal, 'jobs:read'),
    admitPicture: () => enforceLimits(services, c, { principal, protection: { scope: 'jobs:read', meter: 'submissions' } }),
    submit: (body, idempotencyKey) =>
      submitAndSettle(services, c, { submission: parseSubmission(body, { ...services.config, forceAsync: false }), idempotencyKey }),
    findJob: (id) => lookupJob(services.store, id, principal),
    listJobs: (page) => services.store.listJobs(principal.keyId, page),
    tiles: ({ artifact, diagnostics }, from) => services.modelView(artifact, { from, density: diagnostics.deviceScaleFactor }),
    report: (thrown) =>
      services.log.error({ request_id: c.var.exchange.requestId, route: c.var.exchange.route, err: thrown }, 'tool failed'),
    requestId: () => c.var.exchange.requestId,
    baseUrl: services.places.baseUrl,
    version: services.config.version,
    note: 'Each capture is charged to the account of the API key.',
  };
}
