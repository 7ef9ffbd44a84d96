import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEgress } from '../../src/egress/open-egress.js';
import { silentLog } from '../../src/log.js';
import { Blocker } from '../../src/render/filter/blocker.js';
import { CATEGORIES, type Category } from '../../src/render/filter/category.js';
import { startDnsServer } from '../fixtures/dns-server.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { AD_VENDORS } from '../fixtures/vendors/ads.js';
import { CHAT_VENDORS } from '../fixtures/vendors/chats.js';
import { CONSENT_VENDORS } from '../fixtures/vendors/consent.js';
import { markupOf } from '../fixtures/vendors/markup.js';
import { ORDINARY_REQUESTS } from '../fixtures/vendors/ordinary.js';
import { TRACKER_VENDORS } from '../fixtures/vendors/trackers.js';
import type { VendorRequest } from '../fixtures/vendors/vendor.js';
import { type Figure, quantile, ratio } from './figure.js';
import { addBenchPages } from './pages.js';
import { type BenchServer, startServer } from './server.js';

const BUILT = new URL('../../dist/block/', import.meta.url);
const HOST = '127.0.0.2';
/** Of the page that carries the vendors. */
const PAGE_HOST = 'www.example.com';
const PAIRS = 25;
const WARM_UP = 4;
const STARTS = 9;
const VENDORS: Record<Category, VendorRequest[]> = {
  ads: AD_VENDORS,
  trackers: TRACKER_VENDORS,
  chats: CHAT_VENDORS,
  cookies: CONSENT_VENDORS,
};
const SWITCHES: Record<Category, string> = {
  ads: 'block_ads',
  trackers: 'block_trackers',
  chats: 'block_chats',
  cookies: 'block_cookie_banners',
};

/**
 * What captures of pages with real vendors' markup and host names refuse, switch by switch, by the built-in rules alone and with the
 * full lists, and what four switches cost on a page of 200 requests. A name server resolves every name to this machine.
 */
export async function benchBlocking(): Promise<Figure[]> {
  await using site = await startSite({ host: HOST });
  addBenchPages(site);
  addVendorPages(site);
  await using dns = await startDnsServer({ '*': [HOST] });
  const env = { STILLFRAME_DNS_SERVERS: dns.address };
  const figures: Figure[] = [];
  for (const rules of ['built-in', 'with lists'] as const) {
    const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-bench-'));
    try {
      const missing = rules === 'with lists' ? await fetchLists(dataDir) : null;
      if (missing !== null) {
        figures.push({ what: rules, value: `no lists: ${missing}`, goal: '' });
        continue;
      }
      figures.push({
        what: `${rules}: engines ready after a start's`,
        value: `${(await startMs(dataDir)).toFixed(0)} ms`,
        goal: '< 50 ms',
      });
      await using server = await startServer(env, dataDir);
      figures.push(...(await caught(server, site, rules)), await costOfBlocking(server, site, rules));
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  }
  return figures;
}

/** Until the rules of a data directory can be used, the median of some starts. */
async function startMs(dataDir: string): Promise<number> {
  const times: number[] = [];
  for (let nth = 0; nth < STARTS; nth++) {
    const from = performance.now();
    await using _blocker = await openBlocker(dataDir);
    times.push(performance.now() - from);
  }
  return quantile(times, 0.5);
}

async function openBlocker(dataDir: string): Promise<Blocker> {
  const log = silentLog();
  const egress = await openEgress({ allowDestinations: [], dnsServers: [], maxBytesPerCapture: 1, log });
  return Blocker.start({ dataDir, built: BUILT, lists: { enabled: false }, egress, log });
}

/** Into the data directory, from wherever this machine can have them. @returns what could not be had, or null */
async function fetchLists(dataDir: string): Promise<string | null> {
  await using blocker = await openBlocker(dataDir);
  const missing = (await blocker.updateLists()).filter(({ state }) => state === 'missing');
  return missing.length === 0 ? null : missing.map(({ name, problem }) => `${name}: ${problem}`).join('; ');
}

/** One page for each switch, with all its vendors, and one of what ordinary pages ask for. */
function addVendorPages(site: Site): void {
  const page = (path: string, requests: readonly VendorRequest[]) =>
    site.route(path, (_request, response) =>
      response
        .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
        .end(`<!doctype html><title>A page</title><h1>Words</h1>${requests.map(markupOf).join('\n')}`),
    );
  for (const category of CATEGORIES) page(`/vendors/${category}`, VENDORS[category]);
  page('/vendors/none', ORDINARY_REQUESTS);
}

async function caught(server: BenchServer, site: Site, rules: string): Promise<Figure[]> {
  const blockedOn = async (path: string, on: readonly Category[]) => {
    const switches = Object.fromEntries(CATEGORIES.map((category) => [SWITCHES[category], on.includes(category)]));
    const { status, data } = await server.post({ url: `http://${PAGE_HOST}:${site.port}${path}`, cache_ttl: 0, ...switches });
    if (status !== 200) throw new Error(`${path} was answered ${status}: ${JSON.stringify(data)}`);
    return Number(data.blocked_requests);
  };
  const figures: Figure[] = [];
  for (const category of CATEGORIES) {
    const { length } = VENDORS[category];
    const path = `/vendors/${category}`;
    const own = await blockedOn(path, [category]);
    const others = CATEGORIES.filter((other) => other !== category);
    const byOthers = await blockedOn(path, others);
    figures.push({
      what: `${category}, ${rules}: of ${length} vendors, by own switch | by the others`,
      value: `${own} | ${byOthers}`,
      goal: `${length} | 0`,
    });
  }
  const wrong = await blockedOn('/vendors/none', CATEGORIES);
  return [...figures, { what: `${rules}: of ${ORDINARY_REQUESTS.length} ordinary requests refused`, value: String(wrong), goal: '0' }];
}

async function costOfBlocking(server: BenchServer, site: Site, rules: string): Promise<Figure> {
  const off = Object.fromEntries(CATEGORIES.map((category) => [SWITCHES[category], false]));
  const times: Record<'on' | 'off', number[]> = { on: [], off: [] };
  for (let nth = 0; nth < WARM_UP + PAIRS; nth++) {
    for (const way of ['off', 'on'] as const) {
      const { ms } = await server.post({ url: site.url('/bench/many'), cache_ttl: 0, ...(way === 'off' ? off : {}) });
      if (nth >= WARM_UP) times[way].push(ms);
    }
  }
  const value = ratio(quantile(times.on, 0.5), quantile(times.off, 0.5));
  return { what: `${rules}: page of 200 requests, all four on ÷ all off`, value, goal: '≤ 1.15' };
}
