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

const DESKTOP = { deviceScaleFactor: 1, isMobile: false, hasTouch: false, userAgent: null, clientHints: null };
const TOUCH = { isMobile: true, hasTouch: true, clientHints: null };

/** Safari's user agent does not name the device model. */
const safari = (device: string): string =>
  `Mozilla/5.0 (${device} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/27.2 Mobile/15E148 Safari/604.1`;

export const DEVICE_PRESETS = {
  desktop_standard: { ...DESKTOP, width: 1280, height: 720 },
  desktop_hd: { ...DESKTOP, width: 1920, height: 1080 },
  desktop_2k: { ...DESKTOP, width: 2560, height: 1440 },
  desktop_4k: { ...DESKTOP, width: 3840, height: 2160 },
  iphone_15_pro: {
    ...TOUCH,
    width: 393,
    height: 659,
    deviceScaleFactor: 3,
    userAgent: safari('iPhone; CPU iPhone OS 17_5'),
  },
  iphone_15_pro_max: {
    ...TOUCH,
    width: 430,
    height: 739,
    deviceScaleFactor: 3,
    userAgent: safari('iPhone; CPU iPhone OS 17_5'),
  },
  iphone_17_pro_max: {
    ...TOUCH,
    width: 440,
    height: 763,
    deviceScaleFactor: 3,
    userAgent: safari('iPhone; CPU iPhone OS 18_7'),
  },
  pixel_8: {
    ...TOUCH,
    width: 412,
    height: 839,
    deviceScaleFactor: 2.625,
    userAgent:
      'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{chromium} Mobile Safari/537.36',
    clientHints: { platform: 'Android', platformVersion: '14.0.0', model: 'Pixel 8', mobile: true },
  },
  ipad_pro_11: { ...TOUCH, width: 834, height: 1194, deviceScaleFactor: 2, userAgent: safari('iPad; CPU OS 12_2') },
} satisfies Record<string, DevicePreset>;

export type DeviceName = keyof typeof DEVICE_PRESETS;
export const DEVICE_NAMES = Object.keys(DEVICE_PRESETS) as DeviceName[];
