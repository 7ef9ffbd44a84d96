import { readUrl } from './read-url.js';

/**
 * Checks the syntax of a webhook URL (interface.md, CaptureRequest.webhook.url); egress/ decides whether its host is public.
 *
 * @param allowedOrigins origins that the operator allows although they are not public HTTPS on port 443 (STILLFRAME_WEBHOOK_ALLOW)
 * @returns the problem, or null
 */
export function webhookUrlProblem(text: string, allowedOrigins: readonly string[]): string | null {
  if (/[\u0000-\u0020\u007f\\]/.test(text)) return 'must not contain spaces, control characters or backslashes';
  if (!/^https?:\/\/[^/]/i.test(text)) return 'must be an absolute HTTPS URL, such as https://example.com/hook';
  const url = readUrl(text);
  if (url === null) return 'must be a valid URL';
  const authority = text.slice(text.indexOf('//') + 2).split(/[/?#]/, 1)[0] ?? '';
  if (authority.includes('@')) return 'must not carry credentials';
  if (text.includes('#')) return 'must not have a fragment';
  if (allowedOrigins.includes(url.origin)) return null;
  if (url.protocol !== 'https:') return 'must be HTTPS';
  if (url.port !== '') return 'must use port 443';
  return null;
}
