/**
 * Trial "channels": one page that tries every network channel of a browser, towards addresses that it must not reach, captured in each
 * browser of this machine, in every mode and format. Nothing may arrive at the canaries, by TCP or UDP, and the browsers' processes
 * may be connected to nothing but proxies. `shapes` and `sources` limit how many of the modes and of the other ways to a page are tried.
 *
 * Sabotage that turns it red: add `,127.0.0.1` to the bypass list in render/pool/open-page-session (connections pass by the proxy),
 * or take `webrtc-ip-handling-policy`, both spellings, out of render/launch/chromium-flags (datagrams).
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BrowserSockets } from '../egress/browser-sockets.js';
import { channelsPage, WORKER_SCRIPTS } from '../egress/channels-page.js';
import { openCaptures } from '../egress/open-captures.js';
import { openTestEgress } from '../egress/open-test-egress.js';
import { type PlainSite, startPlainSite, startPlainSites } from '../egress/plain-site.js';
import { EACH_KIND } from '../render/install/any-browser.js';
import type { TrialResult } from './trial-result.js';

const PICTURES = ['png', 'jpeg', 'webp'];
const FULL = { full_page: true };
const MODES: Record<string, unknown>[] = [
  {},
  { ...FULL, full_page_algorithm: 'native' },
  { ...FULL, full_page_algorithm: 'by_sections' },
];
const UNBLOCKED = { block_ads: false, block_trackers: false, block_cookie_banners: false, block_chats: false };
const SHAPES: Record<string, unknown>[] = [
  ...[...PICTURES, 'pdf'].flatMap((format) => MODES.map((mode) => ({ format, ...mode }))),
  ...PICTURES.map((format) => ({ format, selector: '#f' })),
].map((shape, index) => (index % 2 === 0 ? shape : { ...shape, ...UNBLOCKED }));
/** How the page comes to the browser: by its address, logged in, as a document at that address, or as one at no address of its own. */
const SOURCES = ['url', 'login', 'document', 'nowhere'] as const;
type Source = (typeof SOURCES)[number];
const WAITED_FOR = ['fetch', 'wss', 'worker', 'service worker', 'webtransport', 'rtc', 'candidates 0'];
const REFUSED_MIN = 25;
const WATCH_MS = 25;
const VIEW = { width: 400, height: 300, deviceScaleFactor: 1 };

export async function run({ shapes = SHAPES.length, sources = SOURCES.length - 1 } = {}): Promise<TrialResult> {
  const problems: string[] = [];
  const figures = { browsers: EACH_KIND.length, captures: 0, refused: 0, connections: 0, datagrams: 0, ends_seen: 0 };
  await using canaries = await openCanaries();
  await using site = await startHostilePage(canaries);
  for (const executable of EACH_KIND) {
    await using gate = await openTestEgress(
      { 'canary.example.net': ['127.0.0.3'] },
      { allowDestinations: [`localhost:${site.port}`] },
    );
    await using captures = await openCaptures(gate, { chromium: executable.path });
    const sockets = new BrowserSockets();
    const watch = setInterval(() => sockets.look(), WATCH_MS);
    const visits = [
      ...SHAPES.slice(0, shapes).map((shape) => ({ shape, source: 'url' as Source })),
      ...SOURCES.slice(1, 1 + sources).map((source, index) => ({ shape: SHAPES[index] ?? {}, source })),
    ];
    for (const { shape, source } of visits) {
      const name = `${executable.kind} ${source} ${JSON.stringify(shape)}`;
      site.tried.length = 0;
      const refusals = () => captures.proxies.reduce((sum, { refusedCount }) => sum + refusedCount, 0);
      const before = refusals();
      const wish = { viewport: VIEW, timeout: 60_000, wait_for_selector: '#done', ...shape, ...site.wishes[source] };
      await captures.capture(wish).catch((error: Error) => problems.push(`${name}: ${error.message}`));
      const refused = refusals() - before;
      // A document without an address has no server to report to.
      const missing = source === 'nowhere' ? [] : WAITED_FOR.filter((channel) => !site.tried.includes(channel));
      if (missing.length > 0) problems.push(`${name}: not tried: ${missing.join(', ')}`);
      if (refused < REFUSED_MIN) problems.push(`${name}: ${refused} refusals only`);
      figures.captures++;
      figures.refused += refused;
    }
    clearInterval(watch);
    const { ends } = sockets;
    const strange = [...ends].filter(
      (end) => !captures.proxyPorts.has(Number(/^tcp 127\.0\.0\.1:(\d+)$/.exec(end)?.[1])),
    );
    for (const end of strange) problems.push(`${executable.kind}: connected to ${end}`);
    if (process.platform === 'linux' && ends.size === 0)
      problems.push(`${executable.kind}: its connections were not seen`);
    figures.ends_seen += ends.size;
  }
  figures.connections = canaries.connections;
  figures.datagrams = canaries.datagrams;
  if (figures.connections + figures.datagrams > 0) problems.push('something arrived where nothing may');
  return { figures, problems };
}

type Canaries = Awaited<ReturnType<typeof openCanaries>>;

async function openCanaries() {
  const sites = await startPlainSites({ address: '127.0.0.3' }, { address: '127.0.0.1' });
  const [first, second] = sites;
  const udp = createSocket('udp4');
  let datagrams = 0;
  udp.on('message', () => datagrams++);
  udp.bind(0, '127.0.0.3');
  await once(udp, 'listening');
  return {
    port: first.port,
    udpPort: udp.address().port,
    get connections() {
      return first.connections + second.connections;
    },
    get datagrams() {
      return datagrams;
    },
    async [Symbol.asyncDispose]() {
      udp.close();
      await sites[Symbol.asyncDispose]();
    },
  };
}

const PLACES = [
  '127.0.0.3',
  '0x7f000003',
  '2130706435',
  '127.3',
  '[::ffff:127.0.0.3]',
  '127.0.0.1',
  '[::1]',
  'localhost',
  'canary.example.net',
  'x.localhost',
];

/** By the name localhost, which makes it a secure context: service workers and WebTransport exist in no other. */
async function startHostilePage({ port, udpPort }: Canaries) {
  const target = { places: PLACES.map((place) => `${place}:${port}`), udpPort };
  const tried: string[] = [];
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const url = request.url ?? '/';
    if (url === '/redirect')
      return void response.writeHead(302, { location: `http://${target.places[0]}/redirected` }).end();
    if (url.startsWith('/tried?'))
      tried.push(...(JSON.parse(decodeURIComponent(url.slice('/tried?'.length))) as string[]));
    const script = WORKER_SCRIPTS[url];
    response.setHeader('content-type', script === undefined ? 'text/html' : 'text/javascript');
    response.end(script?.(target.places[0] ?? '') ?? channelsPage(target));
  };
  const site: PlainSite = await startPlainSite({ address: '127.0.0.1', answer });
  const url = `http://localhost:${site.port}/`;
  const html = channelsPage(target);
  const cookies = [{ name: 'session', value: 'x' }];
  const storage = {
    cookies: [],
    origins: [{ origin: new URL(url).origin, localStorage: [{ name: 'token', value: 'x' }] }],
  };
  const wishes: Record<Source, Record<string, unknown>> = {
    url: { url },
    login: { url, cookies, storage_state: storage },
    document: { html, base_url: url, cookies },
    nowhere: { html },
  };
  return {
    port: site.port,
    /** The channels that the page has reported since the list was emptied. */
    tried,
    wishes,
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}
