/** The longest delay that a receiver may ask for (decisions.md, Webhooks). */
const LONGEST_RETRY_AFTER_MS = 60 * 60_000;

/**
 * Parses a `Retry-After` value: whole seconds or an HTTP date.
 *
 * @param now Unix ms
 * @returns ms to wait, at most an hour; 0 for none, a past date, or an invalid value
 */
export function retryAfterMs(value: string | null, now: number): number {
  const text = value?.trim() ?? '';
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : httpDate(text) - now;
  return Number.isNaN(wait) ? 0 : Math.min(Math.max(wait, 0), LONGEST_RETRY_AFTER_MS);
}

/** RFC 9110, 5.6.7: all three forms begin with the weekday. Date.parse alone accepts nearly any text. */
function httpDate(text: string): number {
  if (/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, .+ GMT$/.test(text)) return Date.parse(text);
  // The asctime form has no time zone; it is UTC.
  return /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}
