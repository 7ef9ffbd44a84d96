/** Limits of protocol messages, whose length pages control. */

const KB = 1024;
const MB = KB * KB;
/** Enough bytes for the method, and for the scheme of a request's URL. */
export const HEAD_BYTES = 1_024;

/** Chromium's URLs have at most 2 MB, and an event has two or three. A longer event has large headers, stacks or data: URLs. */
const EVENT_MAX_BYTES = 8 * MB;
/** The limit for base64. The largest viewport at the highest density has 75 million pixels, about 90 MB as a PNG of photographs. */
const PICTURE_MAX_BYTES = 128 * MB;
/** An expression that begins with this runs in the main world, where the page's scripts can forge the answer. */
export const MAIN_WORLD_MARK = '/* stillframe: main world */';
/** The maximum size of an answer from the main world, in bytes of JSON. */
const MAIN_WORLD_ANSWER_MAX_BYTES = 16 * KB;

/** The longest answer is the source of a page: 500,000 characters of up to 6 bytes each. */
const SCRIPT_ANSWER_MAX_BYTES = 4 * MB;
/** A frame tree with long URLs is larger than any answer of a script. */
export const ANSWER_MAX_BYTES = 16 * MB;

/** The limit for a message or exception of a page's console. */
const CONSOLE_EVENT_MAX_BYTES = 64 * KB;

/** The kind of a protocol message, by its first bytes. */
export interface MessageClass {
  /** The id of the command that it answers; null for an event. */
  id: number | null;
  /** Whether it is kept. If not, it is dropped, whatever its length. */
  kept: boolean;
  /** A longer event is dropped; a longer answer becomes an error of its command. */
  maxBytes: number;
  /** Whether it is of a page's console, and thus only for a session that reads that. */
  isConsole?: true;
}

/**
 * Classifies by the prefix that Chromium serializes: no page content precedes the method, and quotes in page content are
 * escaped.
 * @param limitOf returns the maximum size, in bytes, of the answer to a command id
 * @param readsConsole whether anything reads the console of a page
 */
export function classifyMessage(head: string, limitOf: (id: number) => number, readsConsole = false): MessageClass {
  const method = /^\{"method":"([A-Za-z.]+)"/.exec(head)?.[1];
  if (method !== undefined && CONSOLE_EVENTS.has(method))
    return { id: null, kept: readsConsole, maxBytes: CONSOLE_EVENT_MAX_BYTES, isConsole: true };
  if (method !== undefined)
    return { id: null, kept: USED_EVENTS.has(method) && !isOfDataUrl(method, head), maxBytes: EVENT_MAX_BYTES };
  const [, id = '0', isPicture] = /^\{"id":(\d+)(,"result":\{"data":")?/.exec(head) ?? [];
  const maxBytes = limitOf(Number(id));
  return { id: Number(id), kept: true, maxBytes: isPicture ? PICTURE_MAX_BYTES : maxBytes };
}

/** Playwright ignores these requests, whose URL contains the whole image. */
function isOfDataUrl(method: string, head: string): boolean {
  if (method === 'Network.requestWillBeSent') return head.includes('"request":{"url":"data:');
  return method === 'Network.responseReceived' && head.includes('"response":{"url":"data:');
}

/** Events that are kept only while they are read (CdpPipe, `readConsole`). */
const CONSOLE_EVENTS = new Set(['Runtime.consoleAPICalled', 'Runtime.exceptionThrown']);

/** The events that Playwright or our code uses. Log and WebSocket events are not among them. */
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

/** The maximum size, in bytes, of the answer to a command. A longer one becomes an error before it is decoded. */
export function answerLimit({
  method = '',
  params = {},
}: {
  method?: string;
  params?: Record<string, unknown>;
}): number {
  if (!/^Runtime\.(evaluate|callFunctionOn)$/.test(method)) return ANSWER_MAX_BYTES;
  return scriptsOf(params).some((script) => script.startsWith(MAIN_WORLD_MARK))
    ? MAIN_WORLD_ANSWER_MAX_BYTES
    : SCRIPT_ANSWER_MAX_BYTES;
}

/** Playwright passes an expression as an argument to a function of its own. */
function scriptsOf({ expression, arguments: args }: Record<string, unknown>): string[] {
  const values = Array.isArray(args) ? args.map((argument: { value?: unknown }) => argument.value) : [];
  return [expression, ...values].filter((value) => typeof value === 'string');
}

/**
 * The error message of a command whose answer exceeded its limit.
 * @param threw whether the answer reports an exception
 */
export function tooLongMessage(maxBytes: number, threw: boolean): string {
  return `the ${threw ? 'exception' : 'answer'} is longer than ${maxBytes} bytes`;
}

/** Whether a command failed because its answer, or the exception that it reports, exceeded its limit. */
export function isTooLong(error: unknown, kind: 'answer' | 'exception'): boolean {
  return error instanceof Error && error.message.includes(`the ${kind} is longer than `);
}
