/** What is done with one message of the protocol, as its first bytes tell. */
export interface MessageClass {
  name: 'event' | 'answer';
  /** false: dropped, however long it is. */
  kept: boolean;
  /** A longer event is dropped; a longer answer ends the browser, since whoever asked would wait for ever. */
  maxBytes: number;
}

/** Enough for the method, and for what kind of URL a request has. */
export const HEAD_BYTES = 1_024;

const MB = 1024 * 1024;
/** Chromium's URLs have 2 MB at most, and an event names two or three; more is what a page has put into headers, stacks or data: URLs. */
const EVENT_MAX_BYTES = 8 * MB;
/** Our scripts answer with less than 2 MB; a tree of frames with long addresses is longer. */
const ANSWER_MAX_BYTES = 16 * MB;
/** In base64. The largest view at the highest density has 75 million pixels, and as a png of photographs about 90 MB. */
const PICTURE_MAX_BYTES = 128 * MB;

/** By prefix, as Chromium writes: nothing of a page's comes before the method, and quotes of a page's are escaped. */
export function classifyMessage(head: string): MessageClass {
  const method = /^\{"method":"([A-Za-z.]+)"/.exec(head)?.[1];
  if (method !== undefined) return { name: 'event', kept: HEARD.has(method) && !isOfDataUrl(method, head), maxBytes: EVENT_MAX_BYTES };
  const isPicture = /^\{"id":\d+,"result":\{"data":"/.test(head);
  return { name: 'answer', kept: true, maxBytes: isPicture ? PICTURE_MAX_BYTES : ANSWER_MAX_BYTES };
}

/** Playwright ignores these requests, and the whole picture is in their address. */
function isOfDataUrl(method: string, head: string): boolean {
  if (method === 'Network.requestWillBeSent') return head.includes('"request":{"url":"data:');
  return method === 'Network.responseReceived' && head.includes('"response":{"url":"data:');
}

/** What Playwright or a part of ours listens to. Not: console, exceptions, the log, and what passes through WebSockets. */
const HEARD = new Set([
  'Browser.downloadProgress',
  'Browser.downloadWillBegin',
  'DOM.setChildNodes',
  'Fetch.authRequired',
  'Fetch.requestPaused',
  'Inspector.targetCrashed',
  'Inspector.targetReloadedAfterCrash',
  'Inspector.workerScriptLoaded',
  'Network.loadingFailed',
  'Network.loadingFinished',
  'Network.requestServedFromCache',
  'Network.requestWillBeSent',
  'Network.requestWillBeSentExtraInfo',
  'Network.responseReceived',
  'Network.responseReceivedExtraInfo',
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
