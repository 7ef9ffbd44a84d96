/** Beyond this, a header is taken for a mistake. */
const LIMIT_SECONDS = 86_400;

/**
 * Reads a `Retry-After` header: whole seconds, or a date.
 *
 * @param now Unix ms
 * @returns seconds; undefined if the header is missing or means nothing
 */
export function readRetryAfter(header: string | null, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Math.min(Number(text), LIMIT_SECONDS);
  const at = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, Math.ceil((at - now) / 1000)), LIMIT_SECONDS);
}
