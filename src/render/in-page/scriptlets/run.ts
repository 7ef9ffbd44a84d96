/**
 * The scriptlets of filter lists, written from their public descriptions. They run in the page's own world before its scripts, since they
 * change what those see. Built to one script, apart from what else runs in pages.
 */
import { adjustTimer, preventAddEventListener, preventTimer, preventWindowOpen } from './calls.js';
import { removeAttr, removeClass, removeNodeText } from './elements.js';
import { abortCurrentScript, abortOnPropertyRead, abortOnPropertyWrite, setConstant } from './properties.js';
import { jsonPrune } from './prune.js';
import { preventFetch, preventXhr } from './requests.js';
import type { Scriptlet } from './scriptlet.js';
import { setCookie, setItem } from './stored.js';

const SCRIPTLETS: Record<string, (...given: string[]) => void> = {
  'abort-current-script': abortCurrentScript,
  'abort-on-property-read': abortOnPropertyRead,
  'abort-on-property-write': abortOnPropertyWrite,
  'adjust-setInterval': (...given) => adjustTimer('setInterval', ...given),
  'adjust-setTimeout': (...given) => adjustTimer('setTimeout', ...given),
  'json-prune': jsonPrune,
  'prevent-addEventListener': preventAddEventListener,
  'prevent-fetch': preventFetch,
  'prevent-setInterval': (...given) => preventTimer('setInterval', ...given),
  'prevent-setTimeout': (...given) => preventTimer('setTimeout', ...given),
  'prevent-window-open': preventWindowOpen,
  'prevent-xhr': preventXhr,
  'remove-attr': removeAttr,
  'remove-class': removeClass,
  'remove-node-text': removeNodeText,
  'set-constant': setConstant,
  'set-cookie': setCookie,
  'set-local-storage-item': (...given) => setItem('localStorage', ...given),
  'set-session-storage-item': (...given) => setItem('sessionStorage', ...given),
};

/** Runs those for this document's host. A frame without an address of its own is of its parent's host. */
export function run(byHost: Record<string, Scriptlet[]>): void {
  const host = self.origin === 'null' ? '' : new URL(self.origin).hostname;
  if (!Object.hasOwn(byHost, host)) return;
  for (const [name, ...given] of byHost[host] ?? []) {
    try {
      if (Object.hasOwn(SCRIPTLETS, name)) SCRIPTLETS[name]?.(...given);
    } catch {
      // An argument that makes no sense, such as a malformed regular expression, or a page that has frozen what is to be changed.
    }
  }
}
