import { describe, expect, it } from 'vitest';
import { deviceOf } from '../../../src/contract/device-presets.js';
import { identityOf, ownUserAgent } from '../../../src/render/launch/emulation.js';

const VERSION = '156.0.8078.79';
const LINUX = { platform: 'linux', arch: 'x64' };

describe('the browser itself', () => {
  it('names its reduced version and never the word Headless', () => {
    expect(ownUserAgent(VERSION, LINUX)).toBe(
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
    );
  });

  it('sends the brands of a Chromium of its version, and no other product', () => {
    const { metadata, platform } = identityOf(ownUserAgent(VERSION, LINUX), VERSION, LINUX);
    expect(platform).toBe('Linux x86_64');
    const old = 'Not:A-Brand';
    expect(metadata).toMatchObject({
      brands: [
        { brand: old, version: '8' },
        { brand: 'Chromium', version: '156' },
      ],
      fullVersionList: [
        { brand: old, version: '8.0.0.0' },
        { brand: 'Chromium', version: VERSION },
      ],
      platform: 'Linux',
      architecture: 'x86',
      bitness: '64',
      mobile: false,
      formFactors: ['Desktop'],
    });
  });

  it('matches its user agent on ARM', () => {
    const host = { platform: 'linux', arch: 'arm64' };
    expect(identityOf(ownUserAgent(VERSION, host), VERSION, host).metadata?.architecture).toBe('x86');
  });
});

describe('an explicit agent', () => {
  it('of another Chrome version has that version in its hints', () => {
    const agent =
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36';
    const { metadata, platform } = identityOf(agent, VERSION, LINUX);
    expect(platform).toBe('Win32');
    expect(metadata).toMatchObject({
      platform: 'Windows',
      platformVersion: '10.0.0',
      fullVersion: '131.0.0.0',
      mobile: false,
    });
    expect(metadata?.brands).toContainEqual({ brand: 'Google Chrome', version: '131' });
    expect(metadata?.brands).toHaveLength(3);
  });

  const EDGE =
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0';
  const OPERA = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36 OPR/120.0.0.0';

  it.each([
    ['Microsoft Edge', EDGE],
    ['Opera', OPERA],
  ])('of %s has its brand', (brand, agent) => {
    expect(identityOf(agent, VERSION, LINUX).metadata?.brands.map((entry) => entry.brand)).toContain(brand);
  });

  const SAFARI =
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15';
  const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  const IPHONE =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 CriOS/140.0 Mobile/15E148 Safari/604.1';

  it.each([
    ['Safari', SAFARI, 'MacIntel', 'Apple Computer, Inc.'],
    ['Firefox', FIREFOX, 'Linux x86_64', ''],
    ['Chrome on an iPhone', IPHONE, 'iPhone', 'Apple Computer, Inc.'],
    ['a bot', 'ExampleBot/1.0', 'Linux x86_64', null],
  ])('of %s sends no client hints', (_, agent, platform, vendor) => {
    expect(identityOf(agent, VERSION, LINUX)).toEqual({ userAgent: agent, platform, vendor, metadata: null });
  });

  it('names no model if it does not identify an Android device', () => {
    const agent =
      'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile Safari/537.36';
    expect(identityOf(agent, VERSION, LINUX).metadata).toMatchObject({
      model: '',
      platformVersion: '10.0.0',
      mobile: true,
    });
  });
});

it('the client hints of a device are those of its browser', () => {
  const hintsOf = (name: string) =>
    identityOf(deviceOf(name).userAgent?.replaceAll('{chromium}', VERSION) ?? '', VERSION, LINUX).metadata;
  expect(hintsOf('pixel_8')).toMatchObject({ platform: 'Android', platformVersion: '14.0.0', model: 'Pixel 8' });
  expect(hintsOf('Galaxy Tab S9 landscape')).toMatchObject({ model: 'SM-X710', mobile: false });
  expect(hintsOf('Desktop Edge')?.brands.map(({ brand }) => brand)).toContain('Microsoft Edge');
  expect(['iphone_15_pro', 'iPad Mini', 'Desktop Safari', 'Desktop Firefox'].map(hintsOf)).toEqual([
    null,
    null,
    null,
    null,
  ]);
});
