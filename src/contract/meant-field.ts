import { distance } from 'fastest-levenshtein';

/** The known name with the fewest edits, ignoring case and punctuation; null if none is close. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  const plainName = plain(name);
  for (const candidate of known) {
    const edits = distance(plainName, plain(candidate));
    if (edits < bestDistance) {
      best = candidate;
      bestDistance = edits;
    }
  }
  return best;
}

/** Fields of other screenshot APIs, as written or in lower case without punctuation, with their names here. */
const MEANT: Record<string, string> = {
  width: 'viewport.width',
  height: 'viewport.height',
  viewportwidth: 'viewport.width',
  viewportheight: 'viewport.height',
  devicescalefactor: 'viewport.deviceScaleFactor',
  scale: 'viewport.deviceScaleFactor',
  dpr: 'viewport.deviceScaleFactor',
  scalefactor: 'viewport.deviceScaleFactor',
  retina: 'viewport.deviceScaleFactor',
  ismobile: 'viewport.isMobile',
  mobile: 'viewport.isMobile',
  hastouch: 'viewport.hasTouch',
  emulatedevice: 'device',
  viewportdevice: 'device',
  type: 'format',
  imageformat: 'format',
  imagequality: 'quality',
  element: 'selector',
  selectors: 'selector_union',
  selectorsall: 'selector_union',
  jsselector: 'selector_function',
  wait: 'delay',
  waitfor: 'wait_for_function',
  css: 'custom_css',
  styles: 'custom_css',
  js: 'custom_js',
  script: 'custom_js',
  scripts: 'custom_js',
  javascript: 'custom_js',
  ua: 'user_agent',
  auth: 'storage_state',
  ttl: 'cache_ttl',
  async: 'sync',
  callback: 'webhook',
  callbackurl: 'webhook.url',
  webhookurl: 'webhook.url',
  country: 'region',
};

/** @returns the field that this name stands for in other APIs, or null */
export function meantField(name: string): string | null {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  return Object.hasOwn(MEANT, plain) ? (MEANT[plain] ?? null) : null;
}
