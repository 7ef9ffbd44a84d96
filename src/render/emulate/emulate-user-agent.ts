/** What no protocol command can change of who the browser says it is: done by script, before any of the page's own. */
import type { Identity } from './user-agent.js';

/** Runs in pages of agents that are not Chromium's: their navigator has no client hints, and another vendor. */
export function emulateUserAgentInPage(vendor: string | null): void {
  Reflect.deleteProperty(Navigator.prototype, 'userAgentData');
  if (vendor === null) return;
  Object.defineProperty(Navigator.prototype, 'vendor', { get: () => vendor, configurable: true, enumerable: true });
}

/**
 * For workers, whose navigator takes no override from the protocol.
 * @returns an expression to evaluate in a worker that has not run yet
 */
export function emulateUserAgentInWorker({ userAgent, platform, metadata }: Identity): string {
  return `(${wear.toString()})(${JSON.stringify({ userAgent, platform, hints: metadata !== null })})`;
}

function wear(agent: { userAgent: string; platform: string; hints: boolean }): void {
  // Only where it differs: a native getter tells least.
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
