import type { Context, Hono } from 'hono';
import { CaptureError } from '../contract/capture-error.js';
import type { AppEnv, AppServices, ConsoleServices } from './app-services.js';
import { isLoopback } from './client-address.js';
import { refuseForeignHost } from './own-site.js';

/** Serves the console at its paths. */
export function serveConsole(app: Hono<AppEnv>, services: AppServices, own: ConsoleServices): void {
  app.all('/console/*', async (c) => {
    refuseStrangers(services, own, c);
    const { answerConsole } = await import('./console/console.js');
    return await answerConsole({ services, console: own, c });
  });
}

/** Hides the console from everybody but this machine, unless it is configured for others. Throws `forbidden`. */
function refuseStrangers(services: AppServices, { loopbackOnly }: ConsoleServices, c: Context<AppEnv>): void {
  if (loopbackOnly && !isLoopback(c.env.incoming)) throw new CaptureError({ code: 'forbidden', message: ONLY_HERE });
  refuseForeignHost(services, c);
}

const ONLY_HERE =
  "The console is open on the server's own machine only, at its loopback address. To open it from other machines or through a reverse proxy, the operator starts the server with STILLFRAME_CONSOLE=on and STILLFRAME_BASE_URL, behind HTTPS.";
