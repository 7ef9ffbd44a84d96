import { ALLOW_OWN_NETWORK, CaptureError } from '../../contract/capture-error.js';
import { readUrl } from '../../contract/read-url.js';
import { chromiumNetError } from '../../egress/dial.js';
import type { CaptureProxy, Failure, Refusal } from '../../egress/egress.js';
import type { DocumentState } from './main-document.js';

/** The same message covers a missing name and one with a special-purpose address (decisions.md, Destinations). */
const NOT_PUBLIC_MESSAGE = 'The host name could not be resolved to a public address.';

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
  [/^ERR_(CERT_|SSL_|BAD_SSL)/, 'its TLS certificate or handshake is not valid'],
  [/^ERR_(UNSAFE_REDIRECT|UNKNOWN_URL_SCHEME|DISALLOWED_URL_SCHEME|UNSAFE_PORT)/, 'it leads to an address that is not captured'],
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
export function judgeDocument(shown: DocumentState, captureProxy: ProxyRecord): void {
  if (shown.unreachableUrl !== null) throw failedNavigation(shown.unreachableUrl, shown.failure ?? 'net::ERR_FAILED', captureProxy);
  if (shown.failure !== null) throw failedNavigation(shown.url, shown.failure, captureProxy);
  if (!/^(https?|blob|data):/.test(shown.url)) throw nothingShown();
}

/**
 * Checks that the document has a supported type.
 * @throws CaptureError navigation_failed
 */
export function judgeContent(shown: DocumentState): void {
  if (shown.response?.status === 204 || shown.response?.status === 205) throw nothingShown(shown.response.status);
  const type = typeOf(shown.response?.headers ?? {});
  if (!CAPTURABLE_TYPES.test(shown.mimeType.toLowerCase())) throw notAPage(shown.mimeType);
  if (/^(application\/pdf|video\/|audio\/)/.test(type)) throw notAPage(type);
}

/**
 * The error for a navigation without a document, based on the proxy's records.
 * @param error Chromium's `net::ERR_…`
 */
export function failedNavigation(url: string, error: string, captureProxy: ProxyRecord): CaptureError {
  const { proxyFailure, refusals, failures } = captureProxy;
  if (proxyFailure !== null) return proxyUnavailable(proxyFailure);
  // The proxy has cut all connections since the limit was exceeded.
  if (refusals.some(({ reason }) => reason === 'over_limit'))
    return navigationFailed('The page transfers more data than this service allows for one capture.');
  // Chromium accepts hosts that URL parsers reject, such as `a b`; the proxy refuses them.
  const target = readUrl(url);
  if (target === null) return notPublic(null);
  const refusal = lastFor(refusals, target);
  if (refusal !== null || error.includes('ERR_NAME_NOT_RESOLVED')) return notPublic(refusal);
  const failure = lastFor(failures, target);
  if (failure?.code === 'PROXY_REFUSED') return proxyUnavailable('it refused the target');
  const name = failure === null ? error.replace(/^net::/, '') : chromiumNetError(failure.code);
  if (name === 'ERR_UNEXPECTED_PROXY_AUTH') return blockedByTarget(407, null);
  const meaning = MEANINGS.find(([pattern]) => pattern.test(name))?.[1];
  const message = `The target could not be loaded: ${meaning} (${name}).`;
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
export function blockedByTarget(status: number | null, vendor: string | null): CaptureError {
  const by = vendor === null ? '' : ` (${vendor})`;
  const how = status === null || status < 400 ? 'shows a bot check instead of the page' : `blocks the visitor with HTTP status ${status}`;
  return new CaptureError({
    code: 'blocked_by_target',
    message: `The target ${how}${by}.`,
    details: { ...(status === null ? {} : { status }), ...(vendor === null ? {} : { vendor }) },
  });
}

/** The error for a target that is a download or of a type that is not captured. */
export function notAPage(contentType: string): CaptureError {
  const message = `The target is a file of type ${contentType}, not a page. HTML, images, JSON, XML and plain text can be captured.`;
  return navigationFailed(message, { details: { content_type: contentType } });
}

/** The error for a response without content to capture. */
export function nothingShown(status: number | null = null): CaptureError {
  if (status === null) return navigationFailed('The target returned no page.');
  return navigationFailed(`The target answered with HTTP status ${status}, which has no content.`, { details: { status } });
}

/**
 * The error for a caller's proxy that does not work.
 * @param reason for the log
 */
export function proxyUnavailable(reason: string): CaptureError {
  return new CaptureError({
    code: 'egress_unavailable',
    message: 'The proxy of the request (`proxy.server`) could not be reached, refused the target, or did not answer as a proxy.',
    cause: new Error(reason),
  });
}

/** The media type of a response in lower case, without parameters; empty if there is none. */
export function typeOf(headers: Record<string, string>): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

interface NavigationFailure {
  retriable?: boolean;
  details?: Record<string, string | number>;
  cause?: Error;
}

function navigationFailed(message: string, { retriable = false, ...more }: NavigationFailure = {}): CaptureError {
  return new CaptureError({ code: 'navigation_failed', message, retriable, ...more });
}

function notPublic(refusal: Refusal | null): CaptureError {
  return navigationFailed(NOT_PUBLIC_MESSAGE, {
    details: { net_error: 'ERR_NAME_NOT_RESOLVED', hint: ALLOW_OWN_NETWORK },
    ...(refusal === null ? {} : { cause: new Error(`${refusal.host}:${refusal.port} was refused: ${refusal.reason}`) }),
  });
}

/** The newest entry about a URL's host and port. */
function lastFor<T extends Refusal | Failure>(entries: readonly T[], target: URL): T | null {
  const port = target.port === '' ? (target.protocol === 'https:' ? 443 : 80) : Number(target.port);
  return entries.findLast((entry) => entry.port === port && normalisedHost(entry.host) === normalisedHost(target.hostname)) ?? null;
}

function normalisedHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}
