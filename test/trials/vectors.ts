/**
 * Trial "vectors": every row of test/fixtures/destinations.json through the public API of a whole service. A row that is to be blocked is
 * refused at submission, without a look-up, or (a name) as its capture connects; one that is allowed gets as far as the caller's proxy, which
 * says that its targets are dead. A private answer and a missing name read the same. With `every` n, every nth of the rows that need a capture.
 *
 * Sabotage that turns it red: let egress/judge-address refuse the loopback range alone.
 */
import { ALLOWED } from '../egress/open-test-egress.js';
import { type PlainSite, startPlainSite } from '../egress/plain-site.js';
import { answerRedirect, type RedirectKind, redirectPath } from '../egress/redirect-site.js';
import { type CallerProxyFixture, startCallerProxy } from '../fixtures/caller-proxy.js';
import { NOTED_NAMES, PUBLIC, VECTORS, type Vector } from '../fixtures/destinations.js';
import { type DnsServer, startDnsServer } from '../fixtures/dns-server.js';
import { type Answer, startService, type TestService } from '../fixtures/start-service.js';
import { SECRET } from './call-api.js';
import type { TrialResult } from './trial-result.js';

const BY_SPELLING = ['bare', 'ipv4', 'ipv4-encoding', 'ipv6', 'name', 'parser', 'scheme'];
const ZONE = {
  '*.com': [PUBLIC],
  'example.com': [PUBLIC],
  'public.stub.example.com': [ALLOWED],
  ...NOTED_NAMES,
  'nx.stub.example.com': 'NXDOMAIN' as const,
  'rebound.example.net': ['10.0.0.1'],
};
const SMALL = { viewport: { width: 320, height: 240, deviceScaleFactor: 1 }, cache_ttl: 0 };
const AT_ONCE = 2;
const NOWHERE = 'http://nx.stub.example.com/';
const NOT_PUBLIC = /^The host name "[^"]*" could not be resolved to a public address\.$/;

interface World {
  service: TestService;
  dns: DnsServer;
  /** Where all captures go, and from where nothing goes on. */
  proxy: CallerProxyFixture;
  site: PlainSite;
  canary: PlainSite;
}

export async function run({ every = 1 } = {}): Promise<TrialResult> {
  await using dns = await startDnsServer(ZONE);
  await using proxy = await startCallerProxy({ kind: 'http', mood: 'dead targets' });
  await using canary = await startPlainSite({ address: '127.0.0.1' });
  await using site = await startPlainSite({ answer: (request, response) => answerPage(canary, request, response) });
  await using service = await startService({ dnsServers: [dns.address], concurrency: AT_ONCE, webhookAttempts: 1 });
  const world: World = { service, dns, proxy, site, canary };
  const problems: string[] = [];
  const figures = { rows: 0, blocked: 0, allowed: 0, lookups_for_literals: 0, canary_connections: 0 };
  const judge = async (rows: Vector[], verdictOf: (world: World, row: Vector) => Promise<string>) => {
    // One after the other: look-ups and proxy requests are counted by row.
    for (const row of rows) {
      const { kind, url, expect, why } = row;
      const verdict = await verdictOf(world, row);
      if (verdict !== expect)
        problems.push(`${kind} ${JSON.stringify(url.slice(0, 100))} is ${verdict}, not ${expect}: ${why}`);
      figures.rows++;
      figures[expect]++;
    }
  };
  const ofKind = (...kinds: string[]) => VECTORS.filter(({ kind }) => kinds.includes(kind));
  const spelt = ofKind(...BY_SPELLING);
  const isBlocked = (row: Vector) => row.expect === 'blocked';
  await judge(spelt.filter(isBlocked), judgeTarget);
  figures.lookups_for_literals = dns.queries.length;
  if (dns.queries.length > 0)
    problems.push(`refused by spelling, yet looked up: ${dns.queries.map(({ name }) => name).join(', ')}`);
  await judge(ofKind('webhook'), judgeWebhook);
  await judge(ofKind('proxy-server'), judgeProxy);
  dns.set('example.com', [PUBLIC]);
  const some = (rows: Vector[]) => rows.filter((_, index) => index % every === 0);
  await judge(some(spelt.filter((row) => row.expect === 'allowed')), judgeTarget);
  await judge(some(ofKind('dns-note')), judgeName);
  await judge(some(ofKind('redirect-note')), judgeRedirect);
  await judge(some(ofKind('proxy-bypass')), judgeBypass);
  problems.push(...(await tellApart(world)));
  figures.canary_connections = canary.connections;
  if (canary.connections > 0) problems.push(`${canary.connections} connections went to the forbidden address`);
  return { figures, problems };
}

/** Refused before anything was asked, or let through to the proxy. */
async function judgeTarget(world: World, row: Vector): Promise<string> {
  const answer = await submitThroughProxy(world, row.url);
  if (answer.status === 400)
    return answer.body.error.code === 'invalid_request' ? 'blocked' : String(answer.body.error.code);
  return reachedProxy(world, row.url, answer);
}

async function judgeName(world: World, row: Vector): Promise<string> {
  const answer = await submitThroughProxy(world, row.url);
  const { code, message } = answer.body.error;
  if (code === 'navigation_failed' && NOT_PUBLIC.test(message) && world.proxy.asked.length === 0) return 'blocked';
  return reachedProxy(world, row.url, answer);
}

function submitThroughProxy({ service, proxy }: World, url: string): Promise<Answer> {
  proxy.forget();
  return service.post({ url, ...SMALL, proxy: { server: proxy.server } });
}

function reachedProxy({ proxy }: World, text: string, answer: Answer): string {
  const url = new URL(/^https?:/i.test(text) ? text : `https://${text}`);
  const port = url.port || (url.protocol === 'https:' ? 443 : 80);
  const byTunnel = `CONNECT ${url.hostname}:${port}`;
  const asked = proxy.asked.some(
    (line) => line === byTunnel || (url.protocol === 'http:' && line.startsWith(`GET http://${url.host}/`)),
  );
  return asked ? 'allowed' : said(answer);
}

/** The callback itself goes nowhere: by the time that it is due, the name leads to a forbidden address. */
async function judgeWebhook({ service, dns }: World, row: Vector): Promise<string> {
  dns.set('example.com', [PUBLIC]);
  const answer = await service.post({ url: NOWHERE, ...SMALL, sync: false, webhook: { url: row.url, secret: SECRET } });
  dns.set('example.com', ['10.0.0.1']);
  return verdictOfSubmission(answer, 202);
}

async function judgeProxy({ service }: World, row: Vector): Promise<string> {
  return verdictOfSubmission(await service.post({ url: NOWHERE, ...SMALL, proxy: { server: row.url } }), 502);
}

function verdictOfSubmission(answer: Answer, accepted: number): string {
  if (answer.status === 400 && answer.body.error.code === 'invalid_request') return 'blocked';
  return answer.status === accepted ? 'allowed' : said(answer);
}

const said = ({ status, body }: Answer) => `answered ${status} ${JSON.stringify(body.error)}`;

/** The same chain, on our own site: into this server itself, the canary, or wherever the row says. */
async function judgeRedirect({ service, site, canary }: World, row: Vector): Promise<string> {
  const { pathname, searchParams } = new URL(row.url);
  const [, status = '302'] = /^\/r(\d+)$/.exec(pathname) ?? [];
  const kind = (pathname === '/js' ? 'script' : status) as RedirectKind;
  const end = new URL(searchParams.get('to') ?? '');
  if (end.port !== '') end.port = new URL(service.url).port;
  else if (end.hostname === '127.0.0.1') end.port = String(canary.port);
  const path = redirectPath(kind, Number(searchParams.get('n') ?? 1), end.href);
  const answer = await service.post({
    url: `http://public.stub.example.com:${site.port}${path}`,
    ...SMALL,
    delay: 1_000,
  });
  const { code, message } = answer.body.error ?? {};
  return code === 'navigation_failed' && NOT_PUBLIC.test(message) ? 'blocked' : said(answer);
}

/** A page that goes direct, whose pictures are on hosts that the row would have us go to directly as well. */
async function judgeBypass({ service, dns, proxy, site, canary }: World, row: Vector): Promise<string> {
  dns.set('example.com', ['127.0.0.1']);
  const bypass = `${row.url}, public.stub.example.com`;
  const url = `http://public.stub.example.com:${site.port}/private`;
  const answer = await service.post({ url, ...SMALL, proxy: { server: proxy.server, bypass } });
  if (answer.status !== 200) return said(answer);
  return canary.connections === 0 && answer.body.data.blocked_requests >= PRIVATE_HOSTS.length ? 'blocked' : 'allowed';
}

const PRIVATE_HOSTS = [
  '127.0.0.1',
  '[::1]',
  'localhost',
  'db.internal',
  'intranet',
  'example.com',
  'nowhere.example.net',
];

function answerPage(canary: Pick<PlainSite, 'port'>, ...[request, response]: Parameters<typeof answerRedirect>): void {
  if (request.url !== '/private') return void answerRedirect(request, response);
  response.setHeader('content-type', 'text/html');
  response.end(`<h1>Words</h1>${PRIVATE_HOSTS.map((host) => `<img src="http://${host}:${canary.port}/x">`).join('')}`);
}

/** @returns how a private answer, a missing name and one of a zone that does not exist differ to a client, if they do */
async function tellApart({ service }: World): Promise<string[]> {
  const names = ['lvh.me', 'nx.stub.example.com', 'nowhere.invalid', 'shop.test'];
  const targets = await Promise.all(names.map((name) => service.post({ url: `http://${name}/`, ...SMALL })));
  const webhook = (name: string) => ({ url: `https://${name}/hook`, secret: SECRET });
  const hooks = await Promise.all(
    names.map((name) => service.post({ url: 'http://x.example.com/', webhook: webhook(name) })),
  );
  return [targets, hooks].flatMap((answers) => {
    const [first, ...others] = answers.map(({ status, body }, index) =>
      JSON.stringify([status, body])
        .replaceAll(names[index] ?? '', 'NAME')
        .replace(/(req|job)_[0-9A-Z]{26}/g, '$1'),
    );
    return others.filter((other) => other !== first).map((other) => `told apart: ${first} and ${other}`);
  });
}
