/**
 * The HTTP layer: routes, guards and the response envelope. Must know nothing of the store's engine, of browsers, or of the sockets of
 * captures; what it needs is passed in as AppServices.
 */
import { Hono } from 'hono';
import { notFound } from '../contract/capture-error.js';
import type { AppEnv, AppServices } from './app-services.js';
import { compatibleRoutes } from './compatible-apis/routes.js';
import { answerError, openExchange } from './exchange.js';
import { guard, refuseOtherMethods } from './guard.js';
import type { Route } from './route.js';
import { answerMcp } from './routes/answer-mcp.js';
import { BATCH_ROUTES } from './routes/batches.js';
import { comparePictures } from './routes/compare-pictures.js';
import { listJobs, readJob, readRequest, readUsage, readWebhook, redeliverWebhook, removeJob } from './routes/jobs.js';
import { readArtifact } from './routes/read-artifact.js';
import { DOCS, readOpenapi } from './routes/read-docs.js';
import { readHealth, readLiveness } from './routes/read-health.js';
import { readMetrics } from './routes/read-metrics.js';
import { readTiles } from './routes/read-tiles.js';
import { renderLink } from './routes/render-link.js';
import { submitScreenshot } from './routes/submit-screenshot.js';
import { TEMPLATE_ROUTES } from './routes/templates.js';
import { WATCH_ROUTES } from './routes/watches.js';
import { workOnPdfs } from './routes/work-on-pdfs.js';
import { serveConsole } from './serve-console.js';

/** All routes. Needs Node's request and response objects besides the web ones: serve it with `startHttp`. */
export function createApp(services: AppServices): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.use(openExchange(services));
  app.onError((thrown, c) => answerError(services, c.var.exchange, thrown));
  app.notFound((c) => answerError(services, c.var.exchange, notFound('No such path')));
  const { servesApi, compatibleApis } = services.config;
  const routes = servesApi
    ? [...ROUTES, ...compatibleRoutes(compatibleApis)]
    : ROUTES.filter(({ onEveryServer }) => onEveryServer);
  for (const path of new Set(routes.map((route) => route.path))) {
    const here = routes.filter((route) => route.path === path);
    const refuse = here[0]?.refuse;
    app.use(path, async (c, next) => {
      c.var.exchange.route = path;
      try {
        refuseOtherMethods(
          c,
          here.map(({ method }) => method),
        );
      } catch (thrown) {
        if (refuse === undefined) throw thrown;
        return refuse(services, c, thrown);
      }
      return await next();
    });
  }
  for (const { method, path, access, before, handle } of routes) {
    if (before !== undefined) app.on(method, path, before(services));
    if (access !== null) app.on(method, path, guard(services, access));
    app.on(method, path, handle(services));
  }
  if (servesApi && services.console !== undefined) serveConsole(app, services, services.console);
  return app;
}

/** The public API, in the order of its document. */
export const API: readonly Route[] = [
  submitScreenshot,
  comparePictures,
  workOnPdfs,
  renderLink,
  readArtifact,
  listJobs,
  readUsage,
  readJob,
  removeJob,
  readTiles,
  readRequest,
  readWebhook,
  redeliverWebhook,
  ...BATCH_ROUTES,
  ...TEMPLATE_ROUTES,
  ...WATCH_ROUTES,
  readHealth,
  readLiveness,
];

/** All routes but those of the console. */
export const ROUTES: readonly Route[] = [...API, readMetrics, answerMcp, readOpenapi, ...DOCS];

/** Loads the code of MCP and of the console, which would hold the event loop for 100 ms at their first requests. */
export async function loadRoutes({ console }: Pick<AppServices, 'console'>): Promise<void> {
  await import('./mcp/answer-message.js');
  if (console !== undefined) await import('./console/console.js');
}
