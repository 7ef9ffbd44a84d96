/**
 * Device presets (decisions.md, Capture semantics). The mobile ones have the sizes and user agents of Playwright's
 * descriptors of the same name, copied because contract/ imports no browser library.
 * `{chromium}` in a user agent is replaced by the actual browser's version.
 */
export interface DevicePreset {
  /** CSS px. */
  width: number;
  /** CSS px. */
  height: number;
  deviceScaleFactor: number;
  isMobile: boolean;
  hasTouch: boolean;
  userAgent: string | null;
  /** For client hints; null where the vendor's browsers send none (Safari). */
  clientHints: { platform: string; platformVersion: string; model: string; mobile: boolean } | null;
}

const screen = (width: number, height: number, deviceScaleFactor: number, isMobile: boolean, userAgent: string | null): DevicePreset => ({
  ...{ width, height, deviceScaleFactor, isMobile, hasTouch: isMobile, userAgent },
  clientHints: null,
});
const desktop = (width: number, height: number) => screen(width, height, 1, false, null);

/** Safari's user agent does not name the device model. */
const safari = (device: string): string =>
  `Mozilla/5.0 (${device} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/27.2 Mobile/15E148 Safari/604.1`;

const phone = (width: number, height: number, deviceScaleFactor: number, userAgent: string) =>
  screen(width, height, deviceScaleFactor, true, userAgent);

export const DEVICE_PRESETS = {
  desktop_standard: desktop(1280, 720),
  desktop_hd: desktop(1920, 1080),
  desktop_2k: desktop(2560, 1440),
  desktop_4k: desktop(3840, 2160),
  iphone_15_pro: phone(393, 659, 3, safari('iPhone; CPU iPhone OS 17_5')),
  iphone_15_pro_max: phone(430, 739, 3, safari('iPhone; CPU iPhone OS 17_5')),
  iphone_17_pro_max: phone(440, 763, 3, safari('iPhone; CPU iPhone OS 18_7')),
  pixel_8: {
    ...phone(
      412,
      839,
      2.625,
      'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{chromium} Mobile Safari/537.36',
    ),
    clientHints: { platform: 'Android', platformVersion: '14.0.0', model: 'Pixel 8', mobile: true },
  },
  ipad_pro_11: phone(834, 1194, 2, safari('iPad; CPU OS 12_2')),
} satisfies Record<string, DevicePreset>;

export type DeviceName = keyof typeof DEVICE_PRESETS;
export const DEVICE_NAMES = Object.keys(DEVICE_PRESETS) as DeviceName[];
