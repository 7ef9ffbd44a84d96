import type { ErrorCode } from '../../contract/capture-error.js';

export interface ErrorAdvice {
  /** HTTP statuses, the one of the table first. */
  statuses: string;
  retriable: string;
  meaning: string;
  advice: string;
}

/** The section of each code on the docs page, which `docs_url` of an error points to (decisions.md, Error codes). */
export const ERROR_REFERENCE: Record<ErrorCode, ErrorAdvice> = {
  invalid_request: {
    statuses: '400, 404, 405, 408, 409, 410, 416, 428, 431',
    retriable: 'no',
    meaning:
      'The request is malformed or not permitted: a field that is out of bounds or unknown, invalid JSON, a body that is too large or nested too deeply, an unknown path or job, a destination that is not public, a CSS selector or script that the browser rejects.',
    advice:
      'Read details.issues: it names every field with a problem and what is allowed. With details.reason "blocked_destination" the target is a private address: see "Capture localhost or an intranet" on the page Security; for a webhook or upload, an operator can list its origin in STILLFRAME_WEBHOOK_ALLOW. A redelivery that is refused has details.reason delivery_unavailable, delivery_pending or generation_changed.',
  },
  unsupported_option: {
    statuses: '400',
    retriable: 'no',
    meaning:
      'Options that exclude each other (format pdf with selector), or an option that this deployment has switched off.',
    advice: 'Leave one of the options out.',
  },
  unauthorized: {
    statuses: '401',
    retriable: 'no',
    meaning: 'The Authorization header is missing or malformed, or its key is unknown or revoked.',
    advice: 'Send "Authorization: Bearer sf_live_…". Create a key with "stillframe keys create --label NAME".',
  },
  forbidden: {
    statuses: '403',
    retriable: 'no',
    meaning:
      'The key is valid but lacks the scope that the endpoint needs (screenshot:write, jobs:read, watches:read or watches:write; for signed links also links).',
    advice:
      'Use a key with that scope: "stillframe keys create --label NAME --scope screenshot:write --scope jobs:read".',
  },
  idempotency_conflict: {
    statuses: '409',
    retriable: 'no',
    meaning:
      'The Idempotency-Key has been used before, with another API key of the account or for a different request.',
    advice:
      'Use a new key for a new request. To follow the first one, read GET /v1/requests/{key} with the API key that submitted it.',
  },
  quota_exceeded: {
    statuses: '429',
    retriable: 'no',
    meaning:
      'The account, or the limit of a key for its signed links, does not have enough credits left for this capture in this month.',
    advice:
      'Retry-After has the seconds until the next month. details holds quota, used, reserved and resets_at; for a signed link whose key is over its limit, limit, used and resets_at. An operator changes the quota with "stillframe accounts quota NAME CREDITS", the limit with "stillframe keys links-limit ID CREDITS".',
  },
  rate_limited: {
    statuses: '429',
    retriable: 'yes',
    meaning: 'The API key exceeded its rate limit, or an address had too many failed authentications.',
    advice:
      'Wait for the number of seconds in the Retry-After header. The RateLimit header of every response shows what is left.',
  },
  blocked_by_target: {
    statuses: '451',
    retriable: 'no',
    meaning: 'The target blocks the visitor: it answered 401, 403, 407, 429 or 451, or showed a bot wall or CAPTCHA.',
    advice:
      'See details.status and details.vendor. If you own the target, give captures access with a header or cookie in headers. To capture what it shows, add blocked_by_target to tolerate; an operator sets the default of a server with STILLFRAME_TOLERATE.',
  },
  target_error: {
    statuses: '502',
    retriable: 'yes when the target answered 5xx, else no',
    meaning: 'The target answered with an error page (details.status).',
    advice:
      'Check the address. Retry later if error.retriable is true. To capture the error page, add target_error to tolerate; an operator sets the default of a server with STILLFRAME_TOLERATE.',
  },
  navigation_failed: {
    statuses: '502',
    retriable: 'yes for transport errors, else no',
    meaning:
      'The page could not be opened: its host has no public address or does not respond, TLS fails, it redirects endlessly or to a private address, or it is a download, an unsupported type, malformed XML or an image that cannot be decoded.',
    advice:
      'details.net_error holds the browser\'s name for the failure, details.content_type an unsupported type, details.parse_error the problem with the XML. A message about a redirect names both addresses. ignore_https_errors accepts an invalid certificate where STILLFRAME_ALLOW_INSECURE_TLS allows it. An address without a scheme is opened with https: write http:// for a host without it. For a host on your own machine or network see "Capture localhost or an intranet" on the page Security.',
  },
  render_incomplete: {
    statuses: '502',
    retriable: 'yes',
    meaning:
      'A check that the request asked for failed: fail_if_…, min_capture_…, or the selector never became visible.',
    advice:
      'details names the check and what was found. Give the page more time with wait_for_selector, wait_for_content or delay. To capture a page that is blank, add render_incomplete to tolerate.',
  },
  egress_mismatch: {
    statuses: '502',
    retriable: 'no',
    meaning: 'The egress address is not in the country of the requested region (details.expected, details.observed).',
    advice: 'Use a proxy in that country, or set verify_egress to false if only locale and timezone matter.',
  },
  egress_unavailable: {
    statuses: '503',
    retriable: 'yes',
    meaning:
      "The caller's proxy could not be reached or refused the connection, or the egress country could not be determined.",
    advice: 'Check proxy.server and its credentials; retry later.',
  },
  render_timeout: {
    statuses: '504',
    retriable: 'yes',
    meaning: 'Navigation, wait_until or wait_for_selector was not reached within timeout.',
    advice:
      'The message names what was still pending, and the option that skips this wait. Or raise timeout (up to 60000 ms).',
  },
  render_crashed: {
    statuses: '500',
    retriable: 'yes',
    meaning: 'The browser or the page crashed twice.',
    advice:
      'The page probably needs more memory than is available: lower deviceScaleFactor or the page height, or retry when the server is less busy. If details.own_browser is true, it crashed a browser that it shared, and then one of its own.',
  },
  internal_error: {
    statuses: '500, 503',
    retriable: 'yes',
    meaning: 'An error inside the server; with 503 it is shutting down, has no browser ready, or its queue is full.',
    advice:
      "Retry after the number of seconds in the Retry-After header. An operator finds the cause in the server's log by request_id.",
  },
};
