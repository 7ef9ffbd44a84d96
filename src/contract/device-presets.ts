/** The devices that a capture can emulate: presets (decisions.md, Capture semantics), and all of Playwright by their names. */
import { devices } from 'playwright-core?devices';
import { nearestName } from './meant-field.js';

export interface Device {
  /** CSS px. */
  width: number;
  /** CSS px. */
  height: number;
  deviceScaleFactor: number;
  isMobile: boolean;
  hasTouch: boolean;
  /** `{chromium}` stands for the version of the browser. Null for the browser's own. */
  userAgent: string | null;
}

const DESKTOP = { deviceScaleFactor: 1, isMobile: false, hasTouch: false, userAgent: null };
const DESKTOPS = {
  desktop_standard: { ...DESKTOP, width: 1280, height: 720 },
  desktop_hd: { ...DESKTOP, width: 1920, height: 1080 },
  desktop_2k: { ...DESKTOP, width: 2560, height: 1440 },
  desktop_4k: { ...DESKTOP, width: 3840, height: 2160 },
};
const PRESETS_OF_PLAYWRIGHT = {
  iphone_15_pro: 'iPhone 15 Pro',
  iphone_15_pro_max: 'iPhone 15 Pro Max',
  iphone_17_pro_max: 'iPhone 17 Pro Max',
  pixel_8: 'Pixel 8',
  ipad_pro_11: 'iPad Pro 11',
};

const PLAYWRIGHT = new Map(devices.map(({ name, ...device }): [string, Device] => [name, device]));
const DEVICES = new Map<string, Device>([
  ...Object.entries(DESKTOPS),
  ...Object.entries(PRESETS_OF_PLAYWRIGHT).map(([name, source]): [string, Device] => [name, playwrightDevice(source)]),
  ...PLAYWRIGHT,
]);
const BY_LOWER_CASE = new Map([...DEVICES.keys()].map((name) => [name.toLowerCase(), name]));

/** The names of the presets. */
export const PRESET_NAMES = [...Object.keys(DESKTOPS), ...Object.keys(PRESETS_OF_PLAYWRIGHT)];
/** The names of all devices, the presets first. */
export const DEVICE_NAMES = [...DEVICES.keys()];

function playwrightDevice(name: string): Device {
  const device = PLAYWRIGHT.get(name);
  if (device === undefined) throw new Error(`Playwright has no device "${name}".`);
  return device;
}

/** The device of this name. @param name as `readDeviceName` returns it */
export function deviceOf(name: string): Device {
  const device = DEVICES.get(name);
  if (device === undefined) throw new Error('There is no such device.');
  return device;
}

/** Reads a name in any case. @returns the name as it is written here, or the problem with it */
export function readDeviceName(text: string): { name: string } | { problem: string } {
  const name = BY_LOWER_CASE.get(text.trim().toLowerCase());
  if (name !== undefined) return { name };
  const near = nearestName(text, DEVICE_NAMES);
  const hint = near === null ? `. The presets are ${PRESET_NAMES.join(', ')}` : `. Did you mean \`${near}\`?`;
  return { problem: `must be a device preset, or the name of a device of Playwright, such as Galaxy S24${hint}` };
}
