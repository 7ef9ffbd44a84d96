/**
 * Trial "fail-closed": a capture's proxy dies under it, in the middle of a page that asks for more. From then on nothing of it reaches
 * its site or a canary: no connection goes another way.
 *
 * Sabotage that turns it red: give the context in render/pool/open-page-session a bypass list (`*`) instead of `<-loopback>`.
 */
import { openBrowser, type TestBrowser } from '../egress/open-browser.js';
import { ALLOWED, openTestEgress } from '../egress/open-test-egress.js';
import { startPlainSite } from '../egress/plain-site.js';
import { EACH_KIND } from '../render/install/any-browser.js';
import { firstOf, type TrialResult } from './trial-result.js';

const PICTURES = 30;
const SENT_BEFORE = 10;

export async function run({ kills = 50 } = {}): Promise<TrialResult> {
  const problems: string[] = [];
  const figures = { kills: 0, direct_connections: 0, canary_connections: 0 };
  for (const executable of EACH_KIND) {
    await using canary = await startPlainSite({ address: '127.0.0.1' });
    await using dying = await startDyingSite(canary.port);
    await using gate = await openTestEgress();
    await using browser = await openBrowser(gate, executable);
    for (let kill = 0; kill < kills; kill++) {
      const seen = await loseProxy(browser, dying);
      for (const problem of seen) problems.push(`${executable.kind}, kill ${kill}: ${problem}`);
      figures.direct_connections += dying.site.connections - dying.connectionsAtDeath;
      figures.kills++;
    }
    figures.canary_connections += canary.connections;
  }
  if (figures.direct_connections + figures.canary_connections > 0)
    problems.push('there were connections past the proxy');
  return { figures, problems };
}

async function loseProxy(browser: TestBrowser, dying: DyingSite): Promise<string[]> {
  return browser.visit(async ({ page, captureProxy }) => {
    const problems: string[] = [];
    dying.captureProxy = captureProxy;
    const origin = `http://${ALLOWED}:${dying.site.port}`;
    await page.goto(`${origin}/`, { timeout: 5_000 }).catch(() => null);
    const fetched = await page
      .evaluate((url) => fetch(url, { mode: 'no-cors' }).then(() => true), `${origin}/x`)
      .catch(() => false);
    if (fetched) problems.push('a request was answered');
    const gone = String(await page.goto(`${origin}/y`).catch((error: Error) => error.message));
    if (!gone.includes('ERR_PROXY_CONNECTION_FAILED'))
      problems.push(`a navigation ended otherwise: ${gone.split('\n', 1)[0]}`);
    return problems;
  });
}

type DyingSite = Awaited<ReturnType<typeof startDyingSite>>;

/** Its page ends its visitor's proxy when it is half sent. */
async function startDyingSite(canaryPort: number) {
  const site = await startPlainSite({
    answer: (request, response) => {
      response.setHeader('content-type', 'text/html');
      if (request.url !== '/') return void response.end();
      const hosts = [`stub.example.com:${site.port}`, `127.0.0.1:${canaryPort}`];
      const pictures = firstOf(PICTURES).map((nth) =>
        hosts.map((host) => `<img src="http://${host}/${nth}">`).join(''),
      );
      response.write(`<title>half</title>${pictures.slice(0, SENT_BEFORE).join('')}`);
      void dying.captureProxy?.[Symbol.asyncDispose]().then(() => {
        dying.connectionsAtDeath = site.connections;
        response.end(pictures.slice(SENT_BEFORE).join(''));
      });
    },
  });
  const dying = {
    site,
    captureProxy: null as AsyncDisposable | null,
    /** As many as there were when the last proxy had died. */
    connectionsAtDeath: 0,
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
  return dying;
}
