import type { ErrorCode } from '../../contract/capture-error.js';

export interface ErrorAdvice {
  /** Statuses with which it answers a request, the table's first. */
  statuses: string;
  retriable: string;
  meaning: string;
  advice: string;
}

/** What the docs page says under each code: `docs_url` of an error points there (decisions.md, Error codes). */
export const ERROR_REFERENCE: Record<ErrorCode, ErrorAdvice> = {
  invalid_request: {
    statuses: '400, 404, 405, 408, 409, 410, 416, 428, 431',
    retriable: 'no',
    meaning:
      'The request cannot be understood or must not be served: a field out of its bounds or unknown, invalid JSON, a body that is too large or nested too deeply, an unknown path or job, a destination that is not public, a CSS selector or script that the browser rejects.',
    advice:
      'Read details.issues: it names every field with a problem and what is allowed. With details.reason "blocked_destination" the target is a private address: see "Capturing localhost or an intranet" below. A redelivery that is refused has details.reason delivery_unavailable, delivery_pending or generation_changed.',
  },
  unsupported_option: {
    statuses: '400',
    retriable: 'no',
    meaning: 'Options that exclude each other (format pdf with selector), or an option that this deployment has switched off.',
    advice: 'Leave one of the options out.',
  },
  unauthorized: {
    statuses: '401',
    retriable: 'no',
    meaning: 'The Authorization header is missing or malformed, or its key is unknown or revoked.',
    advice: 'Send "Authorization: Bearer sf_live_…". Keys are made with "stillframe keys create --label NAME".',
  },
  forbidden: {
    statuses: '403',
    retriable: 'no',
    meaning: 'The key is good but lacks the scope that the endpoint needs (screenshot:write or jobs:read).',
    advice: 'Use a key with that scope: "stillframe keys create --label NAME --scope screenshot:write --scope jobs:read".',
  },
  idempotency_conflict: {
    statuses: '409',
    retriable: 'no',
    meaning: 'The Idempotency-Key was used before, with another API key of the account or for a request that means something else.',
    advice: 'Use a new key for a new request. To follow the first one, read GET /v1/requests/{key} with the API key that submitted it.',
  },
  quota_exceeded: {
    statuses: '429',
    retriable: 'no',
    meaning: "The account's monthly credits do not suffice for this capture.",
    advice:
      'details tells quota, used, reserved and resets_at. An operator changes the quota with "stillframe accounts quota NAME CREDITS".',
  },
  rate_limited: {
    statuses: '429',
    retriable: 'yes',
    meaning: 'The API key sends submissions or look-ups too fast, or an address had too many failed authentications.',
    advice: 'Wait for the seconds of the Retry-After header. The RateLimit header of every answer tells what is left.',
  },
  blocked_by_target: {
    statuses: '451',
    retriable: 'no',
    meaning: 'The target refuses the visitor: it answered 401, 403, 407, 429 or 451, or showed a bot wall or CAPTCHA.',
    advice:
      'details.status and details.vendor tell which. Where you own the target, let the capture in with a header or cookie in headers.',
  },
  target_error: {
    statuses: '502',
    retriable: 'yes when the target answered 5xx, else no',
    meaning: 'The target answered with an error page (details.status).',
    advice: 'Check the address. Retry later when error.retriable says so.',
  },
  navigation_failed: {
    statuses: '502',
    retriable: 'yes for transport errors, else no',
    meaning:
      'The page could not be opened: its name has no public address, nothing answers, TLS fails, it redirects without end or to a place that is not public, or it is a download, a type that is no page, XML that does not parse or an image that cannot be decoded.',
    advice:
      'details.net_error holds the browser\'s own name of the failure, details.content_type an unsupported type, details.parse_error what is wrong with XML. For a host on your own machine or network see "Capturing localhost or an intranet" below.',
  },
  render_incomplete: {
    statuses: '502',
    retriable: 'yes',
    meaning: 'A check that the request asked for failed: fail_if_…, min_capture_…, or the selector never became visible.',
    advice: 'details says which check and what was seen. Give the page more time with wait_for_selector, wait_for_content or delay.',
  },
  egress_mismatch: {
    statuses: '502',
    retriable: 'no',
    meaning: 'The capture would have left from another country than the requested region (details.expected, details.observed).',
    advice: 'Use a proxy in that country, or verify_egress: false when only locale and timezone matter.',
  },
  egress_unavailable: {
    statuses: '503',
    retriable: 'yes',
    meaning: "The caller's proxy could not be reached or refused, or the country of egress could not be found out.",
    advice: 'Check proxy.server and its credentials; retry later.',
  },
  render_timeout: {
    statuses: '504',
    retriable: 'yes',
    meaning: 'Navigation, wait_until or wait_for_selector was not reached within timeout.',
    advice: 'The message names what was still pending, and the option that would not have waited for it. Raise timeout (up to 60000 ms).',
  },
  render_crashed: {
    statuses: '500',
    retriable: 'yes',
    meaning: 'The browser or the page died, twice.',
    advice:
      'The page probably needs more memory than there is: lower deviceScaleFactor or the page height, or retry when less is going on.',
  },
  internal_error: {
    statuses: '500, 503',
    retriable: 'yes',
    meaning: 'Something is wrong on this side; with 503 the server is going down, has no browser, or has too much waiting.',
    advice: "Wait for the seconds of the Retry-After header and retry. An operator finds the cause in the server's log by request_id.",
  },
};
