import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { foldText } from './visible-text.js';

type Markers = Pick<CaptureOptions, 'failIfContentMissing' | 'failIfContentContains'>;

/** Whether the checks need the page's text at all. */
export function asksForText({ failIfContentMissing, failIfContentContains }: Markers): boolean {
  return failIfContentMissing.length > 0 || failIfContentContains.length > 0;
}

/**
 * `fail_if_content_missing` and `fail_if_content_contains`, on title and visible text, case and white space folded.
 *
 * @throws CaptureError render_incomplete that lists every marker missing or found
 */
export function checkContent(text: string, { failIfContentMissing, failIfContentContains }: Markers): void {
  const folded = foldText(text);
  const missing = failIfContentMissing.filter((marker) => !folded.includes(foldText(marker)));
  if (missing.length > 0) throw incomplete('fail_if_content_missing', `the page does not show ${quoted(missing)}`, { missing });
  const found = failIfContentContains.filter((marker) => folded.includes(foldText(marker)));
  if (found.length > 0) throw incomplete('fail_if_content_contains', `the page shows ${quoted(found)}`, { found });
}

function incomplete(check: string, what: string, details: Record<string, unknown>): CaptureError {
  return new CaptureError({ code: 'render_incomplete', message: `\`${check}\`: ${what}.`, details: { check, ...details } });
}

function quoted(markers: string[]): string {
  return markers.map((marker) => `"${marker}"`).join(', ');
}
