/** The parts of the user agent's identity that no protocol command can change. A script sets them before the page's own run. */
import type { Identity } from './user-agent.js';

/** Runs in pages whose user agent is another vendor's: it removes the client hints and sets the vendor. */
export function emulateUserAgentInPage(vendor: string | null): void {
  Reflect.deleteProperty(Navigator.prototype, 'userAgentData');
  if (vendor === null) return;
  Object.defineProperty(Navigator.prototype, 'vendor', { get: () => vendor, configurable: true, enumerable: true });
}

/**
 * Workers need a script, since the protocol cannot override their navigator.
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
    if (own[name] !== value) Object.defineProperty(prototype, name, { get: () => value, configurable: true, enumerable: true });
  };
  override('userAgent', agent.userAgent);
  override('appVersion', agent.userAgent.replace(/^Mozilla\//, ''));
  override('platform', agent.platform);
  if (!agent.hints) Reflect.deleteProperty(prototype, 'userAgentData');
}
