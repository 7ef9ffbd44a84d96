/**
 * The HTTP edge: routes, guards and the response envelope. Must not know the store, browsers or sockets of captures; what it
 * needs is passed in as an Edge.
 */
import { type Handler, Hono, type MiddlewareHandler } from 'hono';
import { CaptureError } from '../contract/capture-error.js';
import { consoleGate } from './console/gate.js';
import type { ConsoleEdge } from './console-edge.js';
import { consoleRoutes } from './console-routes.js';
import type { Edge, EdgeEnv } from './edge.js';
import { answerError } from './envelope.js';
import { answerThrown, openExchange } from './exchange.js';
import { guard } from './guard.js';
import { ownOriginOnly } from './own-origin.js';
import { answerMcp } from './routes/answer-mcp.js';
import { listJobs } from './routes/list-jobs.js';
import { readArtifact } from './routes/read-artifact.js';
import { readDocs, readDocsFile, readHome, readPageFile, readReference, searchDocs } from './routes/read-docs.js';
import { readHealth, readLiveness } from './routes/read-health.js';
import { readJob } from './routes/read-job.js';
import { readMetrics } from './routes/read-metrics.js';
import { readOpenapi } from './routes/read-openapi.js';
import { readRequest } from './routes/read-request.js';
import { readUsage } from './routes/read-usage.js';
import { readWebhook } from './routes/read-webhook.js';
import { redeliverWebhook } from './routes/redeliver-webhook.js';
import { renderLink } from './routes/render-link.js';
import { submitScreenshot } from './routes/submit-screenshot.js';

/** All routes over one Edge. Needs Node's request and response objects besides the web ones: serve it with `startHttp`. */
export function createApp(edge: Edge): Hono<EdgeEnv> {
  const app = new Hono<EdgeEnv>();
  app.use(openExchange(edge));
  app.onError(answerThrown(edge));
  app.notFound((c) =>
    answerError(edge, c.var.exchange, new CaptureError({ code: 'invalid_request', status: 404, message: 'No such path' })),
  );

  serveAt(app, '/v1/health', 'GET', [readHealth(edge)]);
  serveAt(app, '/livez', 'GET', [readLiveness()]);
  serveAt(app, '/metrics', 'GET', [readMetrics(edge)]);
  // Of several servers, one that only captures or delivers.
  if (!edge.config.servesApi) return app;

  const submitting = guard(edge, { scope: 'screenshot:write', meter: 'submissions' });
  const reading = guard(edge, { scope: 'jobs:read', meter: 'reads' });
  // A redelivery neither renders nor charges, so it counts as a read.
  const redelivering = guard(edge, { scope: 'screenshot:write', meter: 'reads' });
  // Tools check their own scopes; captures are counted as submissions besides.
  const messaging = guard(edge, { scope: null, meter: 'reads' });

  serveAt(app, '/v1/screenshot', 'POST', [submitting, submitScreenshot(edge)]);
  serveAt(app, '/v1/render', 'GET', [renderLink(edge)]);
  serveAt(app, '/v1/jobs', 'GET', [reading, listJobs(edge)]);
  serveAt(app, '/v1/usage', 'GET', [reading, readUsage(edge)]);
  serveAt(app, '/v1/jobs/:id', 'GET', [reading, readJob(edge)]);
  serveAt(app, '/v1/requests/:key', 'GET', [reading, readRequest(edge)]);
  serveAt(app, '/v1/jobs/:id/webhook', 'GET', [reading, readWebhook(edge)]);
  serveAt(app, '/v1/jobs/:id/webhook/redeliver', 'POST', [redelivering, redeliverWebhook(edge)]);
  serveAt(app, '/mcp', 'POST', [ownOriginOnly(edge), messaging, answerMcp(edge)]);
  serveAt(app, '/artifacts/:name', 'GET', [readArtifact(edge)]);
  serveAt(app, '/', 'GET', [readHome(edge)]);
  serveAt(app, '/openapi.json', 'GET', [readOpenapi(edge)]);
  serveAt(app, '/docs', 'GET', [readReference(edge)]);
  serveAt(app, '/docs/search', 'GET', [searchDocs(edge)]);
  for (const name of ['page.css', 'icon.svg', 'theme.js', 'start.js'] as const) serveAt(app, `/docs/${name}`, 'GET', [readPageFile(name)]);
  for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js'] as const) serveAt(app, `/docs/${name}`, 'GET', [readDocsFile(name)]);
  serveAt(app, '/docs/:name', 'GET', [readDocs(edge)]);
  if (edge.console !== undefined) serveConsole(app, edge, edge.console);
  return app;
}

function serveConsole(app: Hono<EdgeEnv>, edge: Edge, own: ConsoleEdge): void {
  const gate = consoleGate(edge, own);
  for (const { path, steps } of consoleRoutes(edge, own)) serveEach(app, path, steps, gate);
}

type Method = 'GET' | 'POST';
type Step = Handler<EdgeEnv> | MiddlewareHandler<EdgeEnv>;

/** One method at one path. */
function serveAt(app: Hono<EdgeEnv>, path: string, method: Method, steps: Step[]): void {
  refuseOthers(app, path, [method]);
  for (const step of steps) app.on(method, path, step);
}

/** A step for each method of a path, behind a gate that comes first. */
function serveEach(app: Hono<EdgeEnv>, path: string, steps: Partial<Record<Method, Step>>, gate: MiddlewareHandler<EdgeEnv>): void {
  app.use(path, gate);
  refuseOthers(app, path, Object.keys(steps) as Method[]);
  for (const [method, step] of Object.entries(steps)) app.on(method, path, step);
}

/** Other methods get 405 before any other check (decisions.md, Envelope). GET includes HEAD. */
function refuseOthers(app: Hono<EdgeEnv>, path: string, methods: readonly Method[]): void {
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const allow = allowed.join(', ');
  app.use(path, async (c, next) => {
    c.var.exchange.route = path;
    if (allowed.includes(c.req.method)) return next();
    c.var.exchange.headers.allow = allow;
    throw new CaptureError({
      code: 'invalid_request',
      status: 405,
      message: `${c.req.method.slice(0, 20)} is not allowed here. Allowed: ${allow}.`,
    });
  });
}
