import { FiltersEngine } from '@ghostery/adblocker';
import { describe, expect, it } from 'vitest';
import { bannerCss, hidingCss, startRules } from '../../../src/render/lists/cosmetics.js';
import {
  builtInEngines,
  builtInExceptions,
  builtInText,
  CATEGORIES,
  type Category,
  ENGINE_OPTIONS,
  type Engines,
  engineSet,
  othersText,
  readBuiltInRules,
} from '../../../src/render/lists/engines.js';
import { AD_VENDORS } from '../../fixtures/vendors/ads.js';
import { CHAT_VENDORS } from '../../fixtures/vendors/chats.js';
import { CONSENT_VENDORS } from '../../fixtures/vendors/consent.js';
import { ORDINARY_REQUESTS } from '../../fixtures/vendors/ordinary.js';
import { TRACKER_VENDORS } from '../../fixtures/vendors/trackers.js';
import type { VendorRequest } from '../../fixtures/vendors/vendor.js';
import { builtForTests, refusing } from './built.js';

const PAGE = 'https://www.example.com/';
const VENDORS: Record<Category, VendorRequest[]> = {
  ads: AD_VENDORS,
  trackers: TRACKER_VENDORS,
  chats: CHAT_VENDORS,
  cookies: CONSENT_VENDORS,
  popups: [],
};
/** There are no built-in rules for popups. */
const BUILT_IN = CATEGORIES.filter((category) => category !== 'popups');
const rules = await readBuiltInRules(await builtForTests());
const builtIn = builtInEngines(rules);

/** The category that blocks a script. */
const refuser = (engines: Engines, on: readonly Category[], url: string, sourceUrl = PAGE) =>
  refusing(engines, on, { url, type: 'script', sourceUrl });

describe('the built-in rules', () => {
  const refusers = ({ url, type }: VendorRequest) =>
    CATEGORIES.filter((category) => refusing(builtIn, [category], { url, type, sourceUrl: PAGE }) !== null);

  it.each(BUILT_IN)('block every vendor of %s by its own switch and by no other', (category) => {
    expect(VENDORS[category].length).toBeGreaterThanOrEqual(30);
    expect(VENDORS[category].filter((vendor) => refusers(vendor).join() !== category)).toEqual([]);
  });

  it('block them by the same switch when they are combined with lists and all switches are on', () => {
    const engines = engineSet(
      (category) =>
        FiltersEngine.parse(`${builtInText(rules, category)}\n${othersText(rules, category)}`, ENGINE_OPTIONS),
      () => builtInExceptions(rules),
    );
    for (const category of CATEGORIES)
      expect(
        VENDORS[category].filter(
          ({ url, type }) => refusing(engines, CATEGORIES, { url, type, sourceUrl: PAGE }) !== category,
        ),
      ).toEqual([]);
  });

  it("allow at least 100 ordinary requests, and those of a vendor's own site", () => {
    expect(ORDINARY_REQUESTS.length).toBeGreaterThanOrEqual(100);
    expect(ORDINARY_REQUESTS.filter((request) => refusers(request).length > 0)).toEqual([]);
    expect(refuser(builtIn, CATEGORIES, 'https://static.intercom.io/app.js', 'https://www.intercom.io/')).toBeNull();
  });
});

describe('a URL of 2 MB', () => {
  const LONG = `?${'q=1&/ads/banner/'.repeat(125_000)}`;

  it('of a request or a document is matched as fast as any other, and has the same hiding rules', () => {
    const cssFor = (url: string) => bannerCss(builtIn, CATEGORIES, { url, base: true, host: true });
    const expected = [refuser(builtIn, CATEGORIES, `${PAGE}a.js`), cssFor(PAGE)];
    const began = performance.now();
    expect(refuser(builtIn, CATEGORIES, PAGE + LONG)).toBeNull();
    expect([refuser(builtIn, CATEGORIES, `${PAGE}a.js`, PAGE + LONG), cssFor(PAGE + LONG)]).toEqual(expected);
    // A whole URL takes half a second.
    expect(performance.now() - began).toBeLessThan(200);
  });

  it('is blocked like a short one', () => {
    const blocked = AD_VENDORS.filter(({ url, type }) => type === 'script' && refuser(builtIn, ['ads'], url) === 'ads');
    expect(blocked).not.toEqual([]);
    expect(blocked.filter(({ url }) => refuser(builtIn, ['ads'], `${url}&${LONG}`) !== 'ads')).toEqual([]);
  });
});

/** Engines of these lists beside the built-in vendors `vendor.test` (ads) and `meter.test` (trackers). */
function enginesOf(lists: Partial<Record<Category, string>>): Engines {
  const none = { ads: [], trackers: [], chats: [], cookies: [], popups: [] };
  const vendors = { hosts: { ...none, ads: ['vendor.test'], trackers: ['meter.test'] }, rules: none };
  const textOf = (category: Category) =>
    [builtInText(vendors, category), othersText(vendors, category), lists[category] ?? ''].join('\n');
  return engineSet(
    (category) => FiltersEngine.parse(textOf(category), ENGINE_OPTIONS),
    () => builtInExceptions(vendors),
  );
}

describe('a request that one list blocks and another excepts', () => {
  const engines = enginesOf({
    ads: '@@||cdn.test/player.js$domain=example.com\n@@||meter.test/needed.js\n||strict.test^$important',
    trackers: '||cdn.test^\n@@||strict.test^',
    cookies: '@@||vendor.test/consent.js$script',
  });
  const both: Category[] = ['ads', 'trackers'];

  it.each<[what: string, Category[], url: string, by: Category | null, sourceUrl?: string]>([
    ['is allowed when both switches are on', both, 'https://cdn.test/player.js', null],
    ['is blocked when one is off', ['trackers'], 'https://cdn.test/player.js', 'trackers'],
    ['is blocked at another address', both, 'https://cdn.test/other.js', 'trackers'],
    ['is blocked on another page', both, 'https://cdn.test/player.js', 'trackers', 'https://other.test/'],
    ['is blocked if the rule is important', both, 'https://strict.test/x.js', 'ads'],
    ['is allowed if the rule is built in', both, 'https://meter.test/needed.js', null],
    [
      'is allowed if the rule of an earlier switch is built in',
      ['ads', 'cookies'],
      'https://vendor.test/consent.js',
      null,
    ],
    ['is blocked by the switch of its vendor when all are on', [...CATEGORIES], 'https://meter.test/x.js', 'trackers'],
  ])('%s', (_what, on, url, by, sourceUrl) => {
    expect(refuser(engines, on, url, sourceUrl)).toBe(by);
  });
});

describe('an element that one list hides and another excepts', () => {
  const features = { ids: [], classes: ['offer', 'teaser', 'notice'], hrefs: [] };
  const engines = enginesOf({
    ads: '##.offer\n##.teaser\nexample.com##.aside\n##amp-ad',
    trackers: 'example.com#@#.offer\nexample.com#@#.aside\n@@||bare.test^$generichide\n@@||plain.test^$elemhide',
    cookies: '##.notice\nexample.com##.bar\nplain.test##.bar',
  });
  const both: Category[] = ['ads', 'trackers'];

  it('is shown when both switches are on, and only then', () => {
    expect(hidingCss(engines, ['ads'], { url: PAGE, features })).toContain('.offer');
    expect(hidingCss(engines, both, { url: PAGE, features })).not.toContain('.offer');
    expect(hidingCss(engines, both, { url: PAGE, features })).toContain('.teaser');
    expect(hidingCss(engines, both, { url: 'https://other.test/', features })).toContain('.offer');
    expect(hidingCss(engines, ['ads', 'chats'], { url: PAGE, host: true })).toContain('.aside');
    expect(hidingCss(engines, both, { url: PAGE, host: true })).toBe('');
  });

  it('is shown on pages that a list excepts from generic rules or from all rules', () => {
    const [bare, plain] = ['https://bare.test/', 'https://plain.test/'];
    expect(startRules(engines, ['ads'], bare)?.base).toContain('amp-ad');
    expect(startRules(engines, both, bare)).toBeNull();
    expect(hidingCss(engines, both, { url: bare, features })).toBe('');
    for (const wanted of [{ host: true }, { features }]) {
      expect(bannerCss(engines, ['cookies'], { url: plain, ...wanted })).not.toBe('');
      expect(bannerCss(engines, ['trackers', 'cookies'], { url: plain, ...wanted })).toBe('');
    }
  });
});
