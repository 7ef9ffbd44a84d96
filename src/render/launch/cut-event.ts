import type { CdpMessage } from './cdp-pipe.js';

/** Whole addresses are longer only where somebody means harm. Above what the contract allows an address, so that a cut one is known by its length. */
const STRING_MAX_CHARS = 16_384;
/** Once a session has used up what it may. */
const SHORT_STRING_CHARS = 1_024;
const SESSION_CHARS = 2 * 1024 * 1024;
const ENTRIES_MAX = 256;
/** Of a header; entries with longer names are left out. */
const NAME_MAX_CHARS = 256;

/** Events of which nothing is kept, and whose headers go back to the browser as they are. */
const PASSING = new Set(['Fetch.requestPaused', 'Target.receivedMessageFromTarget']);

/**
 * Cuts what a page has written into its events, before Playwright remembers it: it keeps thousands of requests a browser, with every header
 * and address. Of one session's long strings 2 million characters are kept, and 1,024 of each that follows.
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
    // A slice would hold on to the whole.
    return text.length <= most ? text : Buffer.from(text.slice(0, most), 'utf16le').toString('utf16le');
  }
}
