/**
 * The HTTP layer: routes, guards and the response envelope. Must not know the store's engine, browsers or sockets of captures; what it
 * needs is passed in as AppServices.
 */
import { type Handler, Hono, type MiddlewareHandler } from 'hono';
import { CaptureError } from '../contract/capture-error.js';
import type { AppEnv, AppServices, ConsoleServices } from './app-services.js';
import { consoleGate } from './console/gate.js';
import { consoleRoutes } from './console-routes.js';
import { answerError } from './envelope.js';
import { answerThrown, openExchange } from './exchange.js';
import { guard } from './guard.js';
import { ROUTES } from './routes/routes.js';

/** All routes. Needs Node's request and response objects besides the web ones: serve it with `startHttp`. */
export function createApp(services: AppServices): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.use(openExchange(services));
  app.onError(answerThrown(services));
  app.notFound((c) =>
    answerError(services, c.var.exchange, new CaptureError({ code: 'invalid_request', status: 404, message: 'No such path' })),
  );
  const { servesApi } = services.config;
  for (const { method, path, access, before, handle } of ROUTES.filter(({ onEveryServer }) => servesApi || onEveryServer)) {
    refuseOthers(app, path, [method]);
    if (before !== undefined) app.on(method, path, before(services));
    if (access !== null) app.on(method, path, guard(services, access));
    app.on(method, path, handle(services));
  }
  if (servesApi && services.console !== undefined) serveConsole(app, services, services.console);
  return app;
}

function serveConsole(app: Hono<AppEnv>, services: AppServices, own: ConsoleServices): void {
  const gate = consoleGate(services, own);
  for (const { path, steps } of consoleRoutes(services, own)) serveEach(app, path, steps, gate);
}

type Method = 'GET' | 'POST';
type Step = Handler<AppEnv> | MiddlewareHandler<AppEnv>;

/** A step for each method of a path, behind a gate that comes first. */
function serveEach(app: Hono<AppEnv>, path: string, steps: Partial<Record<Method, Step>>, gate: MiddlewareHandler<AppEnv>): void {
  app.use(path, gate);
  refuseOthers(app, path, Object.keys(steps) as Method[]);
  for (const [method, step] of Object.entries(steps)) app.on(method, path, step);
}

/** Other methods get 405 before any other check (decisions.md, Envelope). GET includes HEAD. */
function refuseOthers(app: Hono<AppEnv>, path: string, methods: readonly Method[]): void {
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
