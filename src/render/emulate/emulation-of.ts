/**
 * Maps a capture's options to the emulation of its page. Context options are fixed when a context is opened. Page options
 * can be set later, so a page opened in advance fits every capture with the same context options.
 */
import type { CaptureOptions } from '../../contract/capture-request.js';
import { DEVICE_PRESETS } from '../../contract/device-presets.js';
import { type Host, ownUserAgent } from './user-agent.js';

export interface ContextEmulation {
  deviceScaleFactor: number;
  isMobile: boolean;
  hasTouch: boolean;
  userAgent: string;
  /** null keeps the browser's own, en-US. */
  locale: string | null;
  /** null keeps the machine's own. */
  timezone: string | null;
}

export interface PageEmulation {
  /** Width in CSS px. */
  width: number;
  /** Height in CSS px. */
  height: number;
  colorScheme: 'light' | 'dark' | 'no-preference';
  reducedMotion: 'reduce' | 'no-preference';
}

export interface Emulation {
  /** A key that is equal for equal context options. */
  key: string;
  contextOptions: ContextEmulation;
  pageOptions: PageEmulation;
}

/** The options that determine an emulation. */
export type EmulationOptions = Pick<
  CaptureOptions,
  'view' | 'device' | 'userAgent' | 'locale' | 'timezone' | 'colorScheme' | 'reduceMotion'
>;

export function emulationOf(options: EmulationOptions, chromiumVersion: string, host: Host): Emulation {
  const { view } = options;
  const contextOptions: ContextEmulation = {
    deviceScaleFactor: view.deviceScaleFactor,
    isMobile: view.isMobile,
    hasTouch: view.hasTouch,
    userAgent: userAgentOf(options, chromiumVersion, host),
    locale: options.locale,
    timezone: options.timezone,
  };
  const pageOptions: PageEmulation = {
    width: view.width,
    height: view.height,
    colorScheme: options.colorScheme ?? 'light',
    reducedMotion: options.reduceMotion ? 'reduce' : 'no-preference',
  };
  return { key: JSON.stringify(Object.values(contextOptions)), contextOptions, pageOptions };
}

/** Precedence: an explicit `user_agent`, the device's, the browser's own. */
function userAgentOf(options: EmulationOptions, chromiumVersion: string, host: Host): string {
  const preset = options.device === null ? null : DEVICE_PRESETS[options.device].userAgent;
  return options.userAgent ?? preset?.replace('{chromium}', chromiumVersion) ?? ownUserAgent(chromiumVersion, host);
}
