import { CaptureError } from '../contract/capture-error.js';
import { invalidRequest } from '../contract/submission.js';
import type { Egress } from '../egress/egress.js';

/** The same message for a missing name, a private address and a failed look-up (decisions.md, Destinations). */
const NOT_PUBLIC = 'must be on a host that resolves to public addresses';

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
  const refused = invalidRequest([{ path, message: NOT_PUBLIC }]);
  throw new CaptureError({
    code: 'invalid_request',
    message: refused.message,
    details: { ...refused.details, reason: 'blocked_destination' },
  });
}
