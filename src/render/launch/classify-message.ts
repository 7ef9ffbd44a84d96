/** How to handle a protocol message, by its first bytes. */
export interface MessageClass {
  /** The id of the command that it answers; null for an event. */
  id: number | null;
  /** Whether it is kept. If not, it is dropped, whatever its length. */
  kept: boolean;
  /** A longer event is dropped; a longer answer becomes an error of its command. */
  maxBytes: number;
}

/** Enough bytes for the method, and for the scheme of a request's URL. */
export const HEAD_BYTES = 1_024;

const MB = 1024 * 1024;
/** Chromium's URLs have at most 2 MB, and an event has two or three. A longer event has large headers, stacks or data: URLs. */
const EVENT_MAX_BYTES = 8 * MB;
/** The limit for base64. The largest viewport at the highest density has 75 million pixels, about 90 MB as a PNG of photographs. */
const PICTURE_MAX_BYTES = 128 * MB;

/**
 * Classifies by the prefix that Chromium serialises: no page content precedes the method, and quotes in page content are
 * escaped.
 * @param limitOf returns the maximum size, in bytes, of the answer to a command id
 */
export function classifyMessage(head: string, limitOf: (id: number) => number): MessageClass {
  const method = /^\{"method":"([A-Za-z.]+)"/.exec(head)?.[1];
  if (method !== undefined) return { id: null, kept: USED_EVENTS.has(method) && !isOfDataUrl(method, head), maxBytes: EVENT_MAX_BYTES };
  const [, id = '0', isPicture] = /^\{"id":(\d+)(,"result":\{"data":")?/.exec(head) ?? [];
  const maxBytes = limitOf(Number(id));
  return { id: Number(id), kept: true, maxBytes: isPicture ? PICTURE_MAX_BYTES : maxBytes };
}

/** Playwright ignores these requests, whose URL contains the whole image. */
function isOfDataUrl(method: string, head: string): boolean {
  if (method === 'Network.requestWillBeSent') return head.includes('"request":{"url":"data:');
  return method === 'Network.responseReceived' && head.includes('"response":{"url":"data:');
}

/** The events that Playwright or our code uses. Console, exception, log and WebSocket events are not among them. */
const USED_EVENTS = new Set([
  'Browser.downloadProgress',
  'Browser.downloadWillBegin',
  'DOM.setChildNodes',
  'Fetch.authRequired',
  'Fetch.requestPaused',
  'Debugger.paused',
  'Inspector.targetCrashed',
  'Inspector.targetReloadedAfterCrash',
  'Inspector.workerScriptLoaded',
  'Network.loadingFailed',
  'Network.loadingFinished',
  'Network.requestServedFromCache',
  'Network.requestWillBeSent',
  'Network.responseReceived',
  'Network.webSocketClosed',
  'Network.webSocketCreated',
  'Page.domContentEventFired',
  'Page.fileChooserOpened',
  'Page.frameAttached',
  'Page.frameDetached',
  'Page.frameNavigated',
  'Page.frameRequestedNavigation',
  'Page.frameStoppedLoading',
  'Page.javascriptDialogClosed',
  'Page.javascriptDialogOpening',
  'Page.lifecycleEvent',
  'Page.loadEventFired',
  'Page.navigatedWithinDocument',
  'Page.windowOpen',
  'Runtime.bindingCalled',
  'Runtime.executionContextCreated',
  'Runtime.executionContextDestroyed',
  'Runtime.executionContextsCleared',
  'Target.attachedToTarget',
  'Target.detachedFromTarget',
  'Target.receivedMessageFromTarget',
]);
