/**
 * Trial "secrets": API keys, signing secrets, webhook secrets, proxy credentials, Authorization and Cookie headers, cookies, storage states
 * and documents are planted in captures of every fate: done, failed, refused, waiting, announced well and badly, killed on the way. None may be found, in any spelling, in the data
 * directory (database, log of the database, key and lock files), in a backup, in the log at its most talkative, in metrics, in traces, or in any answer.
 *
 * Sabotage that turns it red: let store/vault seal nothing.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pairsOf, type QueryPair, signQuery } from '../../src/contract/render-link.js';
import { startCallerProxy } from '../fixtures/caller-proxy.js';
import { type Collector, startCollector } from '../fixtures/otlp-collector.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { type Receiver, startReceiver } from '../fixtures/webhook-receiver.js';
import { callApi, type Door, postCapture, untilIdle } from './call-api.js';
import { aTrialDir, runCommand, type ServerProcess, startServerProcess } from './server-process.js';
import type { TrialResult } from './trial-result.js';

const VIEWPORT = { width: 320, height: 240, deviceScaleFactor: 1 };
/** Must be found: a search that finds nothing proves nothing. */
const MARK = 'a-mark-that-is-no-secret';

interface Ground {
  at: Door;
  site: Site;
  receiver: Receiver;
  proxy: string;
  plants: Plants;
}

export async function run({ rounds = 10 } = {}): Promise<TrialResult<number>> {
  const plants = new Plants();
  await using site = await startSite({ host: '127.0.0.2' });
  await using receiver = await startReceiver({ script: (_, nth) => (nth % 3 === 0 ? { status: 500 } : { status: 204 }) });
  const credentials = { username: plants.make('proxy-user'), password: plants.make('proxy-password') };
  await using proxy = await startCallerProxy({ kind: 'http', credentials });
  await using collector = await startCollector();
  using dir = aTrialDir();
  const env = {
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100', STILLFRAME_LOG: 'trace' },
    ...{ STILLFRAME_WEBHOOK_ALLOW: receiver.origin, STILLFRAME_WEBHOOK_BACKOFF_MS: '50', STILLFRAME_SYNC_WAIT_MS: '5000' },
  };
  let server = startServerProcess({ ...dir, env });
  const { url } = await server.ready;
  // The first key is said once, on purpose: another one is planted.
  const made = await runCommand(['keys', 'create', '--label', MARK, '--json', '--data-dir', dir.dataDir]);
  const { id: keyId, secret: key } = JSON.parse(made.out) as { id: string; secret: string };
  plants.add(key);
  const signings = [await signingSecret(keyId, dir.dataDir, plants), await signingSecret(keyId, dir.dataDir, plants)];
  const ground: Ground = { at: { url, key }, site, receiver, proxy: proxy.server, plants };
  for (let round = 0; round < rounds; round++) {
    await goThroughFates(ground, credentials, round);
    for (const signing of [...signings, 'wrong']) await openLink(ground, keyId, signing);
  }
  const problems = await search(ground, { server, dataDir: dir.dataDir, when: 'while it runs' });
  await leaveWaiting(ground, dir.dataDir, credentials);
  problems.push(...(await search(ground, { server, dataDir: dir.dataDir, when: 'with jobs waiting' })));
  await server.end('SIGKILL');
  problems.push(...searchFiles(plants, dir.dataDir, 'after a kill'));
  server = startServerProcess({ ...dir, env });
  ground.at.url = (await server.ready).url;
  await runCommand(['queue', 'resume', '--data-dir', dir.dataDir]);
  await untilIdle(ground.at);
  problems.push(...(await search(ground, { server, dataDir: dir.dataDir, when: 'when all has ended' })));
  await server[Symbol.asyncDispose]();
  problems.push(...searchFiles(plants, dir.dataDir, 'after its end'), ...plants.foundIn(server.said, 'the log'));
  problems.push(...searchTraces(plants, collector));
  if (proxy.credentials.length === 0) problems.push('the proxy was never given its credentials');
  if (!site.hits.some((hit) => plants.spellings.some(({ plain }) => hit.headers.authorization?.includes(plain))))
    problems.push('the page was never given its headers');
  for (const kind of ['given-cookie', 'state-cookie'])
    if (!site.hits.some(({ headers }) => headers.cookie?.includes(kind))) problems.push(`the page was never given its ${kind}`);
  const searched = { searched: plants.searched, searched_mb: Math.round(plants.bytes / 1e6) };
  return { figures: { rounds, planted: plants.spellings.length, ...searched }, problems };
}

/** Rotates it; the former one holds for another hour. */
async function signingSecret(keyId: string, dataDir: string, plants: Plants): Promise<string> {
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const { out } = await runCommand(['keys', 'signing-secret', keyId, '--old-until', until, '--json', '--data-dir', dataDir]);
  const { signing_secret: secret } = JSON.parse(out) as { signing_secret: string };
  plants.add(secret);
  return secret;
}

async function openLink({ at, site, plants }: Ground, keyId: string, signing: string): Promise<void> {
  const expires = String(Math.floor(Date.now() / 1000) + 600);
  const pairs: QueryPair[] = [...pairsOf({ url: site.url('/static'), viewport: VIEWPORT }), ['key', keyId], ['expires', expires]];
  const query = new URLSearchParams([...pairs, ['signature', signQuery(pairs, signing)]]);
  const { status, headers } = await fetch(`${at.url}/v1/render?${query}`);
  if (status !== (signing === 'wrong' ? 403 : 200)) throw new Error(`a link answered ${status}`);
  plants.hear('link', { status, headers, body: null });
}

/** The login and document that a caller may give to a page, with a secret in each part. */
function privateParts(plants: Plants, site: Site): Record<'login' | 'document', Record<string, unknown>> {
  const login = {
    cookies: [{ name: 'given', value: plants.make('given-cookie') }],
    storage_state: {
      cookies: [{ name: 'state', value: plants.make('state-cookie'), domain: '127.0.0.2', path: '/' }],
      origins: [{ origin: new URL(site.url('/')).origin, localStorage: [{ name: 'token', value: plants.make('local-storage') }] }],
    },
  };
  return { login, document: { html: `<title>mine</title><h1>${plants.make('document')}</h1>`, base_url: site.url('/static') } };
}

/** One capture of each fate, each with secrets of its own. */
async function goThroughFates({ at, site, receiver, proxy, plants }: Ground, credentials: object, round: number): Promise<void> {
  const url = site.url('/static');
  const webhook = (kind: string) => ({ url: receiver.url(), secret: plants.make(kind) });
  const ways: [fate: string, body: Record<string, unknown>][] = [
    ['done', { url }],
    ['through a proxy', { url, proxy: { server: proxy, ...credentials } }],
    ['proxy refuses', { url, proxy: { server: proxy, username: plants.make('wrong-user'), password: plants.make('wrong-password') } }],
    ['no such proxy', { url, proxy: { server: 'http://127.0.0.2:1', username: 'me', password: plants.make('lone-password') } }],
    ['target fails', { url: site.url('/status/500') }],
    ['check fails', { url, fail_if_content_missing: ['nowhere to be found'] }],
    ['no such host', { url: 'http://nowhere.invalid/' }],
    ['script throws', { url, custom_js: 'throw new Error(document.title)' }],
    ['logged in', { url, ...privateParts(plants, site).login }],
    ['logged in, fails', { url: site.url('/status/500'), ...privateParts(plants, site).login }],
    ['document', { ...privateParts(plants, site).document, ...privateParts(plants, site).login }],
    ['document, fails', { ...privateParts(plants, site).document, fail_if_content_missing: ['nowhere to be found'] }],
    ['document, malformed', { ...privateParts(plants, site).document, url }],
    ['login, malformed', { url: 'http://127.0.0.2:1/', cookies: [{ name: 'a b', value: plants.make('bad-cookie'), domain: 'com' }] }],
    ['refused', { url: 'http://127.0.0.1/', proxy: { server: 'http://10.0.0.1:3128', password: plants.make('refused-password') } }],
    ['malformed', { url, delay: -1, webhook: { url: receiver.url(), secret: 'short' } }],
  ];
  for (const [fate, body] of ways) {
    const idempotencyKey = `${round}-${fate.replaceAll(/\W+/g, '_')}`;
    const authorization = { Authorization: `Bearer ${plants.make('authorization')}`, Cookie: `session=${plants.make('cookie')}` };
    const headers = { ...authorization, 'X-Api-Key': plants.make('header') };
    const given = { viewport: VIEWPORT, cache_ttl: 0, headers, webhook: webhook('webhook-secret'), ...body };
    plants.hear(`${fate}: answer`, await postCapture(at, given, { idempotencyKey }));
    // The same key with another secret: a conflict that must not say in what.
    plants.hear(`${fate}: conflict`, await postCapture(at, { ...given, webhook: webhook('other-secret') }, { idempotencyKey }));
    const looked = await callApi(`${at.url}/v1/requests/${idempotencyKey}`, at.key);
    plants.hear(`${fate}: look-up`, looked);
    if (looked.status === 200) plants.hear(`${fate}: webhook`, await callApi(`${at.url}/v1/jobs/${looked.body.data.id}/webhook`, at.key));
  }
  const stranger = plants.make('sf_live_');
  plants.hear('unknown key', await postCapture({ ...at, key: stranger }, { url }));
  plants.hear('key in a query', await callApi(`${at.url}/v1/jobs/job_x?token=${plants.make('query')}`, at.key));
}

/** Sealed orders and secrets at rest. */
async function leaveWaiting({ at, site, receiver, proxy, plants }: Ground, dataDir: string, credentials: object): Promise<void> {
  await runCommand(['queue', 'pause', '--data-dir', dataDir]);
  for (let nth = 0; nth < 5; nth++) {
    const body = {
      ...(nth % 2 === 0 ? { url: site.url(`/static?${nth}`) } : privateParts(plants, site).document),
      ...privateParts(plants, site).login,
      viewport: VIEWPORT,
      sync: false,
      headers: { Authorization: `Basic ${plants.make('authorization')}`, Cookie: plants.make('cookie') },
      proxy: { server: proxy, ...credentials },
      webhook: { url: receiver.url(), secret: plants.make('webhook-secret') },
    };
    plants.hear('waiting', await postCapture(at, body, { idempotencyKey: `${MARK}-${nth}` }));
  }
}

async function search({ at, plants }: Ground, where: { server: ServerProcess; dataDir: string; when: string }): Promise<string[]> {
  const { server, dataDir, when } = where;
  const copies = mkdtempSync(join(tmpdir(), 'stillframe-backups-'));
  try {
    await runCommand(['backup', join(copies, 'copy.db'), '--data-dir', dataDir]);
    const metrics = await (await fetch(`${at.url}/metrics`)).text();
    if (!readFileSync(join(copies, 'copy.db')).includes(MARK)) return [`${when}: the search does not find what is there`];
    return [
      ...searchFiles(plants, dataDir, `${when}: data directory`),
      ...searchFiles(plants, copies, `${when}: backup`),
      ...plants.foundIn([metrics], `${when}: metrics`),
      ...plants.foundIn(server.said, `${when}: log`),
      ...plants.foundIn(plants.heard, `${when}: answers`),
    ];
  } finally {
    rmSync(copies, { recursive: true });
  }
}

function searchTraces(plants: Plants, { requests, spans }: Collector): string[] {
  const found = requests.flatMap(({ body }) => plants.foundIn(body, 'a trace'));
  const names = new Set(spans.map(({ name }) => name));
  return ['capture', 'webhook', 'navigate'].every((name) => names.has(name)) ? found : [...found, 'captures were not traced'];
}

function searchFiles(plants: Plants, dir: string, where: string): string[] {
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((file) => statSync(join(dir, file)).isFile());
  return files.flatMap((file) => plants.foundIn(readFileSync(join(dir, file)), `${where}: ${file}`));
}

/** The secrets that must not be found, and the places that were searched. */
class Plants {
  readonly spellings: { plain: string; needles: Buffer[] }[] = [];
  readonly heard: string[] = [];
  searched = 0;
  bytes = 0;

  make(kind: string): string {
    const secret = `${kind}${crypto.randomUUID().replaceAll('-', '')}`;
    this.add(secret);
    return secret;
  }

  add(secret: string): void {
    const shifted = (offset: number) => Buffer.from(' '.repeat(offset) + secret).toString('base64');
    const base64 = [0, 1, 2].map((offset) => shifted(offset).slice(offset === 0 ? 0 : 4, -4));
    const needles = [secret, Buffer.from(secret).toString('hex'), ...base64].map((text) => Buffer.from(text));
    this.spellings.push({ plain: secret, needles });
  }

  hear(what: string, answer: { status: number; headers: Headers; body: unknown }): void {
    this.heard.push(`${what} ${answer.status} ${JSON.stringify([...answer.headers])} ${JSON.stringify(answer.body)}`);
  }

  foundIn(given: Buffer | readonly string[], where: string): string[] {
    const content = Buffer.isBuffer(given) ? given : Buffer.from(given.join('\n'));
    this.searched++;
    this.bytes += content.length;
    return this.spellings
      .filter(({ needles }) => needles.some((needle) => content.includes(needle)))
      .map(({ plain }) => `${where}: ${plain.slice(0, -28)}…`);
  }
}
