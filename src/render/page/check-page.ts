/**
 * The checks that a page must pass: that the network has answered with a page, that no bot wall replaces it, that it shows
 * something, and that it has what the request expects. `picture/check-picture.ts` checks the pictures.
 */

import { ALLOW_OWN_NETWORK, CaptureError, notPublic } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { PageFacts } from '../../contract/page-facts.js';
import { readUrl } from '../../contract/read-url.js';
import { chromiumNetError } from '../../egress/dial.js';
import type { CaptureProxy, Failure, Refusal } from '../../egress/egress.js';
import { sharp } from '../../sharp.js';
import { monotonicNow, TIMED_OUT, timeLimit } from '../deadlines.js';
import { WHITE_MIN } from '../encode/encode.js';
import type { Sight } from '../in-page/blank.js';
import type { MissingFonts } from '../in-page/fonts.js';
import { readConsoleErrors } from './console-errors.js';
import { type DocumentState, type FailedRequest, type OpenPage, placeOf, QUIET_MS } from './open-page.js';
import { plainUrl } from './request-log.js';
import { WALL_SIGNS, type WallSigns } from './wall-signs.js';

const ACCEPT_CERTIFICATE =
  'Set `ignore_https_errors` to accept it; on a server, STILLFRAME_ALLOW_INSECURE_TLS must allow that.';

/** The proxy's records that a verdict is based on. */
type ProxyRecord = Pick<CaptureProxy, 'refusals' | 'proxyFailure' | 'failures'>;

/** Statuses with which a main response refuses the visitor (decisions.md, Error codes). */
const REFUSING_STATUSES = new Set([401, 403, 407, 429, 451]);

const CAPTURABLE_TYPES =
  /^(text\/(?!event-stream)|image\/|application\/(xhtml\+xml|xml|json|ld\+json|javascript|ecmascript|x-javascript|manifest\+json)$|[^/]+\/[^;]+\+(xml|json)$|$)/;

/** Errors worth a second attempt, because the connection failed, not the response. */
const TRANSPORT_ERRORS =
  /^ERR_(CONNECTION_|EMPTY_RESPONSE|TIMED_OUT|ADDRESS_|INTERNET_DISCONNECTED|NETWORK_(CHANGED|IO_SUSPENDED|ACCESS_DENIED)|SOCKET_|TUNNEL_|HTTP2_|QUIC_|CONTENT_LENGTH_MISMATCH|INCOMPLETE_CHUNKED|PROXY_CONNECTION_FAILED|FAILED$|INSUFFICIENT_RESOURCES|SOCKS_)/;

/** Errors of Chromium with their meanings; the first that matches applies. */
const MEANINGS: [RegExp, string][] = [
  [/^ERR_TOO_MANY_REDIRECTS/, 'it redirects too many times'],
  [/^ERR_CERT_/, 'its TLS certificate is not valid'],
  [/^ERR_SSL_PROTOCOL_ERROR/, 'it does not speak TLS on this port, and may need http://'],
  [/^ERR_(SSL_|BAD_SSL)/, 'the TLS handshake with it failed'],
  [
    /^ERR_(UNSAFE_REDIRECT|UNKNOWN_URL_SCHEME|DISALLOWED_URL_SCHEME|UNSAFE_PORT)/,
    'it leads to an address that is not captured',
  ],
  [/TIMED_OUT/, 'the connection timed out'],
  [/REFUSED/, 'the connection was refused'],
  [/EMPTY_RESPONSE|RESET|CLOSED|ABORTED|MISMATCH|INCOMPLETE/, 'the connection was interrupted'],
  [/DECODING/, 'its content encoding is broken'],
  [/^/, 'the connection failed'],
];

/**
 * Checks that the main frame shows a document, as reported by network and browser, never by the page's content.
 * @throws CaptureError navigation_failed, egress_unavailable
 */
export function judgeDocument(document: DocumentState, captureProxy: ProxyRecord): void {
  const { unreachableUrl, lead, failure } = document;
  if (unreachableUrl !== null)
    throw failedNavigation({ url: unreachableUrl, lead, error: failure ?? 'net::ERR_FAILED' }, captureProxy);
  if (failure !== null) throw failedNavigation({ url: document.url, lead: null, error: failure }, captureProxy);
  if (!/^(https?|blob|data):/.test(document.url)) throw nothingShown();
}

/**
 * Checks that the document has a supported type.
 * @throws CaptureError navigation_failed
 */
export function judgeContent({ response, mimeType }: DocumentState): void {
  const { status = 0, headers = {} } = response ?? {};
  if (status === 204 || status === 205) throw nothingShown(status);
  if (!CAPTURABLE_TYPES.test(mimeType.toLowerCase())) throw notAPage(mimeType);
  const type = typeOf(headers);
  if (/^(application\/pdf|video\/|audio\/)/.test(type)) throw notAPage(type);
}

/** The error for a navigation without a document, based on the proxy's records. */
export function failedNavigation(
  { url, lead, error }: NonNullable<OpenPage['main']['lastFailure']>,
  captureProxy: ProxyRecord,
): CaptureError {
  const { proxyFailure, refusals, failures } = captureProxy;
  if (proxyFailure !== null) return proxyUnavailable(proxyFailure);
  // The proxy has cut all connections since the limit was exceeded.
  if (refusals.some(({ reason }) => reason === 'over_limit'))
    return navigationFailed('The page transfers more data than this service allows for one capture.');
  // Chromium accepts hosts that URL parsers reject, such as `a b`; the proxy refuses them.
  const target = readUrl(url);
  const refusal = target === null ? null : lastFor(refusals, target);
  if (target === null || refusal !== null || error.includes('ERR_NAME_NOT_RESOLVED'))
    return unresolved({ url, lead }, refusal);
  const failure = lastFor(failures, target);
  if (failure?.code === 'PROXY_REFUSED') return proxyUnavailable('it refused the target');
  const name = failure === null ? error.replace(/^net::/, '') : chromiumNetError(failure.code);
  if (name === 'ERR_UNEXPECTED_PROXY_AUTH') return blockedByTarget(407, null);
  const meaning = MEANINGS.find(([pattern]) => pattern.test(name))?.[1];
  const subject = lead === null ? 'The target' : `${lead} to ${placeOf(url)}, which`;
  const way = name.startsWith('ERR_CERT_') ? ` ${ACCEPT_CERTIFICATE}` : '';
  const message = `${subject} could not be loaded: ${meaning} (${name}).${way}`;
  return navigationFailed(message, { retriable: TRANSPORT_ERRORS.test(name), details: { net_error: name } });
}

/** The error for a main response with a status of 400 or more. */
export function refusedBy(status: number, vendor: string | null): CaptureError {
  if (vendor !== null || REFUSING_STATUSES.has(status)) return blockedByTarget(status, vendor);
  return new CaptureError({
    code: 'target_error',
    message: `The target answered with HTTP status ${status}.`,
    retriable: status >= 500,
    details: { status },
  });
}

/** The error for a target that refuses the visitor. */
function blockedByTarget(status: number | null, vendor: string | null): CaptureError {
  const by = vendor === null ? '' : ` (${vendor})`;
  const response =
    status === null || status < 400
      ? 'shows a bot check instead of the page'
      : `blocks the visitor with HTTP status ${status}`;
  return new CaptureError({
    code: 'blocked_by_target',
    message: `The target ${response}${by}.`,
    details: { ...(status === null ? {} : { status }), ...(vendor === null ? {} : { vendor }) },
  });
}

/** The error for a target that is a download or of a type that is not captured. */
export function notAPage(contentType: string): CaptureError {
  const message = `The target is a file of type ${contentType}, not a page. HTML, images, PDFs, JSON, XML and plain text can be captured.`;
  return navigationFailed(message, { details: { content_type: contentType } });
}

/** The error for a response without content to capture. */
export function nothingShown(status: number | null = null): CaptureError {
  if (status === null) return navigationFailed('The target returned no page.');
  return navigationFailed(`The target answered with HTTP status ${status}, which has no content.`, {
    details: { status },
  });
}

/**
 * The error for a caller's proxy that does not work.
 * @param reason for the log
 */
export function proxyUnavailable(reason: string): CaptureError {
  return new CaptureError({
    code: 'egress_unavailable',
    message:
      'The proxy of the request (`proxy.server`) could not be reached, refused the target, or did not answer as a proxy.',
    cause: new Error(reason),
  });
}

/** The media type of a response in lower case, without parameters; empty if there is none. */
export function typeOf(headers: Record<string, string>): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function navigationFailed(
  message: string,
  more: { retriable?: boolean; details?: Record<string, unknown>; cause?: Error } = {},
): CaptureError {
  return new CaptureError({ code: 'navigation_failed', message, retriable: false, ...more });
}

/** Tells no more of the target of a redirect than the redirect itself does. */
function unresolved({ url, lead }: { url: string; lead: string | null }, refusal: Refusal | null): CaptureError {
  const message = notPublic(hostOf(url));
  return navigationFailed(lead === null ? message : `${lead} to ${placeOf(url)}, which is refused. ${message}`, {
    details: { net_error: 'ERR_NAME_NOT_RESOLVED', hint: ALLOW_OWN_NETWORK },
    ...(refusal === null ? {} : { cause: new Error(`${refusal.host}:${refusal.port} was refused: ${refusal.reason}`) }),
  });
}

/** The host of a URL, also of one that only Chromium can read. */
function hostOf(url: string): string {
  return readUrl(url)?.hostname ?? /^[^:]*:[/\\]*([^/\\?#]{0,100})/.exec(url)?.[1] ?? '';
}

/** The newest entry about a URL's host and port. */
function lastFor<T extends Refusal | Failure>(entries: readonly T[], target: URL): T | null {
  const port = target.port === '' ? (target.protocol === 'https:' ? 443 : 80) : Number(target.port);
  return (
    entries.findLast(
      (entry) => entry.port === port && normalizedHost(entry.host) === normalizedHost(target.hostname),
    ) ?? null
  );
}

function normalizedHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}

const XML_TYPES = /^(text\/xml|application\/xml|[^/]+\/[^;]+\+xml)$/i;
const IMAGE_TYPES = /^image\//i;
/** The minimum time for a page's response, whatever is left of the budget, which suffices for any responsive page. */
const ANSWER_MIN_MS = 1_500;
/** The time past the budget that all checks together may take. */
const GRACE_MS = 3_000;
/** More text than any marker needs. The rest of a long page is not read. */
const TEXT_LIMITS = { maxChars: 2_000_000, titleMaxChars: 10_000 };

/**
 * Checks that a page can be captured (no bot wall, no browser error page, not blank, not permanently busy), and performs the
 * request's own checks.
 * @throws CaptureError blocked_by_target, navigation_failed, render_incomplete, render_timeout; DocumentReplaced
 */
export async function checkPage(page: OpenPage, document: DocumentState, options: CaptureOptions): Promise<void> {
  const { deadlines } = page;
  const checked = await deadlines.within(
    checkAll(page, document, options),
    deadlines.budgetEndsAt + GRACE_MS - monotonicNow(),
  );
  if (checked === TIMED_OUT) throw tooBusy(deadlines.timeout);
}

async function checkAll(page: OpenPage, document: DocumentState, options: CaptureOptions): Promise<void> {
  const { world, deadlines, tolerance } = page;
  const ms = Math.max(ANSWER_MIN_MS, deadlines.leftMs());
  const answer: Ask = (question) => deadlines.within(question, ms);
  const answerInTime = async <T>(question: Promise<T>): Promise<T> => {
    const answered = await answer(question);
    if (answered === TIMED_OUT) throw tooBusy(deadlines.timeout);
    return answered;
  };
  const tolerated = (check: Promise<void>): Promise<void> => check.catch((error: unknown) => tolerance.orThrow(error));
  const isView = options.selector !== null || !options.fullPage;
  const mayBeCovered = !isView || (options.selector === null && options.format !== 'pdf');
  const refuseWall = async () => {
    const vendor = await answerInTime(recognizeWall(world, document));
    if (vendor !== null) throw blockedByTarget(document.response?.status ?? null, vendor);
  };
  await Promise.all([
    // Restores our style sheets, which the page may have replaced, so that it is checked in the state that is captured.
    answer(world.call('edits.apply', true)),
    tolerated(refuseWall()),
    refuseUnreadable(world, document.mimeType, answer),
    // Moving content may begin with a blank view.
    options.animate === null ? tolerated(refuseBlank(page, { ms, mayBeCovered })) : undefined,
  ]);
  if (options.failIfIncomplete) await tolerated(refuseIncomplete(world, answer));
  if (options.failIfFontMissing) await tolerated(refuseMissingFonts(world, answer));
  await tolerated(refuseFailedResources(page, options));
  if (options.failIfConsoleErrors) {
    const errors = await readConsoleErrors(page, ms);
    if (errors === null) throw tooBusy(deadlines.timeout);
    await tolerated(refuseConsoleErrors(errors));
  }
  const markers = [...options.failIfContentMissing, ...options.failIfContentContains];
  if (markers.length === 0) return;
  // The page's own process compares the text, so that a long one delays no other capture.
  const found = await answerInTime(world.call('text.shows', markers, TEXT_LIMITS));
  await tolerated(refuseText(options, found));
}

type Ask = <T>(question: Promise<T>) => Promise<T | typeof TIMED_OUT>;

/**
 * Fails invalid XML, which the browser shows as an error page, and images that cannot be decoded (decisions.md, Capture
 * semantics). Does not check HTML.
 * @throws CaptureError navigation_failed with `details.parse_error` for XML, DocumentReplaced
 */
async function refuseUnreadable(world: OpenPage['world'], type: string, answer: Ask): Promise<void> {
  if (XML_TYPES.test(type)) {
    const error = await answer(world.call('documents.parseError'));
    if (typeof error === 'string')
      throw unreadable(`XML that does not parse: ${error}`, { content_type: type, parse_error: error });
  } else if (IMAGE_TYPES.test(type) && (await answer(world.call('documents.isBrokenImage'))) === true) {
    throw unreadable(`an image (${type}) that cannot be decoded.`, { content_type: type });
  }
}

function unreadable(problem: string, details: Record<string, string>): CaptureError {
  return navigationFailed(`The target is ${problem}`, { details });
}

function tooBusy(timeout: number): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `The page's scripts kept it too busy to be captured within \`timeout\` (${timeout} ms).`,
    details: { waited_for: 'page' },
  });
}

/** Implements `fail_if_incomplete`: the detector of `wait_for_content`, plus images in the viewport and fonts that are pending. */
async function refuseIncomplete(world: OpenPage['world'], answer: Ask): Promise<void> {
  const look = await answer(world.call('content.inspect'));
  const unfinished = look === TIMED_OUT ? 'a page too busy to answer' : (look.seen ?? look.unfinished);
  if (unfinished !== null) throw incomplete('fail_if_incomplete', `the page shows ${unfinished}`, { seen: unfinished });
}

/** The maximum number of failed requests that an error names. */
const FAILED_NAMED_MAX = 20;

/** Implements `fail_if_resources_fail`. @throws CaptureError render_incomplete that lists what failed */
async function refuseFailedResources(
  { network }: OpenPage,
  { failIfResourcesFail: patterns }: CaptureOptions,
): Promise<void> {
  if (patterns === false) return;
  const { kinds, hosts } = patterns === true ? {} : patterns;
  const isCovered = ({ kind, url }: FailedRequest) => {
    if (kinds !== undefined && !(kinds as string[]).includes(kind)) return false;
    const host = readUrl(url)?.hostname ?? '';
    return hosts === undefined || hosts.some((name) => host === name || host.endsWith(`.${name}`));
  };
  const found = network.failures().filter(isCovered);
  const [first] = found;
  if (first === undefined) return;
  const failed = found.slice(0, FAILED_NAMED_MAX).map(({ kind, url, reason: why }) => ({
    kind,
    url: plainUrl(url),
    ...(typeof why === 'number' ? { status: why } : { error: why }),
  }));
  const more = found.length === 1 ? '' : ` and ${found.length - 1} more`;
  const failure =
    typeof first.reason === 'number' ? `was answered with HTTP status ${first.reason}` : `failed (${first.reason})`;
  throw incomplete('fail_if_resources_fail', `${first.kind} ${failed[0]?.url} ${failure}${more}`, {
    failed,
    count: found.length,
  });
}

/** Implements `fail_if_console_errors`. @throws CaptureError render_incomplete that lists the errors */
async function refuseConsoleErrors(errors: PageFacts['console_errors']): Promise<void> {
  const [first] = errors;
  if (first === undefined) return;
  const more = errors.length === 1 ? '' : ` (and ${errors.length - 1} more)`;
  const source = first.uncaught === true ? 'a script of the page failed with' : 'the page logged the error';
  throw incomplete('fail_if_console_errors', `${source} "${first.text}"${more}`, { errors });
}

/** Implements `fail_if_font_missing`. */
async function refuseMissingFonts(world: OpenPage['world'], answer: Ask): Promise<void> {
  const found = await answer(world.call('fonts.missing'));
  const sentence = found === TIMED_OUT ? null : describeMissingFonts(found);
  if (found === TIMED_OUT || sentence === null) return;
  const { families, boxes } = found;
  throw incomplete('fail_if_font_missing', sentence, {
    missing: families
      .slice(0, FONTS_NAMED_MAX)
      .map(({ family, share }) => ({ family, share: Number(share.toFixed(3)) })),
    characters: boxes.map(codeOf),
  });
}

const FONTS_NAMED_MAX = 5;

/** A clause about missing fonts; null if there are none. */
export function describeMissingFonts({ families, boxes }: MissingFonts): string | null {
  const named = families.slice(0, FONTS_NAMED_MAX).map(({ family, share, isDeclared }) => {
    const percent = share < 0.01 ? 'less than 1 %' : `${Math.round(share * 100)} %`;
    return `"${family}" (${percent} of the text), which ${isDeclared ? 'could not be loaded' : 'is not installed'}`;
  });
  const clauses = [
    ...(named.length === 0 ? [] : [`text is not shown in the font that the page asks for: ${named.join(', ')}`]),
    ...(boxes.length === 0 ? [] : [`characters that no font has are shown as boxes: ${boxes.map(codeOf).join(', ')}`]),
  ];
  return clauses.length === 0 ? null : clauses.join('; ');
}

function codeOf(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/**
 * Implements `fail_if_content_missing` and `fail_if_content_contains`, which apply to title and visible text.
 * @param shown whether the page shows each of both lists' markers
 * @throws CaptureError render_incomplete that lists every missing or unwanted marker
 */
async function refuseText(
  { failIfContentMissing, failIfContentContains }: CaptureOptions,
  shown: boolean[],
): Promise<void> {
  const quoted = (markers: string[]) => markers.map((marker) => `"${marker}"`).join(', ');
  const missing = failIfContentMissing.filter((_, index) => shown[index] !== true);
  if (missing.length > 0)
    throw incomplete('fail_if_content_missing', `the page does not show ${quoted(missing)}`, { missing });
  const found = failIfContentContains.filter((_, index) => shown[failIfContentMissing.length + index] === true);
  if (found.length > 0) throw incomplete('fail_if_content_contains', `the page shows ${quoted(found)}`, { found });
}

/** The limits of a page with hardly any content of its own. */
const BARE = { maxChars: 1_200, maxLinks: 8 };
const TEXT_READ_CHARS = 4_000;
/** Statuses with which a vendor's own servers refuse the visitor. */
const REFUSALS = [401, 403, 405, 429];
/** Only LinkedIn answers with this status, always to refuse. */
const LINKEDIN_STATUS = 999;

/**
 * The vendor of a bot wall or CAPTCHA page that replaces the page, or `unknown`; null for ordinary pages, including those
 * with a CAPTCHA in a form.
 * @throws DocumentReplaced
 */
export async function recognizeWall(
  world: OpenPage['world'],
  { response, url }: DocumentState,
): Promise<string | null> {
  const { status = 0, headers = {} } = response ?? {};
  if (status === LINKEDIN_STATUS) return 'linkedin';
  const selectors = WALL_SIGNS.flatMap(({ wall = [], part = [], captcha = [] }) => [wall, part, captcha].flat());
  const { title, text, bare, found } = await world.call('documents.inspectWall', {
    selectors,
    maxChars: TEXT_READ_CHARS,
    bareness: BARE,
  });
  const rendered = new Map(found);
  const sentence = `${title}\n${text}`;
  // A challenge may have a success status that ordinary pages do not have.
  const refuses = status === 202 || status >= 400;
  const hasHeader = (sign = '') => {
    const [name = '', value = ''] = sign.split(': ');
    return headers[name]?.toLowerCase().includes(value) === true;
  };
  const isWall = (signs: WallSigns): boolean => {
    if (hasHeader(signs.wallHeader) && (refuses || bare)) return true;
    if (hasHeader(signs.siteHeader) && REFUSALS.includes(status)) return true;
    if (!bare) return false;
    if (rendered.has(signs.wall ?? '')) return true;
    if (signs.path !== undefined && readUrl(url)?.pathname.includes(signs.path)) return true;
    const hasPart = rendered.has(signs.part ?? '');
    if (hasPart && text === '') return true;
    if ((hasPart || rendered.get(signs.captcha ?? '') === true) && signs.question?.test(sentence)) return true;
    return (refuses || hasPart || hasHeader(signs.siteHeader)) && signs.words?.test(sentence) === true;
  };
  return WALL_SIGNS.find(isWall)?.vendor ?? null;
}

const PIXEL_CHECK_MS = 3_000;
/** A small picture of the viewport is enough to find out whether it shows anything. */
const PIXEL_CHECK_WIDTH_PX = 640;
/** The red, green and blue values of the default background of `color-scheme: dark`. */
const DARK_SHADE = 18;
/** The tolerance of red, green and blue within which two colors are equal. */
const SAME_SHADE = 1;
/** Grays like these are backgrounds of applications before they show anything. */
const GRAY_MAX_DIFFERENCE = 24;
const PALE_MIN = 220;
const DARK_MAX = 60;

/** The time to wait for content on a page that shows nothing. */
const WAIT_MAX_MS = 5_000;
/** The time between two checks of a page whose network is idle. */
const CHECK_EVERY_MS = 250;

/**
 * Fails a blank page, after waiting while the network is busy or a script may wait for a timer. Pixels decide only if the
 * document looks empty or cannot tell (frames, video). A white overlay may disappear, and a page that hides itself is shown.
 * @param options.ms time limit of each check
 * @param options.mayBeCovered whether a remaining overlay is accepted, because the picture shows more than the viewport, or is
 * checked itself (`refuseWhite`)
 * @throws CaptureError render_incomplete with `details.check: "blank"`, DocumentReplaced
 */
async function refuseBlank(page: OpenPage, { ms, mayBeCovered }: { ms: number; mayBeCovered: boolean }): Promise<void> {
  const { network, deadlines, world } = page;
  const patienceMs = Math.min(deadlines.leftMs(), WAIT_MAX_MS);
  const patience = timeLimit(patienceMs);
  let isFinal = false;
  for (;;) {
    const sight = await inspectView(page, ms);
    if (sight === 'something') return;
    if (isFinal || patience.aborted) {
      if (sight === 'colored' || (sight === 'covered' && mayBeCovered)) return;
      const isRevealed = await deadlines.within(world.call('blank.showHiddenPage'), ms);
      if (isRevealed !== true) throw blank('The page is blank: it shows nothing but its background.', 'nothing');
    }
    await deadlines.within(network.quiet(QUIET_MS, patience), patienceMs);
    isFinal = network.isIdle() && (await deadlines.within(world.call('readiness.runsScript'), ms)) === false;
    if (!isFinal) await deadlines.sleep(CHECK_EVERY_MS);
  }
}

/**
 * A view in one background color shows nothing, unless that color is far from white and black (`colored`) and no
 * application root is empty.
 */
async function inspectView({ session, world, deadlines }: OpenPage, ms: number): Promise<Sight | 'colored'> {
  const look = await deadlines.within(world.call('blank.inspectView'), ms);
  if (look === TIMED_OUT || look.sight === 'something') return 'something';
  const color = await deadlines.within(colorOfView(session), Math.min(ms, PIXEL_CHECK_MS));
  if (color === TIMED_OUT || color === null) return 'something';
  const [least, most] = [Math.min(...color), Math.max(...color)];
  const isDefault = least >= WHITE_MIN || (least === DARK_SHADE && most === DARK_SHADE);
  if (isDefault) return look.sight;
  const isSame = (backdrop: number[]) =>
    color.every((value, at) => Math.abs(value - (backdrop[at] ?? 0)) <= SAME_SHADE);
  if (!look.backdrops.some(isSame)) return 'something';
  const isPaleOrDark = most - least <= GRAY_MAX_DIFFERENCE && (least >= PALE_MIN || most <= DARK_MAX);
  return look.sight === 'covered' || look.hasEmptyRoot || isPaleOrDark ? look.sight : 'colored';
}

/** Red, green and blue of a viewport that shows only one color; null for any other. */
async function colorOfView({ cdp }: OpenPage['session']): Promise<number[] | null> {
  // A clip is relative to the document, which may be scrolled.
  const { cssVisualViewport: view } = await cdp.send('Page.getLayoutMetrics');
  const scale = Math.min(1, PIXEL_CHECK_WIDTH_PX / view.clientWidth);
  const clip = { x: view.pageX, y: view.pageY, width: view.clientWidth, height: view.clientHeight, scale };
  const { data } = await cdp.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true, clip });
  const { channels } = await sharp(Buffer.from(data, 'base64')).stats();
  const colors = channels.slice(0, 3);
  return colors.some(({ min, max }) => min !== max) ? null : colors.map(({ min }) => min);
}

/** The error for a page, or a picture, that shows nothing. */
export function blank(message: string, kind: 'nothing' | 'white'): CaptureError {
  return new CaptureError({ code: 'render_incomplete', message, details: { check: 'blank', seen: kind } });
}

/** The error for a check of the request that does not hold. */
export function incomplete(check: string, problem: string, details: Record<string, unknown>): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: `\`${check}\`: ${problem}.`,
    details: { check, ...details },
  });
}
