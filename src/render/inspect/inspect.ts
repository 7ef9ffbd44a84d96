/**
 * Extracts a rendered page's text as Markdown of its main content and an accessibility outline. Knows nothing of pictures or
 * jobs. The results are untrusted page content.
 */

import type { Inspection } from '../../contract/capture-data.js';
import { INSPECTION_LIMIT_CHARS } from '../../contract/limits.js';
import { isTooLong } from '../launch/message-limits.js';
import type { PageSession } from '../page-session.js';
import { monotonicNow } from '../page/deadline.js';
import { type BoundedPage, boundedPage, untilDeadline } from '../picture/bounded-page.js';
import type { MarkdownWorker } from './markdown-worker.js';

/** Longer sources take seconds to parse for a result of 12,000 characters. */
const SOURCE_MAX_CHARS = 500_000;
/** The tree takes almost a millisecond per element, and is available only as a whole. This many elements yield more text than is kept. */
const ELEMENTS_MAX = 2_000;

const NO_SOURCE = { html: '', url: '', title: '', text: '' };

/**
 * Reads the rendered document. Results that take too long are simplified or left empty.
 * @throws CaptureError `render_crashed`; `render_timeout` if the page does not respond at all
 */
export async function inspect(session: PageSession, how: { timeoutMs: number; worker: MarkdownWorker }): Promise<Inspection> {
  const deadline = monotonicNow() + how.timeoutMs;
  const page = boundedPage(session, deadline);
  const source = await page.call('source.read', SOURCE_MAX_CHARS).catch((error: unknown) => {
    if (isTooLong(error, 'answer')) return NO_SOURCE;
    throw error;
  });
  const [markdown, accessibleTree] = await Promise.all([
    how.worker.convert({ html: source.html, url: source.url, title: source.title }, Math.max(1, deadline - monotonicNow())),
    outline(session, page, deadline),
  ]);
  return {
    markdown: cutText(markdown ?? source.text, INSPECTION_LIMIT_CHARS),
    accessibleTree: cutText(accessibleTree, INSPECTION_LIMIT_CHARS),
  };
}

/**
 * The accessibility tree as an indented outline of roles and names; empty if not available by the deadline (ms by
 * `monotonicNow`). Must be the last step, since it removes the end of a long page.
 * @throws CaptureError `render_crashed`
 */
async function outline(session: PageSession, page: BoundedPage, deadline: number): Promise<string> {
  try {
    if (!(await page.call('source.shorten', ELEMENTS_MAX))) return '';
    const timeout = Math.max(1, deadline - monotonicNow());
    return await untilDeadline(session, deadline, () => session.page.locator('body').first().ariaSnapshot({ timeout }));
  } catch {
    // An outline that is too slow is left out; the capture succeeds without it.
    session.lost.throwIfAborted();
    return '';
  }
}

/** Cuts to this many UTF-16 units, but not inside a surrogate pair. */
function cutText(text: string, mostChars: number): string {
  if (text.length <= mostChars) return text;
  const last = text.charCodeAt(mostChars - 1);
  const splits = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splits ? mostChars - 1 : mostChars);
}
