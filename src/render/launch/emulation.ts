/**
 * Maps a capture's options to the emulation of its page, and derives all values that must agree with its user agent (client
 * hints, navigator.platform and vendor), so that pages, frames and workers report the same identity.
 */

import type { CaptureOptions } from '../../contract/capture-request.js';
import { deviceOf } from '../../contract/device-presets.js';

/** The machine that Chromium runs on, in Node's terms. */
export interface Host {
  /** Node's `process.platform`. */
  platform: string;
  /** Node's `process.arch`. */
  arch: string;
}

interface BrandVersion {
  brand: string;
  version: string;
}

export interface Identity {
  userAgent: string;
  /** The value of navigator.platform. */
  platform: string;
  /** The value of navigator.vendor; null keeps Chromium's. */
  vendor: string | null;
  /** The client hints; null for vendors whose browsers send none. */
  metadata: ReturnType<typeof hintsOf> | null;
}

/**
 * The emulation of a page, with a key that is equal for equal context options. Those are fixed when a context is opened; page
 * options can be set later, so a page opened in advance fits every capture with the same context options.
 */
export type Emulation = ReturnType<typeof emulationOf>;

export function emulationOf(options: CaptureOptions, chromiumVersion: string, host: Host) {
  const { deviceScaleFactor, isMobile, hasTouch, width, height } = options.view;
  const { device, locale, timezone } = options;
  // Precedence: an explicit `user_agent`, the device's, the browser's own.
  const ofDevice = device === null ? undefined : deviceOf(device).userAgent?.replaceAll('{chromium}', chromiumVersion);
  const userAgent = options.userAgent ?? ofDevice ?? ownUserAgent(chromiumVersion, host);
  const contextOptions = { deviceScaleFactor, isMobile, hasTouch, userAgent, locale, timezone };
  const reducedMotion: 'reduce' | 'no-preference' = options.reduceMotion ? 'reduce' : 'no-preference';
  const pageOptions = { width, height, colorScheme: options.colorScheme ?? 'light', reducedMotion };
  return { key: JSON.stringify(Object.values(contextOptions)), contextOptions, pageOptions };
}

/** Chromium's own user agent in its reduced form, but without the word Headless (decisions.md, Capture semantics). */
export function ownUserAgent(chromiumVersion: string, host: Host): string {
  return `Mozilla/5.0 (${OWN_SYSTEM[host.platform] ?? OWN_SYSTEM.linux}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${major(chromiumVersion)}.0.0.0 Safari/537.36`;
}

const OWN_SYSTEM: Record<string, string> & { linux: string } = {
  linux: 'X11; Linux x86_64',
  darwin: 'Macintosh; Intel Mac OS X 10_15_7',
  win32: 'Windows NT 10.0; Win64; x64',
};

/** Derives all values that must agree with a user agent. */
export function identityOf(userAgent: string, chromiumVersion: string, host: Host): Identity {
  const platform = platformOf(userAgent);
  const claimed = /\bChrom(?:e|ium)\/(\d+[\d.]*)/.exec(userAgent)?.[1];
  if (claimed === undefined || /\b(CriOS|FxiOS|EdgiOS)\//.test(userAgent)) {
    return { userAgent, platform, vendor: vendorOf(userAgent), metadata: null };
  }
  const full = major(claimed) === major(chromiumVersion) ? chromiumVersion : claimed;
  const own = userAgent === ownUserAgent(chromiumVersion, host);
  return {
    userAgent,
    platform,
    vendor: null,
    metadata: hintsOf(userAgent, full, own ? [] : productsOf(userAgent, full), host),
  };
}

function hintsOf(userAgent: string, version: string, products: BrandVersion[], host: Host) {
  const android = /Android/.test(userAgent);
  const mobile = /\bMobile\b/.test(userAgent);
  const full = brandList(version, [{ brand: 'Chromium', version }, ...products]);
  return {
    brands: full.map(({ brand, version: v }) => ({ brand, version: major(v) })),
    fullVersionList: full.map(({ brand, version: v }) => ({ brand, version: v.includes('.') ? v : `${v}.0.0.0` })),
    fullVersion: version,
    ...systemOf(userAgent),
    architecture: android ? '' : host.arch === 'arm64' && !/x86_64|Intel|x64/.test(userAgent) ? 'arm' : 'x86',
    bitness: android ? '' : '64',
    model: modelOf(userAgent),
    mobile,
    wow64: false,
    formFactors: [android ? (mobile ? 'Mobile' : 'Tablet') : 'Desktop'],
  };
}

/** The brands, besides Chromium, of a user agent other than our own. */
function productsOf(userAgent: string, version: string): BrandVersion[] {
  const edge = /\bEdgA?\/([\d.]+)/.exec(userAgent)?.[1];
  if (edge !== undefined) return [{ brand: 'Microsoft Edge', version: edge }];
  const opera = /\bOPR\/([\d.]+)/.exec(userAgent)?.[1];
  if (opera !== undefined) return [{ brand: 'Opera', version: opera }];
  return [{ brand: 'Google Chrome', version }];
}

/**
 * Chromium adds a meaningless brand ("GREASE", RFC 8701) whose spelling and position depend on the major version. A list
 * that lacks it or spells it differently would reveal the emulation.
 */
function brandList(version: string, brands: BrandVersion[]): BrandVersion[] {
  const seed = Number(major(version));
  const chars = [' ', '(', ':', '-', '.', '/', ')', ';', '=', '?', '_'];
  const versions = ['8', '99', '24'];
  const grease = {
    brand: `Not${chars[seed % 11]}A${chars[(seed + 1) % 11]}Brand`,
    version: `${versions[seed % 3]}.0.0.0`,
  };
  const all = [grease, ...brands];
  const places = all.length === 2 ? (TWO[seed % 2] ?? []) : (THREE[seed % 6] ?? []);
  const list: BrandVersion[] = [];
  all.forEach((entry, index) => {
    list[places[index] ?? index] = entry;
  });
  return list;
}

const TWO = [
  [0, 1],
  [1, 0],
];
const THREE = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
];

function systemOf(userAgent: string) {
  const android = /Android (\d+)(\.\d+)?(\.\d+)?/.exec(userAgent);
  if (android !== null)
    return { platform: 'Android', platformVersion: `${android[1]}${android[2] ?? '.0'}${android[3] ?? '.0'}` };
  if (/Windows NT/.test(userAgent)) return { platform: 'Windows', platformVersion: '10.0.0' };
  if (/CrOS/.test(userAgent)) return { platform: 'Chrome OS', platformVersion: '' };
  const mac = /Mac OS X (\d+)[_.](\d+)[_.]?(\d+)?/.exec(userAgent);
  if (mac !== null) return { platform: 'macOS', platformVersion: `${mac[1]}.${mac[2]}.${mac[3] ?? '0'}` };
  return { platform: 'Linux', platformVersion: '' };
}

/** Reduced user agents use K in place of every Android model. */
function modelOf(userAgent: string): string {
  const model = /Android [\d.]+; ([^;)]+)\)/.exec(userAgent)?.[1]?.split(' Build/', 1)[0] ?? '';
  return model === 'K' ? '' : model;
}

function platformOf(userAgent: string): string {
  const device = /\((iPhone|iPad|iPod)\b/.exec(userAgent)?.[1];
  if (device !== undefined) return device;
  if (/Android/.test(userAgent)) return 'Linux armv81';
  if (/Windows/.test(userAgent)) return 'Win32';
  if (/Macintosh|Mac OS X/.test(userAgent)) return 'MacIntel';
  return 'Linux x86_64';
}

function vendorOf(userAgent: string): string | null {
  if (/AppleWebKit\//.test(userAgent) && /\b(Safari|iPhone|iPad)\b/.test(userAgent)) return 'Apple Computer, Inc.';
  return /\bGecko\/\d/.test(userAgent) ? '' : null;
}

function major(version: string): string {
  return version.split('.')[0] ?? version;
}

/** The Accept-Language of a locale: the locale, then its language. Chromium adds the q-values. */
export function languagesOf(locale: string): string {
  const language = locale.split('-')[0] ?? locale;
  return language === locale ? locale : `${locale},${language}`;
}

/** Adds what full Chromium has and headless shell lacks: pages that look for it may call the browser old, or a robot. */
export function addChromeObject(): void {
  if ('chrome' in globalThis) return;
  const { timing } = performance;
  const seconds = (ms: number) => ms / 1_000;
  const loadTimes = () => ({
    requestTime: seconds(timing.navigationStart),
    startLoadTime: seconds(timing.navigationStart),
    commitLoadTime: seconds(timing.responseStart),
    finishDocumentLoadTime: seconds(timing.domContentLoadedEventEnd),
    finishLoadTime: seconds(timing.loadEventEnd),
    navigationType: 'Other',
  });
  const csi = () => ({
    startE: timing.navigationStart,
    onloadT: timing.domContentLoadedEventEnd,
    pageT: performance.now(),
    tran: 15,
  });
  const value = { loadTimes: loadTimes.bind(null), csi: csi.bind(null), app: { isInstalled: false } };
  Object.defineProperty(globalThis, 'chrome', { value, writable: true, enumerable: true });
}

/** Runs in pages whose user agent is another vendor's: it removes the client hints and sets the vendor. */
export function emulateUserAgentInPage(vendor: string | null): void {
  Reflect.deleteProperty(Navigator.prototype, 'userAgentData');
  if (vendor === null) return;
  Object.defineProperty(Navigator.prototype, 'vendor', { get: () => vendor, configurable: true, enumerable: true });
}

/**
 * Workers need a script, since the protocol cannot override their navigator (playwright#31219, puppeteer#4978).
 * @returns an expression to evaluate in a worker that has not run yet
 */
export function emulateUserAgentInWorker({ userAgent, platform, metadata }: Identity): string {
  return `(${overrideNavigator.toString()})(${JSON.stringify({ userAgent, platform, hints: metadata !== null })})`;
}

function overrideNavigator(agent: { userAgent: string; platform: string; hints: boolean }): void {
  // A native getter is less conspicuous, so equal values are not overridden.
  const { navigator: own } = globalThis;
  const prototype: object = Object.getPrototypeOf(own);
  const override = (name: 'userAgent' | 'appVersion' | 'platform', value: string): void => {
    if (own[name] !== value)
      Object.defineProperty(prototype, name, { get: () => value, configurable: true, enumerable: true });
  };
  override('userAgent', agent.userAgent);
  override('appVersion', agent.userAgent.replace(/^Mozilla\//, ''));
  override('platform', agent.platform);
  if (!agent.hints) Reflect.deleteProperty(prototype, 'userAgentData');
}
