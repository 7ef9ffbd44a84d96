import { expect, it } from 'vitest';
import { captureRequestSchema, toCaptureOptions } from '../../../src/contract/capture-request.js';
import { type Emulation, emulationOf } from '../../../src/render/emulate/emulation-of.js';
import { languagesOf } from '../../../src/render/emulate/languages.js';

const shape = (fields: Record<string, unknown> = {}): Emulation =>
  emulationOf(toCaptureOptions(captureRequestSchema.parse({ url: 'https://example.com/', ...fields })), '156.0.8078.79', {
    platform: 'linux',
    arch: 'x64',
  });

it('captures that differ in size, colour scheme and motion alone can share a page opened ahead', () => {
  const soft = { viewport: { width: 800, height: 600 }, color_scheme: 'dark', reduce_motion: false };
  expect(shape(soft).key).toBe(shape().key);
  expect(shape(soft).soft).toEqual({ width: 800, height: 600, colorScheme: 'dark', reducedMotion: 'no-preference' });
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
  expect(shape(fields).key).not.toBe(shape().key);
});

it("an explicit user agent beats the device's, which has Chromium's real version", () => {
  expect(shape({ device: 'pixel_8', user_agent: 'ExampleBot/1.0' }).rigid.userAgent).toBe('ExampleBot/1.0');
  expect(shape({ device: 'pixel_8' }).rigid.userAgent).toContain('Chrome/156.0.8078.79 Mobile');
});

it('an unset colour scheme is light', () => {
  expect(shape().soft.colorScheme).toBe('light');
  expect(shape({ dark_mode: true }).soft.colorScheme).toBe('dark');
});

it('a locale is asked for before its bare language', () => {
  expect(languagesOf('pt-BR')).toBe('pt-BR,pt');
  expect(languagesOf('zh-Hant-TW')).toBe('zh-Hant-TW,zh');
  expect(languagesOf('de')).toBe('de');
});
