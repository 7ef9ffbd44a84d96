import { expect, it } from 'vitest';
import { captureRequestSchema, toCaptureOptions } from '../../../src/contract/capture-request.js';
import { type Emulation, emulationOf, languagesOf } from '../../../src/render/launch/emulation.js';

const emulation = (fields: Record<string, unknown> = {}): Emulation =>
  emulationOf(
    toCaptureOptions(captureRequestSchema.parse({ url: 'https://example.com/', ...fields })),
    '156.0.8078.79',
    {
      platform: 'linux',
      arch: 'x64',
    },
  );

it('captures that differ only in size, color scheme and motion can share a page opened in advance', () => {
  const pageOptions = { viewport: { width: 800, height: 600 }, color_scheme: 'dark', reduce_motion: false };
  expect(emulation(pageOptions).key).toBe(emulation().key);
  expect(emulation(pageOptions).pageOptions).toEqual({
    width: 800,
    height: 600,
    colorScheme: 'dark',
    reducedMotion: 'no-preference',
  });
});

it.each([
  ['density', { viewport: { deviceScaleFactor: 1 } }],
  ['mobile', { viewport: { isMobile: true } }],
  ['touch', { viewport: { hasTouch: true } }],
  ['user agent', { user_agent: 'ExampleBot/1.0' }],
  ['locale', { locale: 'de-DE' }],
  ['time zone', { timezone: 'Asia/Tokyo' }],
  ['region', { region: 'jp' }],
  ['device', { device: 'iphone_15_pro' }],
])('captures that differ in %s never share a page', (_, fields) => {
  expect(emulation(fields).key).not.toBe(emulation().key);
});

it("an explicit user agent takes precedence over the device's, which has Chromium's real version", () => {
  expect(emulation({ device: 'pixel_8', user_agent: 'ExampleBot/1.0' }).contextOptions.userAgent).toBe(
    'ExampleBot/1.0',
  );
  expect(emulation({ device: 'pixel_8' }).contextOptions.userAgent).toContain('Chrome/156.0.8078.79 Mobile');
});

it('an unset color scheme is light', () => {
  expect(emulation().pageOptions.colorScheme).toBe('light');
  expect(emulation({ dark_mode: true }).pageOptions.colorScheme).toBe('dark');
});

it('a locale is requested before its bare language', () => {
  expect(languagesOf('pt-BR')).toBe('pt-BR,pt');
  expect(languagesOf('zh-Hant-TW')).toBe('zh-Hant-TW,zh');
  expect(languagesOf('de')).toBe('de');
});
