import { readBuiltInRules } from '../../src/render/block/built-in.js';
import { CATEGORIES, type Category } from '../../src/render/block/category.js';
import { builtInEngines, refusing } from '../../src/render/block/engines.js';
import { startSite } from '../fixtures/site/site.js';
import { AD_VENDORS } from '../fixtures/vendors/ads.js';
import { CHAT_VENDORS } from '../fixtures/vendors/chats.js';
import { CONSENT_VENDORS } from '../fixtures/vendors/consent.js';
import { ORDINARY_REQUESTS } from '../fixtures/vendors/ordinary.js';
import { TRACKER_VENDORS } from '../fixtures/vendors/trackers.js';
import type { VendorRequest } from '../fixtures/vendors/vendor.js';
import { type Figure, quantile, ratio } from './figure.js';
import { addBenchPages } from './pages.js';
import { startServer } from './server.js';

const BUILT = new URL('../../dist/block/', import.meta.url);
const PAGE = 'https://www.example.com/';
const PAIRS = 25;
const WARM_UP = 4;
const VENDORS: Record<Category, VendorRequest[]> = {
  ads: AD_VENDORS,
  trackers: TRACKER_VENDORS,
  chats: CHAT_VENDORS,
  cookies: CONSENT_VENDORS,
};

/** What the built-in rules catch, switch by switch, and what four switches cost on a page of 200 requests. */
export async function benchBlocking(): Promise<Figure[]> {
  const engines = builtInEngines(await readBuiltInRules(BUILT));
  const refused = ({ url, type }: VendorRequest, on: readonly Category[]) => refusing(engines, on, { url, type, sourceUrl: PAGE }) !== null;
  const caught = CATEGORIES.map((category): Figure => {
    const vendors = VENDORS[category];
    const others = CATEGORIES.filter((other) => other !== category);
    const alone = vendors.filter((vendor) => refused(vendor, [category]) && !refused(vendor, others)).length;
    return { what: `${category}: vendors caught by this switch alone`, value: `${alone} of ${vendors.length}`, goal: 'all' };
  });
  const wrong = ORDINARY_REQUESTS.filter((request) => refused(request, CATEGORIES)).length;
  const ordinary: Figure = { what: 'ordinary requests refused', value: `${wrong} of ${ORDINARY_REQUESTS.length}`, goal: '0' };
  return [...caught, ordinary, await costOfBlocking()];
}

async function costOfBlocking(): Promise<Figure> {
  await using site = await startSite({ host: '127.0.0.2' });
  addBenchPages(site);
  await using server = await startServer();
  const off = { block_ads: false, block_trackers: false, block_cookie_banners: false, block_chats: false };
  const times: Record<'on' | 'off', number[]> = { on: [], off: [] };
  for (let nth = 0; nth < WARM_UP + PAIRS; nth++) {
    for (const way of ['off', 'on'] as const) {
      const { ms } = await server.post({ url: site.url('/bench/many'), cache_ttl: 0, ...(way === 'off' ? off : {}) });
      if (nth >= WARM_UP) times[way].push(ms);
    }
  }
  return { what: '200 requests, all four on ÷ all off', value: ratio(quantile(times.on, 0.5), quantile(times.off, 0.5)), goal: '≤ 1.15' };
}
