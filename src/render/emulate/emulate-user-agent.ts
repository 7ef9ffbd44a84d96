/** The parts of the user agent's identity that no protocol command can change, set by a script that runs before the page's. */
import type { Identity } from './user-agent.js';

/** Runs in pages with another vendor's user agent: their navigator has no client hints, and another vendor. */
export function emulateUserAgentInPage(vendor: string | null): void {
  Reflect.deleteProperty(Navigator.prototype, 'userAgentData');
  if (vendor === null) return;
  Object.defineProperty(Navigator.prototype, 'vendor', { get: () => vendor, configurable: true, enumerable: true });
}

/**
 * For workers, whose navigator the protocol cannot override.
 * @returns an expression to evaluate in a worker that has not run yet
 */
export function emulateUserAgentInWorker({ userAgent, platform, metadata }: Identity): string {
  return `(${wear.toString()})(${JSON.stringify({ userAgent, platform, hints: metadata !== null })})`;
}

function wear(agent: { userAgent: string; platform: string; hints: boolean }): void {
  // Only if it differs: a native getter is less conspicuous.
  const { navigator: own } = globalThis;
  const prototype: object = Object.getPrototypeOf(own);
  const say = (name: 'userAgent' | 'appVersion' | 'platform', value: string): void => {
    if (own[name] !== value) Object.defineProperty(prototype, name, { get: () => value, configurable: true, enumerable: true });
  };
  say('userAgent', agent.userAgent);
  say('appVersion', agent.userAgent.replace(/^Mozilla\//, ''));
  say('platform', agent.platform);
  if (!agent.hints) Reflect.deleteProperty(prototype, 'userAgentData');
}
