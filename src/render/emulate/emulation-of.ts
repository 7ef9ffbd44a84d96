/**
 * The shape of a capture's browser context, from its options. Knows no browser: data in, data out.
 * The rigid part is fixed when a context is opened; the soft part a page can take on afterwards at once,
 * so that a page opened ahead fits every capture of the same rigid part.
 */
import type { CaptureOptions } from '../../contract/capture-request.js';
import { DEVICE_PRESETS } from '../../contract/device-presets.js';
import { type Host, ownUserAgent } from './user-agent.js';

export interface ContextEmulation {
  deviceScaleFactor: number;
  isMobile: boolean;
  hasTouch: boolean;
  userAgent: string;
  /** null: the browser's own, en-US. */
  locale: string | null;
  /** null: the machine's own. */
  timezone: string | null;
}

export interface PageEmulation {
  /** CSS px. */
  width: number;
  /** CSS px. */
  height: number;
  colorScheme: 'light' | 'dark' | 'no-preference';
  reducedMotion: 'reduce' | 'no-preference';
}

export interface Emulation {
  /** Equal for equal rigid parts. */
  key: string;
  rigid: ContextEmulation;
  soft: PageEmulation;
}

/** What of the options shapes a context. */
export type EmulationOptions = Pick<
  CaptureOptions,
  'view' | 'device' | 'userAgent' | 'locale' | 'timezone' | 'colorScheme' | 'reduceMotion'
>;

export function emulationOf(options: EmulationOptions, chromiumVersion: string, host: Host): Emulation {
  const { view } = options;
  const rigid: ContextEmulation = {
    deviceScaleFactor: view.deviceScaleFactor,
    isMobile: view.isMobile,
    hasTouch: view.hasTouch,
    userAgent: userAgentOf(options, chromiumVersion, host),
    locale: options.locale,
    timezone: options.timezone,
  };
  const soft: PageEmulation = {
    width: view.width,
    height: view.height,
    colorScheme: options.colorScheme ?? 'light',
    reducedMotion: options.reduceMotion ? 'reduce' : 'no-preference',
  };
  return { key: JSON.stringify(Object.values(rigid)), rigid, soft };
}

/** An explicit `user_agent` beats the device's, which beats the browser's own. */
function userAgentOf(options: EmulationOptions, chromiumVersion: string, host: Host): string {
  const preset = options.device === null ? null : DEVICE_PRESETS[options.device].userAgent;
  return options.userAgent ?? preset?.replace('{chromium}', chromiumVersion) ?? ownUserAgent(chromiumVersion, host);
}
