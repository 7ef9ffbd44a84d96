import { beforeAll, describe, expect, it } from 'vitest';
import { builtInEngines, CATEGORIES, type Category, type Engines, readBuiltInRules } from '../../../src/render/filter/engines.js';
import { AD_VENDORS } from '../../fixtures/vendors/ads.js';
import { CHAT_VENDORS } from '../../fixtures/vendors/chats.js';
import { CONSENT_VENDORS } from '../../fixtures/vendors/consent.js';
import { ORDINARY_REQUESTS } from '../../fixtures/vendors/ordinary.js';
import { TRACKER_VENDORS } from '../../fixtures/vendors/trackers.js';
import type { VendorRequest } from '../../fixtures/vendors/vendor.js';
import { builtForTests, refusing } from './built.js';

const PAGE = 'https://www.example.com/';
const VENDORS: Record<Category, { vendors: VendorRequest[]; least: number }> = {
  ads: { vendors: AD_VENDORS, least: 40 },
  trackers: { vendors: TRACKER_VENDORS, least: 40 },
  chats: { vendors: CHAT_VENDORS, least: 40 },
  cookies: { vendors: CONSENT_VENDORS, least: 30 },
};

describe('the built-in rules by themselves', () => {
  let engines: Engines;
  const refusers = ({ url, type }: VendorRequest) =>
    CATEGORIES.filter((category) => refusing(engines, [category], { url, type, sourceUrl: PAGE }) !== null);

  beforeAll(async () => {
    engines = builtInEngines(await readBuiltInRules(await builtForTests()));
  });

  it.each(CATEGORIES)('block every vendor of %s by its own switch and by no other', (category) => {
    const { vendors, least } = VENDORS[category];
    expect(vendors.length).toBeGreaterThanOrEqual(least);
    const wrong = vendors.map((vendor) => ({ ...vendor, by: refusers(vendor) })).filter(({ by }) => by.length !== 1 || by[0] !== category);
    expect(wrong).toEqual([]);
  });

  it('allow at least 100 ordinary requests', () => {
    expect(ORDINARY_REQUESTS.length).toBeGreaterThanOrEqual(100);
    expect(ORDINARY_REQUESTS.filter((request) => refusers(request).length > 0)).toEqual([]);
  });

  it("do not affect a vendor's own site", () => {
    const own = { url: 'https://static.intercom.io/app.js', type: 'script', sourceUrl: 'https://www.intercom.io/' } as const;
    expect(refusing(engines, CATEGORIES, own)).toBeNull();
  });

  it('are tried in the order of the switches, and the first match counts', () => {
    const ask = { url: 'https://www.googletagmanager.com/gtm.js', type: 'script', sourceUrl: PAGE } as const;
    expect(refusing(engines, ['ads', 'trackers'], ask)).toBe('trackers');
    expect(refusing(engines, ['ads'], ask)).toBeNull();
    expect(refusing(engines, [], ask)).toBeNull();
  });
});
