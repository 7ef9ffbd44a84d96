import { beforeAll, expect, it } from 'vitest';
import { bannerCss } from '../../../src/render/filter/cosmetics.js';
import { builtInEngines, CATEGORIES, type Engines, readBuiltInRules } from '../../../src/render/filter/engines.js';
import { AD_VENDORS } from '../../fixtures/vendors/ads.js';
import { builtForTests, refusing } from './built.js';

const LONG = `?${'q=1&/ads/banner/'.repeat(125_000)}`;
/** A whole URL of 2 MB takes half a second. */
const MOST_MS = 100;

let engines: Engines;
beforeAll(async () => {
  engines = builtInEngines(await readBuiltInRules(await builtForTests()));
  refusing(engines, CATEGORIES, { url: 'https://example.com/', type: 'script', sourceUrl: 'https://example.com/' });
});

it.each([
  ['of a request', { url: `https://example.com/${LONG}`, sourceUrl: 'https://example.com/' }],
  ['of the document that asks', { url: 'https://example.com/a.js', sourceUrl: `https://example.com/${LONG}` }],
])('a URL of 2 MB %s is matched as fast as any other', (_, urls) => {
  const began = performance.now();
  expect(refusing(engines, CATEGORIES, { ...urls, type: 'script' })).toBeNull();
  expect(performance.now() - began).toBeLessThan(MOST_MS);
});

it('hiding rules for an address of 2 MB are found as fast as for any other', () => {
  const began = performance.now();
  const cssFor = (url: string) => bannerCss(engines, CATEGORIES, { url, base: true, host: true });
  expect(cssFor(`https://example.com/${LONG}`)).toBe(cssFor('https://example.com/'));
  expect(performance.now() - began).toBeLessThan(MOST_MS);
});

it('a blocked request remains blocked however long its URL is', () => {
  const vendors = AD_VENDORS.filter(({ type }) => type === 'script');
  expect(vendors).not.toEqual([]);
  for (const { url } of vendors) {
    const ask = { type: 'script', sourceUrl: 'https://example.com/' } as const;
    if (refusing(engines, ['ads'], { ...ask, url }) === 'ads')
      expect(refusing(engines, ['ads'], { ...ask, url: `${url}&${LONG}` })).toBe('ads');
  }
});
