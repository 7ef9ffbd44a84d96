import type { CdpMessage } from './cdp-pipe.js';

/** Only hostile pages have longer URLs. Above the API's limit for URLs, so that a cut one is recognised by its length. */
const STRING_MAX_CHARS = 16_384;
/** Limit once a session has used up its allowance. */
const SHORT_STRING_CHARS = 1_024;
const SESSION_CHARS = 2 * 1024 * 1024;
const ENTRIES_MAX = 256;
/** Limit of a header's name; headers with longer names are omitted. */
const NAME_MAX_CHARS = 256;

/** Events that are not stored, and whose headers are returned to the browser unchanged. */
const PASSING = new Set(['Fetch.requestPaused', 'Target.receivedMessageFromTarget']);

/**
 * Shortens page content in events before Playwright stores it: it keeps thousands of requests per browser, with all headers and URLs. Keeps 2
 * million characters of a session's long strings, and then 1,024 of each further one.
 */
export class EventCutter {
  private left = SESSION_CHARS;

  cut(message: CdpMessage): CdpMessage {
    if (message.method === undefined || message.params === undefined || PASSING.has(message.method)) return message;
    return { ...message, params: this.cutEntries(message.params) };
  }

  private cutEntries(entries: Record<string, unknown>): Record<string, unknown> {
    const kept = Object.entries(entries)
      .filter(([name]) => name.length <= NAME_MAX_CHARS)
      .slice(0, ENTRIES_MAX);
    return Object.fromEntries(kept.map(([name, value]) => [name, this.cutValue(value)]));
  }

  private cutValue(value: unknown): unknown {
    if (typeof value === 'string') return this.cutString(value);
    if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).map((item) => this.cutValue(item));
    return typeof value === 'object' && value !== null ? this.cutEntries(value as Record<string, unknown>) : value;
  }

  private cutString(text: string): string {
    if (text.length <= SHORT_STRING_CHARS) return text;
    const most = this.left > 0 ? STRING_MAX_CHARS : SHORT_STRING_CHARS;
    this.left -= Math.min(text.length, most);
    // A slice would keep the whole string in memory.
    return text.length <= most ? text : Buffer.from(text.slice(0, most), 'utf16le').toString('utf16le');
  }
}
