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
 * `fail_if_content_missing` and `fail_if_content_contains`, on title and visible text, ignoring case and white space. The text is compared in
 * the page's own process: there, a long one delays no other capture.
 *
 * @returns false if the page did not respond within `ms`
 * @throws CaptureError render_incomplete that lists every missing or unwanted marker; PageMoved
 */
export async function checkContent(
  { world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>,
  markers: Markers,
  ms: number,
): Promise<boolean> {
  const { failIfContentMissing, failIfContentContains } = markers;
  const wanted = [...failIfContentMissing, ...failIfContentContains];
  const limits = { maxChars: TEXT_MAX_CHARS, titleMaxChars: TITLE_MAX_CHARS };
  const shown = await deadlines.within(world.call('text.shows', wanted, limits), ms);
  if (shown === TIMED_OUT) return false;
  const missing = failIfContentMissing.filter((_, index) => shown[index] !== true);
  if (missing.length > 0) throw incomplete('fail_if_content_missing', `the page does not show ${quoted(missing)}`, { missing });
  const found = failIfContentContains.filter((_, index) => shown[failIfContentMissing.length + index] === true);
  if (found.length > 0) throw incomplete('fail_if_content_contains', `the page shows ${quoted(found)}`, { found });
  return true;
}

function incomplete(check: string, what: string, details: Record<string, unknown>): CaptureError {
  return new CaptureError({ code: 'render_incomplete', message: `\`${check}\`: ${what}.`, details: { check, ...details } });
}

function quoted(markers: string[]): string {
  return markers.map((marker) => `"${marker}"`).join(', ');
}
