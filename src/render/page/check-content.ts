import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { TIMED_OUT } from './deadline.js';
import type { OpenPage } from './open-page.js';

/** More text than any marker needs; the rest of a long page is not read. */
const TEXT_MAX_CHARS = 2_000_000;
const TITLE_MAX_CHARS = 10_000;

type Markers = Pick<CaptureOptions, 'failIfContentMissing' | 'failIfContentContains'>;

/** Whether the checks need the page's text. */
export function asksForText({ failIfContentMissing, failIfContentContains }: Markers): boolean {
  return failIfContentMissing.length > 0 || failIfContentContains.length > 0;
}

/**
 * `fail_if_content_missing` and `fail_if_content_contains`, on title and visible text, ignoring case and white space.
 *
 * @throws CaptureError render_incomplete that lists every missing or unwanted marker
 */
export function checkContent(text: string, { failIfContentMissing, failIfContentContains }: Markers): void {
  const folded = foldText(text);
  const missing = failIfContentMissing.filter((marker) => !folded.includes(foldText(marker)));
  if (missing.length > 0) throw incomplete('fail_if_content_missing', `the page does not show ${quoted(missing)}`, { missing });
  const found = failIfContentContains.filter((marker) => folded.includes(foldText(marker)));
  if (found.length > 0) throw incomplete('fail_if_content_contains', `the page shows ${quoted(found)}`, { found });
}

/**
 * Title and text as a visitor sees them.
 *
 * @returns null if the page did not respond within `ms`
 * @throws PageMoved
 */
export async function visibleText({ world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>, ms: number): Promise<string | null> {
  const text = await deadlines.within(world.call('text.titled', { maxChars: TEXT_MAX_CHARS, titleMaxChars: TITLE_MAX_CHARS }), ms);
  return text === TIMED_OUT ? null : text;
}

/**
 * Normalises white space and case, and removes invisible characters, so that texts can be compared (decisions.md, Capture semantics).
 * Ends with upper case, as CSS transforms text: ß becomes SS, both sigmas become one, and i loses its dot.
 */
export function foldText(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
    .toUpperCase()
    .replace(/\u0307/g, '');
}

function incomplete(check: string, what: string, details: Record<string, unknown>): CaptureError {
  return new CaptureError({ code: 'render_incomplete', message: `\`${check}\`: ${what}.`, details: { check, ...details } });
}

function quoted(markers: string[]): string {
  return markers.map((marker) => `"${marker}"`).join(', ');
}
