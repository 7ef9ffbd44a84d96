import { FiltersEngine } from '@ghostery/adblocker';
import { describe, expect, it } from 'vitest';
import { bannerCss, hidingCss, startRules } from '../../../src/render/filter/cosmetics.js';
import {
  builtInExceptions,
  builtInText,
  CATEGORIES,
  type Category,
  ENGINE_OPTIONS,
  type Engines,
  engineSet,
  othersText,
  readBuiltInRules,
} from '../../../src/render/filter/engines.js';
import { AD_VENDORS } from '../../fixtures/vendors/ads.js';
import { CHAT_VENDORS } from '../../fixtures/vendors/chats.js';
import { CONSENT_VENDORS } from '../../fixtures/vendors/consent.js';
import { TRACKER_VENDORS } from '../../fixtures/vendors/trackers.js';
import { builtForTests, refusing } from './built.js';

const PAGE = 'https://page.test/';

/** Engines of these lists beside the built-in vendors `vendor.test` (ads) and `meter.test` (trackers). */
function enginesOf(lists: Partial<Record<Category, string>>): Engines {
  const builtIn = {
    hosts: { ads: ['vendor.test'], trackers: ['meter.test'], chats: [], cookies: [] },
    rules: { ads: [], trackers: [], chats: [], cookies: [] },
  };
  const textOf = (category: Category) => [builtInText(builtIn, category), othersText(builtIn, category), lists[category] ?? ''].join('\n');
  return engineSet(
    (category) => FiltersEngine.parse(textOf(category), ENGINE_OPTIONS),
    () => builtInExceptions(builtIn),
  );
}

describe('a request that one list blocks and another excepts', () => {
  const engines = enginesOf({
    ads: '@@||cdn.test/player.js$domain=page.test\n@@||meter.test/needed.js\n||strict.test^$important',
    trackers: '||cdn.test^\n@@||strict.test^',
    cookies: '@@||vendor.test/consent.js$script',
  });
  const refuser = (on: Category[], url: string, sourceUrl = PAGE) => refusing(engines, on, { url, type: 'script', sourceUrl });

  it('is allowed when both switches are on, and only then', () => {
    expect(refuser(['trackers'], 'https://cdn.test/player.js')).toBe('trackers');
    expect(refuser(['ads', 'trackers'], 'https://cdn.test/player.js')).toBeNull();
    expect(refuser(['ads', 'trackers'], 'https://cdn.test/other.js')).toBe('trackers');
    expect(refuser(['ads', 'trackers'], 'https://cdn.test/player.js', 'https://other.test/')).toBe('trackers');
  });

  it('is allowed even if the rule is built in, while each switch still blocks its own vendors', () => {
    expect(refuser(['ads', 'trackers'], 'https://meter.test/needed.js')).toBeNull();
    expect(refuser(['ads', 'cookies'], 'https://vendor.test/consent.js')).toBeNull();
    expect(refuser([...CATEGORIES], 'https://meter.test/x.js')).toBe('trackers');
    expect(refuser([...CATEGORIES], 'https://vendor.test/x.js')).toBe('ads');
  });

  it('does not affect the built-in rules: with all switches on, each blocks its own vendors', async () => {
    const builtIn = await readBuiltInRules(await builtForTests());
    const parsed = (category: Category) =>
      FiltersEngine.parse([builtInText(builtIn, category), othersText(builtIn, category)].join('\n'), ENGINE_OPTIONS);
    const real = engineSet(
      (category) => FiltersEngine.deserialize(parsed(category).serialize()),
      () => builtInExceptions(builtIn),
    );
    const vendors = { ads: AD_VENDORS, trackers: TRACKER_VENDORS, chats: CHAT_VENDORS, cookies: CONSENT_VENDORS };
    for (const category of CATEGORIES)
      expect(vendors[category].filter(({ url, type }) => refusing(real, CATEGORIES, { url, type, sourceUrl: PAGE }) !== category)).toEqual(
        [],
      );
  });
});

describe('an element that one list hides and another excepts', () => {
  const features = { ids: [], classes: ['offer', 'teaser', 'notice'], hrefs: [] };
  const engines = enginesOf({
    ads: '##.offer\n##.teaser\npage.test##.aside\n##amp-ad',
    trackers: 'page.test#@#.offer\npage.test#@#.aside\n@@||bare.test^$generichide\n@@||plain.test^$elemhide',
    cookies: '##.notice\npage.test##.bar\nplain.test##.bar',
  });

  it('is shown when both switches are on, and only then', () => {
    expect(hidingCss(engines, ['ads'], { url: PAGE, features })).toContain('.offer');
    expect(hidingCss(engines, ['ads', 'trackers'], { url: PAGE, features })).not.toContain('.offer');
    expect(hidingCss(engines, ['ads', 'trackers'], { url: PAGE, features })).toContain('.teaser');
    expect(hidingCss(engines, ['ads', 'trackers'], { url: 'https://other.test/', features })).toContain('.offer');
    expect(hidingCss(engines, ['ads', 'chats'], { url: PAGE, host: true })).toContain('.aside');
    expect(hidingCss(engines, ['ads', 'trackers'], { url: PAGE, host: true })).toBe('');
  });

  it('is shown on pages that a list excepts from generic rules or from all rules', () => {
    const bare = 'https://bare.test/';
    expect(startRules(engines, ['ads'], bare)?.base).toContain('amp-ad');
    expect(startRules(engines, ['ads', 'trackers'], bare)).toBeNull();
    expect(startRules(engines, ['ads', 'trackers'], PAGE)?.base).toContain('amp-ad');
    expect(hidingCss(engines, ['ads', 'trackers'], { url: bare, features })).toBe('');
    const plain = 'https://plain.test/';
    expect(bannerCss(engines, ['cookies'], { url: plain, host: true })).toContain('.bar');
    expect(bannerCss(engines, ['trackers', 'cookies'], { url: plain, host: true })).toBe('');
    expect(bannerCss(engines, ['cookies'], { url: plain, features })).toContain('.notice');
    expect(bannerCss(engines, ['trackers', 'cookies'], { url: plain, features })).toBe('');
  });
});
