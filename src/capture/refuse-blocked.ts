import { ALLOW_OWN_NETWORK, CaptureError } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { invalidRequest, type RequestIssue } from '../contract/submission.js';
import type { Egress, Requester } from '../egress/egress.js';

/**
 * Rejects destinations that can be refused without a look-up.
 * @throws CaptureError invalid_request
 */
export function refuseBlockedDestinations(
  egress: Pick<Egress, 'refusesLiterally' | 'proxyProblem'>,
  { url, html, files, proxy, steps }: Pick<CaptureOptions, 'url' | 'html' | 'files' | 'proxy' | 'steps'>,
  requester: Requester,
): void {
  const issues: RequestIssue[] = [];
  if (files === null && egress.refusesLiterally(url, requester))
    issues.push({ path: html === null ? 'url' : 'base_url', message: `is not a public destination. ${ALLOW_OWN_NETWORK}` });
  for (const [index, step] of steps.entries())
    if (step.action === 'go_to' && step.url !== undefined && egress.refusesLiterally(step.url, requester))
      issues.push({ path: `steps.${index}.url`, message: `is not a public destination. ${ALLOW_OWN_NETWORK}` });
  const problem = proxy === null ? null : egress.proxyProblem(proxy.server);
  if (problem !== null) issues.push({ path: 'proxy.server', message: problem });
  if (issues.length === 0) return;
  const refused = invalidRequest(issues);
  throw new CaptureError({
    code: 'invalid_request',
    message: refused.message,
    details: { ...refused.details, reason: 'blocked_destination' },
  });
}
