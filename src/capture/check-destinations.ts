import { ALLOW_OWN_NETWORK, CaptureError, notPublic } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { UNLESS_ALLOWED } from '../contract/read-url.js';
import { invalidRequest, type RequestIssue } from '../contract/submission.js';
import type { Egress, Requester } from '../egress/egress.js';

/**
 * Rejects, at submission, a webhook or upload whose host is not a public destination. Each attempt checks its connection again.
 * @param callback.path its field, such as `webhook.url`
 * @param allowedOrigins STILLFRAME_WEBHOOK_ALLOW; these are not resolved
 * @throws CaptureError invalid_request
 */
export async function checkWebhookHost(
  egress: Pick<Egress, 'judgeHost'>,
  { path, url }: { path: string; url: string },
  allowedOrigins: readonly string[],
): Promise<void> {
  const { origin, hostname, protocol, port } = new URL(url);
  if (allowedOrigins.includes(origin)) return;
  const verdict = await egress.judgeHost(hostname, Number(port) || (protocol === 'https:' ? 443 : 80));
  if (verdict.ok) return;
  // The same for a missing name, a private address and a failed look-up (decisions.md, Destinations).
  // Nothing of an upload's address is repeated, whose host may name a private bucket.
  const reason = path === 'upload.url' ? '' : `. ${notPublic(hostname)}`;
  const message = `must be on a host with a public address, ${UNLESS_ALLOWED}${reason}`;
  throw blockedDestination([{ path, message }]);
}

/**
 * Rejects destinations that can be refused without a look-up.
 * @throws CaptureError invalid_request
 */
export function refuseBlockedDestinations(
  egress: Pick<Egress, 'refusesLiterally' | 'proxyProblem'>,
  options: Destinations & Pick<CaptureOptions, 'proxy' | 'pdf'>,
  requester: Requester,
): void {
  const { proxy, pdf } = options;
  const issues = pdf?.pages === undefined ? refusedOf(egress, options, requester) : [];
  for (const [index, document] of (pdf?.pages ?? []).entries()) {
    const refused = refusedOf(egress, { files: null, steps: options.steps, ...document.options }, requester);
    issues.push(...refused.map(({ path, message }) => ({ path: `pdf.pages.${index}.${path}`, message })));
  }
  const problem = proxy === null ? null : egress.proxyProblem(proxy.server);
  if (problem !== null) issues.push({ path: 'proxy.server', message: problem });
  if (issues.length > 0) throw blockedDestination(issues);
}

type Destinations = Pick<CaptureOptions, 'url' | 'html' | 'files' | 'steps'>;

function refusedOf(
  egress: Pick<Egress, 'refusesLiterally'>,
  { url, html, files, steps }: Destinations,
  requester: Requester,
): RequestIssue[] {
  const message = `is not a public destination. ${ALLOW_OWN_NETWORK}`;
  const goTo = steps.flatMap((step, index) =>
    step.action === 'go_to' && step.url !== undefined && egress.refusesLiterally(step.url, requester)
      ? [{ path: `steps.${index}.url`, message }]
      : [],
  );
  const isRefused = files === null && egress.refusesLiterally(url, requester);
  return [...(isRefused ? [{ path: html === null ? 'url' : 'base_url', message }] : []), ...goTo];
}

function blockedDestination(issues: RequestIssue[]): CaptureError {
  const { message, details } = invalidRequest(issues);
  return new CaptureError({ code: 'invalid_request', message, details: { ...details, reason: 'blocked_destination' } });
}
