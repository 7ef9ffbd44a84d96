import type { Handler } from 'hono';
import type { AppEnv, AppServices, ConsoleServices } from './app-services.js';
import type { Console } from './console/serve-console.js';

type Step = Handler<AppEnv>;

export interface ConsoleRoute {
  path: string;
  /** By method. */
  steps: { GET?: Step; POST?: Step };
}

/** The routes of the console, whose code is loaded at the first request to one of them. */
export function consoleRoutes(services: AppServices, own: ConsoleServices): ConsoleRoute[] {
  let made: Promise<Console> | null = null;
  const load = () => {
    made ??= import('./console/serve-console.js').then((module) => new module.Console(services, own));
    // The next request loads it again.
    made.catch(() => {
      made = null;
    });
    return made;
  };
  const by =
    (act: (console: Console, c: Parameters<Step>[0]) => Response | Promise<Response>): Step =>
    async (c) =>
      act(await load(), c);
  return [
    { path: '/console', steps: { GET: by((it, c) => it.home(c, 'console/capture')) } },
    { path: '/console/', steps: { GET: by((it, c) => it.home(c, 'capture')) } },
    { path: '/console/enter', steps: { GET: by((it, c) => it.enter(c)), POST: by((it, c) => it.open(c)) } },
    { path: '/console/sign-out', steps: { POST: by((it, c) => it.signOut(c)) } },
    {
      path: '/console/capture',
      steps: { GET: by((it, c) => it.show(c, 'capture')), POST: by((it, c) => it.send(c, 'capture')) },
    },
    { path: '/console/pictures/:name', steps: { GET: by((it, c) => it.show(c, 'picture')) } },
    { path: '/console/jobs', steps: { GET: by((it, c) => it.show(c, 'jobs')) } },
    { path: '/console/job', steps: { GET: by((it, c) => it.show(c, 'job')) } },
    { path: '/console/redeliver', steps: { POST: by((it, c) => it.send(c, 'redeliver')) } },
    { path: '/console/keys', steps: { GET: by((it, c) => it.show(c, 'keys')), POST: by((it, c) => it.send(c, 'createKey')) } },
    { path: '/console/signing-secret', steps: { POST: by((it, c) => it.send(c, 'createSigningSecret')) } },
    { path: '/console/revoke-key', steps: { POST: by((it, c) => it.send(c, 'revokeKey')) } },
    {
      path: '/console/accounts',
      steps: { GET: by((it, c) => it.show(c, 'accounts')), POST: by((it, c) => it.send(c, 'createAccount')) },
    },
    { path: '/console/quota', steps: { POST: by((it, c) => it.send(c, 'setQuota')) } },
    { path: '/console/system', steps: { GET: by((it, c) => it.show(c, 'system')) } },
    { path: '/console/queue', steps: { POST: by((it, c) => it.send(c, 'queue')) } },
    { path: '/console/end-sessions', steps: { POST: by((it, c) => it.send(c, 'endSessions')) } },
    ...(['console.css', 'console.js', 'icon.svg'] as const).map((name) => ({
      path: `/console/${name}`,
      steps: { GET: by((it, c) => it.file(c, name)) },
    })),
  ];
}
