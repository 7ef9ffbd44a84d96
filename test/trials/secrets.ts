/**
 * Trial "secrets": API keys, signing secrets, webhook secrets, proxy credentials, Authorization and Cookie headers, cookies, storage states
 * and documents are planted in captures of every fate: done, failed, refused, waiting, announced well and badly, killed on the way. None may be found, in any spelling, in the data
 * directory (database, log of the database, key and lock files), in a backup, in the log at its most talkative, in metrics, in traces, or in any answer.
 *
 * Sabotage that turns it red: let store/vault seal nothing.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pairsOf, type QueryPair, signQuery } from '../../src/contract/render-link.js';
import { startCallerProxy } from '../fixtures/caller-proxy.js';
import { startCollector } from '../fixtures/otlp-collector.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { startReceiver } from '../fixtures/webhook-receiver.js';
import { callApi, type Door, postCapture, untilIdle } from './call-api.js';
import { aTrialDir, runCommand, startServerProcess } from './server-process.js';
import { firstOf, type TrialResult } from './trial-result.js';

const VIEWPORT = { width: 320, height: 240, deviceScaleFactor: 1 };
/** Must be found: a search that finds nothing proves nothing. */
const MARK = 'a-mark-that-is-no-secret';

export async function run({ rounds = 10 } = {}): Promise<TrialResult<number>> {
  const plants = new Plants();
  await using site = await startSite({ host: '127.0.0.2' });
  await using receiver = await startReceiver({
    script: (_, nth) => (nth % 3 === 0 ? { status: 500 } : { status: 204 }),
  });
  const credentials = { username: plants.make('proxy-user'), password: plants.make('proxy-password') };
  await using proxy = await startCallerProxy({ kind: 'http', credentials });
  await using collector = await startCollector();
  using dir = aTrialDir();
  const env = {
    ...collector.env,
    STILLFRAME_LOG: 'trace',
    STILLFRAME_WEBHOOK_ALLOW: receiver.origin,
    STILLFRAME_WEBHOOK_BACKOFF_MS: '50',
    STILLFRAME_SYNC_WAIT_MS: '5000',
  };
  let server = startServerProcess({ ...dir, env });
  const { url } = await server.ready;
  const command = async (...args: string[]) => (await runCommand([...args, '--data-dir', dir.dataDir])).out;
  // The first key is said once, on purpose: another one is planted.
  const { id: keyId, secret: key } = JSON.parse(await command('keys', 'create', '--label', MARK, '--json'));
  plants.add(key);
  const at = { url, key };
  const ground: Ground = { at, site, hook: receiver.url(), proxy: { server: proxy.server, ...credentials }, plants };
  /** Rotates the signing secret; the former one holds for another hour. */
  const rotate = async (): Promise<string> => {
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const { signing_secret: secret } = JSON.parse(
      await command('keys', 'signing-secret', keyId, '--rotate', '--old-until', until, '--json'),
    );
    plants.add(secret);
    return secret;
  };
  const signings = [await rotate(), await rotate(), 'wrong'];
  for (let round = 0; round < rounds; round++) {
    await goThroughFates(ground, round);
    for (const signing of signings) await openLink(ground, keyId, signing);
  }
  const problems: string[] = [];
  const search = async (when: string): Promise<void> => {
    using copies = aTrialDir();
    const copy = join(copies.dataDir, 'copy.db');
    await command('backup', copy);
    if (!readFileSync(copy).includes(MARK)) problems.push(`${when}: the search does not find what is there`);
    problems.push(
      ...plants.foundBelow(dir.dataDir, `${when}: data directory`),
      ...plants.foundBelow(copies.dataDir, `${when}: backup`),
      ...plants.foundIn([await (await fetch(`${at.url}/metrics`)).text()], `${when}: metrics`),
      ...plants.foundIn(server.said, `${when}: log`),
      ...plants.foundIn(plants.heard, `${when}: answers`),
    );
  };
  await search('while it runs');
  await command('queue', 'pause');
  await leaveWaiting(ground);
  await search('with jobs waiting');
  await server.end('SIGKILL');
  problems.push(...plants.foundBelow(dir.dataDir, 'after a kill'));
  server = startServerProcess({ ...dir, env });
  at.url = (await server.ready).url;
  await command('queue', 'resume');
  await untilIdle(at);
  await search('when all has ended');
  await server[Symbol.asyncDispose]();
  problems.push(...plants.foundBelow(dir.dataDir, 'after its end'), ...plants.foundIn(server.said, 'the log'));
  problems.push(...collector.requests.flatMap(({ body }) => plants.foundIn(body, 'a trace')));
  const spans = new Set(collector.spans.map(({ name }) => name));
  if (!['capture', 'webhook', 'navigate'].every((name) => spans.has(name))) problems.push('captures were not traced');
  if (proxy.credentials.length === 0) problems.push('the proxy was never given its credentials');
  const given = site.hits.map(({ headers }) => `${headers.authorization} ${headers.cookie}`).join();
  for (const kind of ['authorization', 'given-cookie', 'state-cookie'])
    if (!given.includes(kind)) problems.push(`the page was never given its ${kind}`);
  const searched = { searched: plants.searched, searched_mb: Math.round(plants.bytes / 1e6) };
  return { figures: { rounds, planted: plants.spellings.length, ...searched }, problems };
}

interface Ground {
  at: Door;
  site: Site;
  hook: string;
  proxy: { server: string; username: string; password: string };
  plants: Plants;
}

async function openLink({ at, site, plants }: Ground, keyId: string, signing: string): Promise<void> {
  const expires = String(Math.floor(Date.now() / 1000) + 600);
  const pairs: QueryPair[] = [
    ...pairsOf({ url: site.url('/static'), viewport: VIEWPORT }),
    ['key', keyId],
    ['expires', expires],
  ];
  const query = new URLSearchParams([...pairs, ['signature', signQuery(pairs, signing)]]);
  const { status, headers } = await fetch(`${at.url}/v1/render?${query}`);
  if (status !== (signing === 'wrong' ? 403 : 200)) throw new Error(`a link answered ${status}`);
  plants.hear('link', { status, headers, body: null });
}

/** The login and document that a caller may give to a page, with a secret in each part. */
function privateParts(plants: Plants, site: Site) {
  const login = () => ({
    cookies: [{ name: 'given', value: plants.make('given-cookie') }],
    storage_state: {
      cookies: [{ name: 'state', value: plants.make('state-cookie'), domain: '127.0.0.2', path: '/' }],
      origins: [{ origin: site.origin, localStorage: [{ name: 'token', value: plants.make('local-storage') }] }],
    },
  });
  const document = () => ({
    html: `<title>mine</title><h1>${plants.make('document')}</h1>`,
    base_url: site.url('/static'),
  });
  return { login, document };
}

async function goThroughFates({ at, site, hook, proxy, plants }: Ground, round: number): Promise<void> {
  const url = site.url('/static');
  const { login, document } = privateParts(plants, site);
  const missing = { fail_if_content_missing: ['nowhere to be found'] };
  const webhook = (kind: string) => ({ url: hook, secret: plants.make(kind) });
  const through = (server: string, kind: string) => ({
    server,
    username: plants.make('wrong-user'),
    password: plants.make(kind),
  });
  const ways: Record<string, Record<string, unknown>> = {
    done: { url },
    'through a proxy': { url, proxy },
    'proxy refuses': { url, proxy: through(proxy.server, 'wrong-password') },
    'no such proxy': { url, proxy: through('http://127.0.0.2:1', 'lone-password') },
    'target fails': { url: site.url('/status/500') },
    'check fails': { url, ...missing },
    'no such host': { url: 'http://nowhere.invalid/' },
    'script throws': { url, custom_js: 'throw new Error(document.title)' },
    'logged in': { url, ...login() },
    'logged in, fails': { url: site.url('/status/500'), ...login() },
    document: { ...document(), ...login() },
    'document, fails': { ...document(), ...missing },
    'document, malformed': { ...document(), url },
    'login, malformed': {
      url: 'http://127.0.0.2:1/',
      cookies: [{ name: 'a b', value: plants.make('bad-cookie'), domain: 'com' }],
    },
    refused: { url: 'http://127.0.0.1/', proxy: through('http://10.0.0.1:3128', 'refused-password') },
    malformed: { url, delay: -1, webhook: { url: hook, secret: 'short' } },
  };
  for (const [fate, body] of Object.entries(ways)) {
    const idempotencyKey = `${round}-${fate.replaceAll(/\W+/g, '_')}`;
    const authorization = {
      Authorization: `Bearer ${plants.make('authorization')}`,
      Cookie: `session=${plants.make('cookie')}`,
    };
    const headers = { ...authorization, 'X-Api-Key': plants.make('header') };
    const given = { viewport: VIEWPORT, cache_ttl: 0, headers, webhook: webhook('webhook-secret'), ...body };
    plants.hear(`${fate}: answer`, await postCapture(at, given, { idempotencyKey }));
    // The same key with another secret: a conflict that must not say in what.
    plants.hear(
      `${fate}: conflict`,
      await postCapture(at, { ...given, webhook: webhook('other-secret') }, { idempotencyKey }),
    );
    const looked = await callApi(`${at.url}/v1/requests/${idempotencyKey}`, at.key);
    plants.hear(`${fate}: look-up`, looked);
    if (looked.status === 200)
      plants.hear(`${fate}: webhook`, await callApi(`${at.url}/v1/jobs/${looked.body.data.id}/webhook`, at.key));
  }
  plants.hear('unknown key', await postCapture({ ...at, key: plants.make('sf_live_') }, { url }));
  plants.hear('key in a query', await callApi(`${at.url}/v1/jobs/job_x?token=${plants.make('query')}`, at.key));
}

async function leaveWaiting({ at, site, hook, proxy, plants }: Ground): Promise<void> {
  const { login, document } = privateParts(plants, site);
  for (const nth of firstOf(5)) {
    const headers = { Authorization: `Basic ${plants.make('authorization')}`, Cookie: plants.make('cookie') };
    const page = nth % 2 === 0 ? { url: site.url(`/static?${nth}`) } : document();
    const body = { ...page, ...login(), viewport: VIEWPORT, sync: false, headers, proxy };
    const webhook = { url: hook, secret: plants.make('webhook-secret') };
    plants.hear('waiting', await postCapture(at, { ...body, webhook }, { idempotencyKey: `${MARK}-${nth}` }));
  }
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
  foundBelow(dir: string, where: string): string[] {
    const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((file) =>
      statSync(join(dir, file)).isFile(),
    );
    return files.flatMap((file) => this.foundIn(readFileSync(join(dir, file)), `${where}: ${file}`));
  }
}
