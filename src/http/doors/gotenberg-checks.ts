import { CaptureError } from '../../contract/capture-error.js';
import { HTML_DOCUMENT_URL } from '../../contract/capture-request.js';
import type { PageFacts } from '../../contract/page-facts.js';
import { readUrl } from '../../contract/read-url.js';
import { type Checks, needsFacts } from './gotenberg-fields.js';

type FailedRequest = PageFacts['requests']['failed'][number];

const LISTED_MAX = 10;

/**
 * Checks what a page has loaded (`failOn…`). The facts name the first 20 requests that failed, and 20 errors.
 * @throws CaptureError `target_error`; `internal_error` (503) if the page did not tell its facts
 */
export function checkFacts(facts: PageFacts | undefined, checks: Checks): void {
  if (!needsFacts(checks)) return;
  if (facts === undefined)
    throw new CaptureError({
      code: 'internal_error',
      status: 503,
      message: 'The page did not tell in time what it has loaded: try again.',
    });
  const { status } = facts;
  if (status !== undefined && checks.statuses?.includes(status) === true) refuse('Status code of the page', [String(status)]);
  const resources = facts.requests.failed.filter(({ type }) => type !== 'document');
  const answered = resources.filter(
    (one) => !isMissingFile(one) && checks.resourceStatuses.includes(one.status ?? 0) && !isIgnored(one, checks.ignoredDomains),
  );
  const statuses = answered.map(({ url, status: code }) => `${url} - ${code}`);
  refuse('Status codes of resources', statuses);
  const unloaded = resources.filter((one) => isMissingFile(one) || (one.status === undefined && one.error !== undefined));
  const failures = unloaded.map(({ url, error = 'net::ERR_FILE_NOT_FOUND' }) => `${url} - ${error}`);
  if (checks.failedResources) refuse('Resources that could not be loaded', failures);
  const exceptions = facts.console_errors.filter((one) => one.uncaught === true).map(({ text }) => text);
  if (checks.exceptions) refuse('Exceptions of the page', exceptions);
}

/** A file that did not come with the form, which Gotenberg would not find either. */
function isMissingFile({ url, status }: FailedRequest): boolean {
  return url.startsWith(HTML_DOCUMENT_URL) && status === 404;
}

function isIgnored({ url }: FailedRequest, domains: readonly string[]): boolean {
  const { hostname = '', host = '' } = readUrl(url) ?? {};
  return domains.some((domain) => [hostname, host].includes(domain) || hostname.endsWith(`.${domain}`));
}

function refuse(what: string, found: readonly string[]): void {
  if (found.length > 0) throw new CaptureError({ code: 'target_error', message: `${what}:\n${found.slice(0, LISTED_MAX).join('\n')}` });
}
