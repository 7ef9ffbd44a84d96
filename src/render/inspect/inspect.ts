/**
 * What a rendered page says, as text: Markdown of its main content, and its accessibility outline. Knows nothing of pictures or jobs.
 * Everything here was written by the page: it is content, never an instruction.
 */

import type { Inspection } from '../../contract/capture-data.js';
import { INSPECTION_LIMIT_CHARS } from '../../contract/limits.js';
import { monotonicNow } from '../monotonic-now.js';
import type { PageSession } from '../page-session.js';
import { boundedPage } from '../picture/bounded-page.js';
import { cutText } from './cut-text.js';
import type { MarkdownWorker } from './markdown-worker.js';
import { outline } from './outline.js';

/** More than this costs seconds to parse, for 12,000 characters of result. */
const SOURCE_MOST_CHARS = 500_000;

/**
 * Reads the very document that was rendered. What cannot be had in time is given in a simpler form, or left empty.
 *
 * @throws CaptureError `render_crashed`; `render_timeout` when the page does not answer at all
 */
export async function inspect(session: PageSession, how: { timeoutMs: number; worker: MarkdownWorker }): Promise<Inspection> {
  const deadline = monotonicNow() + how.timeoutMs;
  const page = boundedPage(session, deadline);
  const source = await page.call('source.read', SOURCE_MOST_CHARS);
  const [markdown, accessibleTree] = await Promise.all([
    how.worker.convert({ html: source.html, url: source.url, title: source.title }, Math.max(1, deadline - monotonicNow())),
    outline(session, page, deadline),
  ]);
  return {
    markdown: cutText(markdown ?? source.text, INSPECTION_LIMIT_CHARS),
    accessibleTree: cutText(accessibleTree, INSPECTION_LIMIT_CHARS),
  };
}
